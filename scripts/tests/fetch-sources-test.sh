#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests which version fetch-sources.sh takes. The mirror is a directory of suites with packages,
# the only ones that stand-ins for apt-get and apt-cache know. Prints TAP.

set -u
# dpkg-deb refuses other permissions.
umask 022

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

export MIRROR=$work/mirror
build=$work/build

# The version of a package is its file name.
make_apt()
{
	mkdir -p "$work/bin" "$work/top/scripts/build" "$work/top/kernel" "$work/top/demo"
	cp "$here"/../build/{fetch-sources,find-mirror,source-version}.sh "$work/top/scripts/build"
	cat > "$work/bin/apt-get" <<-'END'
		#!/bin/bash
		while [ "$1" = -o ]; do
			case $2 in Dir::Etc::sourcelist=*) suite=$(basename "$(dirname "${2#*=}")") ;; esac
			shift 2
		done
		last=${*: -1}
		echo "$suite $1 $last" >> "$MIRROR.log"
		case $1 in
		indextargets) [ -e "$MIRROR.none" ] || echo "Debian|bookworm|file:$MIRROR/" ;;
		update) [ -d "$MIRROR/$suite" ] || { echo "Err:1 file:$MIRROR $suite"; exit 100; } ;;
		madison)
			for file in "$MIRROR/$suite/$2"_*.{deb,dsc}; do
				[ -e "$file" ] || continue
				version=${file##*_}
				case $file in
				*.deb) echo "$2 | ${version%.deb} | file:$MIRROR $suite/main amd64 Packages" ;;
				*) echo "$2 | ${version%.dsc} | file:$MIRROR $suite/main Sources" ;;
				esac
			done
			;;
		download) cp "$MIRROR/$suite/${last/=/_}.deb" . ;;
		source) cp "$MIRROR/$suite/${last/=/_}".* . ;;
		esac
	END
	chmod +x "$work/bin/apt-get"
	ln -s apt-get "$work/bin/apt-cache"
	PATH=$work/bin:$PATH
}

# linux VERSION - a tarball in a package
linux()
{
	local deb=$work/deb/$1 name=linux-source-7.3
	local tarball=$deb/usr/src/$name.tar.xz

	mkdir -p "$deb/DEBIAN" "$deb/usr/src" "$work/linux"
	IFS=.- read -r v p s _ <<< "$1"
	printf 'VERSION = %s\nPATCHLEVEL = %s\nSUBLEVEL = %s\n' "$v" "$p" "$s" > "$work/linux/Makefile"
	tar -c -J -C "$work" -f "$tarball" linux
	printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: A <a@example.com>\nDescription: x\n' \
		$name "$1" > "$deb/DEBIAN/control"
	dpkg-deb -b "$deb" "$work/${name}_$1.deb" > /dev/null
	sha256sum < "$tarball" | cut -d ' ' -f 1 > "$work/linux-$1.sum"
}

# lua VERSION - a source package
lua()
{
	local tree=$work/tree/lua5.4-$1

	mkdir -p "$tree/debian/source"
	echo '3.0 (native)' > "$tree/debian/source/format"
	printf 'Source: lua5.4\nMaintainer: A <a@example.com>\n\nPackage: lua5.4\nArchitecture: all\nDescription: x\n' \
		> "$tree/debian/control"
	printf 'lua5.4 (%s) x; urgency=low\n\n  * X.\n\n -- A <a@example.com>  Thu, 01 Jan 2026 00:00:00 +0000\n' \
		"$1" > "$tree/debian/changelog"
	(cd "$work" && dpkg-source -b "$tree" > /dev/null)
	sha256sum < "$work/lua5.4_$1.dsc" | cut -d ' ' -f 1 > "$work/lua-$1.sum"
}

# pin FILE PACKAGE VERSION SHA256 [UPSTREAM]
pin()
{
	printf 'package=%s\nseries=7.3\nversion=%s\nsha256=%s\n' "$2" "$3" "$4" > "$work/top/$1"
	[ $# -lt 5 ] || echo "upstream=$5" >> "$work/top/$1"
}

pin_linux()
{
	pin kernel/SOURCE linux-source-7.3 "$1" "${2:-$(cat "$work/linux-$1.sum")}" \
		https://example.org/linux-7.3.4.tar.xz
}

# suites SUITE:VERSION[,VERSION]... - sets the contents of the mirror
suites()
{
	local suite version

	rm -rf "$MIRROR" "$MIRROR.log"
	mkdir "$MIRROR"
	for suite; do
		mkdir -p "$MIRROR/${suite%:*}"
		for version in $(tr , ' ' <<< "${suite#*:}"); do
			cp "$work"/{linux-source-7.3,lua5.4}_"$version".* "$MIRROR/${suite%:*}" 2> /dev/null
		done
	done
}

# expect NAME STATUS FOUND SAID [SOURCE] - found is VERSION/SUITE, or empty
expect()
{
	local source=${5:-linux} said status found=''

	said=$("$work/top/scripts/build/fetch-sources.sh" "$build" "$source" 2>&1)
	status=$?
	[ ! -e "$build/sources/$source.found" ] || found=$(sed -n -e 's/^version=//p' -e 's/^suite=//p' \
		"$build/sources/$source.found" | paste -s -d /)
	printf '%s\n' "$said" "status $status: $found" | sed 's/^/# /'
	[ "$status $found" = "$2 $3" ] && grep -q -e "$4" <<< "$said"
	result $? "$1"
}

fresh()
{
	rm -rf "$build"
	expect "$@"
}

test_pinned()
{
	pin_linux 7.3.4-1
	suites trixie-backports:7.3.6-1 forky:7.3.4-1,7.3.5-1 sid:7.3.4-1
	fresh "the pinned version, beside newer ones" 0 7.3.4-1/forky '7.3.4-1 from forky, signature'
	! grep -q 'sid update' "$MIRROR.log"
	result $? "... and other suites are not asked"
	expect "... is here the next time" 0 7.3.4-1/forky '7.3.4-1 is here'
	rm -rf "$MIRROR"
	expect "... without a mirror, too" 0 7.3.4-1/forky '7.3.4-1 is here'
	! "$work/top/scripts/build/fetch-sources.sh" "$build" linux | grep -q WARNING
	result $? "... and is worth no warning"
	pin_linux 7.3.4-1 "$(cat "$work/linux-7.3.5-1.sum")"
	suites sid:7.3.4-1
	fresh "a tarball with another sum" 1 '' '7.3.4-1 of sid has not the SHA-256 in kernel/SOURCE: download'
	[ ! -e "$build/sources/linux.tar.xz" ]
	result $? "... is not kept"
}

test_moved_on()
{
	pin_linux 7.3.4-1
	suites trixie-backports:7.3.4-2 forky:7.3.5-1,7.3.6-1
	fresh "another one of the series: the newest" 0 7.3.6-1/forky \
		'WARNING: linux-source-7.3 7.3.6-1 is not 7.3.4-1.*https://example.org.*--with-linux-source=FILE'
	suites sid:7.3.5-1
	expect "... is kept while the pinned one is nowhere" 0 7.3.6-1/forky 'WARNING: .*7.3.6-1 is not'
	rm -rf "$MIRROR"
	expect "... and without a mirror" 0 7.3.6-1/forky 'WARNING: .*7.3.6-1 is not'
	suites sid:7.3.4-1
	expect "... and replaced when it is back" 0 7.3.4-1/sid '7.3.4-1 from sid'
	echo more >> "$build/sources/linux.tar.xz"
	expect "what was damaged is fetched again" 0 7.3.4-1/sid '7.3.4-1 from sid'
}

test_nowhere()
{
	suites sid:7.4.1-1
	fresh "no version of the series" 1 '' \
		'no suite of .* has linux-source-7.3 7.3.y .*download https://example.org/linux-7.3.4.tar.xz and give'
	rm -rf "$MIRROR"
	fresh "no mirror that answers" 1 '' 'cannot be reached.*or download https://.*--with-linux-source=FILE'
	touch "$MIRROR.none"
	fresh "no mirror at all" 1 '' 'no Debian mirror configured'
	rm "$MIRROR.none"
}

test_source_package()
{
	pin demo/SOURCE-lua lua5.4 5.4.7 "$(cat "$work/lua-5.4.7.sum")"
	suites trixie:5.4.7,5.4.9
	fresh "a pinned source package" 0 5.4.7/trixie '5.4.7 from trixie, signature' lua
	[ -e "$build/sources/lua/debian/changelog" ]
	result $? "... is unpacked"
	suites trixie:5.4.9
	fresh "another one of the series" 0 5.4.9/trixie 'WARNING: .*use a mirror with trixie' lua
	pin demo/SOURCE-lua lua5.4 5.4.9 "$(cat "$work/lua-5.4.7.sum")"
	fresh "one with another sum" 1 '' 'has not the SHA-256 in demo/SOURCE-lua: use a mirror' lua
	[ ! -e "$build/sources/lua" ]
	result $? "... is not kept"
	suites forky:5.4.9 trixie:
	fresh "no version of the series" 1 '' 'has lua5.4 5.4.y (looked in trixie)' lua
}

# The pins of this tree, as the script itself reads them.
test_pins()
{
	local file wrong=''

	for file in kernel/SOURCE glibc-patches/SOURCE scripts/build/SOURCE-{binutils,sparse} demo/SOURCE-{lua,sqlite}; do
		[ "$(grep -c -E '^(package|version)=[^ ]+$|^sha256=[0-9a-f]{64}$' "$here/../../$file")" = 3 ] ||
			wrong+=" $file"
	done
	[ -z "$wrong" ]
	result $? "each source is pinned by version and SHA-256${wrong:+: not$wrong}"
	[ "$(cd "$here/../.." && grep -l '^upstream=https://.*\.tar\.xz$' ./*/SOURCE* scripts/build/SOURCE* | wc -l)" = 3 ]
	result $? "... and has its upstream tarball where configure takes one"
}

make_apt
for version in 7.3.4-1 7.3.5-1 7.3.6-1 7.4.1-1; do linux $version; done
for version in 5.4.7 5.4.9; do lua $version; done
test_pinned
test_moved_on
test_nowhere
test_source_package
test_pins
finish
