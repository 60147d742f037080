#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: fetch-sources.sh BUILDDIR NAME...
#
# Fetches Debian source packages with a separate state of apt, from the mirror that this machine
# uses, and verifies them with Debian's keyring. Each NAME (linux, glibc, binutils, lua,
# sqlite, sparse) leaves sources/NAME.* and, last of all, sources/NAME.found, which says what
# was found and where.

set -eu -o pipefail

newer_suites="trixie-backports forky experimental sid trixie"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
top=$(cd "$(dirname "$0")/../.." && pwd)

die()
{
	echo "sources: $*" >&2
	exit 1
}

[ $# -ge 2 ] || die "usage: fetch-sources.sh BUILDDIR NAME..."
mkdir -p "$1/apt" "$1/sources"
build=$(cd "$1" && pwd)
shift

# field NAME - prints a field of the file that pins the source
field()
{
	sed -n "s/^$1=//p" "$top/$pin"
}

# Sets the package, its tested version, a pattern for usable versions, and their description.
describe()
{
	suites=$newer_suites
	case $1 in
	linux)
		pin=kernel/SOURCE say=$(field series).y
		wanted="$(field series | sed 's/\./\\./')[.-].*"
		;;
	glibc)
		pin=glibc-patches/SOURCE say=$(field series)
		wanted="$(field series | sed 's/\./\\./')[.-].*"
		;;
	binutils)
		pin=scripts/build/SOURCE-binutils say="2.46 or newer"
		wanted='2\.(4[6-9]|[5-9][0-9]).*'
		;;
	lua) pin=demo/SOURCE-lua wanted='5\.4\..*' say=5.4.y suites=trixie ;;
	sqlite) pin=demo/SOURCE-sqlite wanted='3\..*' say=3.y suites=trixie ;;
	sparse) pin=scripts/build/SOURCE-sparse wanted='0\.6\.[5-9].*' say="0.6.5 or newer" ;;
	*) die "no such source: $1" ;;
	esac
	package=$(field package) pinned=$(field version) upstream=$(field upstream)
	elsewhere="use a mirror with ${suites// / or }"
	[ -z "$upstream" ] ||
		elsewhere="download $upstream and give it to configure, or to quickstart in \
CODECTL_CONFIGURE, as --with-$1-source=FILE"
}

find_mirror()
{
	mirror=$("$top/scripts/build/find-mirror.sh")
	[ -n "$mirror" ] ||
		die "apt on this machine has no Debian mirror configured;" \
		    "add one, or give --with-linux-source=, --with-glibc-source= and" \
		    "--with-binutils-source="
	[ -r "$keyring" ] || die "$keyring is missing: apt-get install debian-archive-keyring"
}

# Runs apt-get or apt-cache with the state of one suite.
private()
{
	local suite=$1 tool=$2 dir=$build/apt/$1
	shift 2

	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	"$tool" -o Dir::Etc::sourcelist="$dir/sources.list" -o Dir::Etc::sourceparts=- \
		-o Dir::Etc::preferences=- -o Dir::Etc::preferencesparts=- \
		-o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" \
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= \
		-o APT::Sandbox::User="$(id -un)" -o APT::Get::List-Cleanup=0 \
		-o Acquire::Retries=3 -o Acquire::Languages=none "$@"
}

# It is not an error yet if the mirror lacks a suite.
update()
{
	local suite=$1 dir=$build/apt/$1 type

	[ ! -e "$dir/updated" ] || return 0
	mkdir -p "$dir"
	for type in deb deb-src; do
		echo "$type [signed-by=$keyring] $mirror $suite main"
	done > "$dir/sources.list"
	if ! private "$suite" apt-get update > "$dir/log" 2>&1 ||
	   grep -q -E '^(W: Failed|Err:)' "$dir/log"; then
		echo "  $suite: $(grep -E '^(E|W|Err):?' "$dir/log" | head -n 1)" >> "$build/apt/failures"
		return 1
	fi
	touch "$dir/updated"
}

reason()
{
	grep -E '^(E|Err|dpkg-source: error):?' "$1" | head -n 1 || tail -n 1 "$1"
}

# Prints the usable versions of the package in the suite, in ascending order.
candidates()
{
	local suite=$1 kind=Packages

	case $name in
	lua | sqlite | sparse) kind=Sources ;;
	esac
	private "$suite" apt-cache madison "$package" 2>/dev/null |
		awk -F' *[|] *' -v kind="$kind" '$3 ~ kind "$" { print $2 }' |
		grep -E -x -e "$wanted" | sort -V || true
}

# The pinned version must have the pinned checksum.
check_pin()
{
	[ "$version" != "$pinned" ] || echo "$(field sha256)  $1" | sha256sum --status -c - ||
		die "$package $version of $suite has not the SHA-256 in $pin: $elsewhere"
}

warn_unpinned()
{
	echo "sources: WARNING: $package $1 is not $pinned, with which this is tested;" \
	     "if something fails, $elsewhere"
}

record()
{
	local file=$1

	{
		echo "package=$package"
		echo "version=$version"
		echo "suite=$suite"
		echo "sha256=$(sha256sum "$file" | cut -d' ' -f1)"
		echo "file=$(basename "$file")"
	} > "$build/sources/$name.found.part"
	mv "$build/sources/$name.found.part" "$build/sources/$name.found"
	echo "sources: $package $version from $suite, signature verified"
}

# Extracts the tarball from a binary package of sources.
download_binary()
{
	local dir=$build/sources/$name.download target=$build/sources/$name.tar.xz member

	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && private "$suite" apt-get download "$package=$version") > "$dir/log" 2>&1 ||
		die "$package $version of $suite cannot be fetched: $(reason "$dir/log");" \
		    "try again later, or $elsewhere"
	member=$(dpkg-deb --fsys-tarfile "$dir"/*.deb | tar -t | grep -E '\.tar\.xz$' | head -n 1)
	[ -n "$member" ] || die "$package $version holds no source tarball: $elsewhere"
	dpkg-deb --fsys-tarfile "$dir"/*.deb | tar -x -O "$member" > "$target.part" ||
		die "$package $version cannot be unpacked: is the disk full? free some space and try again"
	check_pin "$target.part"
	mv "$target.part" "$target"
	rm -rf "$dir"
	"$top/scripts/build/source-version.sh" "$name" "$target" > /dev/null
	record "$target"
}

download_source()
{
	local dir=$build/sources/$name.download target=$build/sources/$name

	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && private "$suite" apt-get source --download-only "$package=$version") \
		> "$dir/log" 2>&1 ||
		die "the source of $package $version cannot be fetched: $(reason "$dir/log"); try again later"
	check_pin "$dir"/*.dsc
	(cd "$dir" && dpkg-source --no-check -x ./*.dsc tree) > "$dir/log" 2>&1 ||
		die "the source of $package $version cannot be unpacked: $(reason "$dir/log")"
	rm -rf "$target"
	mv "$dir/tree" "$target"
	cp "$dir"/*.dsc "$build/sources/$name.dsc"
	rm -rf "$dir"
	record "$build/sources/$name.dsc"
}

# is_here OPTION PATTERN - is a version that grep finds by these here already?
is_here()
{
	local found=$build/sources/$name.found file version sum

	[ -e "$found" ] || return 1
	file=$build/sources/$(sed -n 's/^file=//p' "$found")
	version=$(sed -n 's/^version=//p' "$found")
	sum=$(sed -n 's/^sha256=//p' "$found")
	[ "$version" != "$pinned" ] || sum=$(field sha256)
	[ -e "$file" ] && grep -q -x "$1" -e "$2" <<< "$version" &&
		echo "$sum  $file" | sha256sum --status -c - || return 1
	echo "sources: $package $version is here"
	[ "$version" = "$pinned" ] || warn_unpinned "$version"
}

download()
{
	case $name in
	lua | sqlite | sparse) download_source ;;
	*) download_binary ;;
	esac
}

# Finds the pinned version, or else the newest one in the first suite that has any.
fetch()
{
	local suite version versions other='' other_suite=''

	for suite in $suites; do
		update "$suite" || continue
		versions=$(candidates "$suite")
		if grep -q -x -F -e "$pinned" <<< "$versions"; then
			version=$pinned
			download
			return
		fi
		[ -n "$other" ] || { other=$(tail -n 1 <<< "$versions") other_suite=$suite; }
	done
	! is_here -E "$wanted" || return 0
	if [ -n "$other" ]; then
		version=$other suite=$other_suite
		download
		warn_unpinned "$version"
		return
	fi
	[ -n "$(find "$build/apt" -name updated)" ] ||
		die "$mirror cannot be reached ($(sed -n '/^Err:/{n;s/^ *//p;q}' "$build/apt/$suite/log"));" \
		    "check the network and try again, or $elsewhere"
	[ ! -s "$build/apt/failures" ] || sort -u "$build/apt/failures" >&2
	die "no suite of $mirror has $package $say (looked in $suites);" \
	    "check the network, or $elsewhere"
}

rm -f "$build/apt/failures"
for name; do
	describe "$name"
	! is_here -F "$pinned" || continue
	if [ -z "${mirror:-}" ]; then
		find_mirror
		rm -f "$build"/apt/*/updated
	fi
	fetch
done
