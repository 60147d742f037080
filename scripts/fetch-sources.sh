#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: fetch-sources.sh BUILDDIR NAME...
#
# Fetches Debian source packages through an apt state of its own, from the
# mirror this machine uses, verified with Debian's keyring. Each NAME (linux,
# glibc, binutils, lua, sqlite, sparse) leaves sources/NAME.* and, last of all,
# sources/NAME.found, which says what was found and where.

set -eu -o pipefail

newer_suites="trixie-backports forky experimental sid trixie"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
top=$(cd "$(dirname "$0")/.." && pwd)

die()
{
	echo "sources: $*" >&2
	exit 1
}

[ $# -ge 2 ] || die "usage: fetch-sources.sh BUILDDIR NAME..."
mkdir -p "$1/apt" "$1/sources"
build=$(cd "$1" && pwd)
shift

# Package, the versions wanted of it, and how to say them.
describe()
{
	suites=$newer_suites
	case $1 in
	linux)
		package=$(sed -n 's/^package=//p' "$top/kernel/SOURCE")
		series=$(sed -n 's/^series=//p' "$top/kernel/SOURCE")
		wanted="${series/./\\.}[.-].*" say="$series.y"
		;;
	glibc) package=glibc-source wanted='2\.44[.-].*' say=2.44 ;;
	binutils)
		package=binutils-source say="2.46 or newer"
		wanted='2\.(4[6-9]|[5-9][0-9]).*'
		;;
	lua) package=lua5.4 wanted='5\.4\..*' say=5.4.y suites=trixie ;;
	sqlite) package=sqlite3 wanted='3\..*' say=3.y suites=trixie ;;
	sparse) package=sparse wanted='0\.6\.[5-9].*' say="0.6.5 or newer" ;;
	*) die "no such source: $1" ;;
	esac
}

find_mirror()
{
	local format="\$(LABEL)|\$(RELEASE)|\$(REPO_URI)"

	mirror=$(apt-get indextargets --format "$format" 'Created-By: Packages' |
		awk -F'|' '
		$2 ~ /security|updates|backports/ { next }
		$1 == "Debian" && !found { found = $3 }
		$2 ~ /^(bookworm|trixie|stable|oldstable)$/ && !guess { guess = $3 }
		END { print found ? found : guess }')
	[ -n "$mirror" ] ||
		die "apt on this machine has no Debian mirror configured;" \
		    "add one, or give --with-linux-source=, --with-glibc-source= and" \
		    "--with-binutils-source="
	[ -r "$keyring" ] || die "$keyring is missing: apt-get install debian-archive-keyring"
}

# apt-get and apt-cache with the state of one suite.
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

# A suite that this mirror lacks is not yet a failure.
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

# The newest version of the package in the suite that is of the series wanted.
candidate()
{
	local suite=$1 kind=Packages

	case $name in
	lua | sqlite | sparse) kind=Sources ;;
	esac
	private "$suite" apt-cache madison "$package" 2>/dev/null |
		awk -F' *[|] *' -v kind="$kind" '$3 ~ kind "$" { print $2 }' |
		grep -E -x -e "$wanted" | sort -V | tail -n 1 || true
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

# The tarball inside a binary package of sources.
download_binary()
{
	local dir=$build/sources/$name.download target=$build/sources/$name.tar.xz member

	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && private "$suite" apt-get download "$package=$version") > "$dir/log" 2>&1 ||
		die "$package $version of $suite cannot be fetched: $(reason "$dir/log");" \
		    "try again later, or give --with-$name-source="
	member=$(dpkg-deb --fsys-tarfile "$dir"/*.deb | tar -t | grep -E '\.tar\.xz$' | head -n 1)
	[ -n "$member" ] || die "$package $version holds no source tarball; give --with-$name-source="
	dpkg-deb --fsys-tarfile "$dir"/*.deb | tar -x -O "$member" > "$target.part" ||
		die "$package $version cannot be unpacked: is the disk full? free some space and try again"
	mv "$target.part" "$target"
	rm -rf "$dir"
	"$top/scripts/source-version.sh" "$name" "$target" > /dev/null
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
	(cd "$dir" && dpkg-source --no-check -x ./*.dsc tree) > "$dir/log" 2>&1 ||
		die "the source of $package $version cannot be unpacked: $(reason "$dir/log")"
	rm -rf "$target"
	mv "$dir/tree" "$target"
	cp "$dir"/*.dsc "$build/sources/$name.dsc"
	rm -rf "$dir"
	record "$build/sources/$name.dsc"
}

is_fetched()
{
	local found=$build/sources/$name.found file

	[ -e "$found" ] || return 1
	file=$build/sources/$(sed -n 's/^file=//p' "$found")
	[ -e "$file" ] || return 1
	echo "$(sed -n 's/^sha256=//p' "$found")  $file" | sha256sum --status -c - || return 1
	echo "sources: $(sed -n 's/^package=//p' "$found")" \
	     "$(sed -n 's/^version=//p' "$found") is here"
}

fetch()
{
	local suite version

	for suite in $suites; do
		update "$suite" || continue
		version=$(candidate "$suite")
		[ -n "$version" ] || continue
		case $name in
		lua | sqlite | sparse) download_source ;;
		*) download_binary ;;
		esac
		return
	done
	[ -n "$(find "$build/apt" -name updated)" ] ||
		die "$mirror cannot be reached ($(sed -n '/^Err:/{n;s/^ *//p;q}' "$build/apt/$suite/log"));" \
		    "check the network and try again, or give a tree or tarball with --with-$name-source="
	[ ! -s "$build/apt/failures" ] || sort -u "$build/apt/failures" >&2
	die "no suite of $mirror has $package $say (looked in $suites);" \
	    "check the network, or give a tree or tarball with --with-$name-source="
}

rm -f "$build/apt/failures"
for name; do
	describe "$name"
	! is_fetched || continue
	if [ -z "${mirror:-}" ]; then
		find_mirror
		rm -f "$build"/apt/*/updated
	fi
	fetch
done
