#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that source-version.sh refuses other series by name. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

# expect NAME WANTED-STATUS WANTED-OUTPUT KIND SOURCE
expect()
{
	local output status

	output=$("$here/../build/source-version.sh" "$4" "$5" 2>&1)
	status=$?
	echo "# status $status: ${output//$'\n'/; }"
	[[ $status = "$2" && $output = *$3* ]]
	result $? "$1"
}

linux()
{
	mkdir -p "$work/linux"
	printf 'VERSION = %s\nPATCHLEVEL = %s\nSUBLEVEL = %s\n' "$@" > "$work/linux/Makefile"
}

glibc()
{
	mkdir -p "$work/glibc"
	echo "#define VERSION \"$1\"" > "$work/glibc/version.h"
}

binutils()
{
	mkdir -p "$work/binutils/bfd"
	echo "m4_define([BFD_VERSION], [$1])" > "$work/binutils/bfd/version.m4"
}

linux 7 3 4
expect "Linux 7.3" 0 7.3.4 linux "$work/linux"
(cd "$work" && tar -c -J -f linux.tar.xz linux)
expect "Linux 7.3 in a tarball" 0 7.3.4 linux "$work/linux.tar.xz"
linux 7 30 1
expect "Linux 7.30" 1 "Linux 7.30.1, but" linux "$work/linux"
linux 6 12 5
expect "Linux 6.12" 1 "Linux 6.12.5, but" linux "$work/linux"
glibc 2.44
expect "glibc 2.44" 0 2.44 glibc "$work/glibc"
expect "glibc as Linux" 1 "not a linux source" linux "$work/glibc"
glibc 2.43
expect "glibc 2.43" 1 "glibc 2.43, but" glibc "$work/glibc"
for version in 2.46 2.47.50 2.50 3.0; do
	binutils $version
	expect "binutils $version" 0 $version binutils "$work/binutils"
done
for version in 2.45.1 2.40; do
	binutils $version
	expect "binutils $version" 1 "binutils $version, but" binutils "$work/binutils"
done
expect "a missing source" 1 "no such glibc source" glibc "$work/none"
echo garbage > "$work/garbage.tar.xz"
expect "a broken tarball" 1 "not a glibc source" glibc "$work/garbage.tar.xz"
finish
