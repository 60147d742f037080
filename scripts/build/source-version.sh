#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: source-version.sh linux|glibc|binutils TREE-OR-TARBALL
#
# Prints the version of a source; refuses versions that the patches are not for.

set -eu -o pipefail

die()
{
	echo "$*" >&2
	exit 1
}

# Prints the file of that name at the top of the tree or tarball.
top_file()
{
	if [ -d "$source" ]; then
		cat "$source/$1" 2>/dev/null
	else
		tar -x -O --occurrence=1 --wildcards --no-wildcards-match-slash \
			-f "$source" "*/$1" 2>/dev/null
	fi
}

linux_version()
{
	top_file Makefile | awk '
		/^VERSION = / { v = $3 } /^PATCHLEVEL = / { p = $3 } /^SUBLEVEL = / { s = $3 }
		END { if (v) print v "." p "." s }'
}

glibc_version()
{
	top_file version.h | sed -n 's/^#define VERSION "\(.*\)"/\1/p'
}

binutils_version()
{
	top_file bfd/version.m4 | sed -n 's/^m4_define(\[BFD_VERSION\], \[\(.*\)\])/\1/p'
}

[ $# -eq 2 ] || die "usage: source-version.sh linux|glibc|binutils TREE-OR-TARBALL"
source=$2
[ -e "$source" ] || die "no such $1 source: $source"
version=$("$1_version" || true)
[ -n "$version" ] || die "$source is not a $1 source: neither its tree nor a tarball of it"
case $1-$version in
linux-7.3.*) ;;
linux-*) die "$source is Linux $version, but the patches are for Linux 7.3.y only" ;;
glibc-2.44 | glibc-2.44.*) ;;
glibc-*) die "$source is glibc $version, but the patches are for glibc 2.44 only" ;;
binutils-2.4[6-9]* | binutils-2.[5-9][0-9]* | binutils-[3-9]*) ;;
binutils-*) die "$source is binutils $version, but SFrame version 3 needs 2.46 or newer" ;;
esac
echo "$version"
