#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-sysroot.sh GLIBC-OBJ LINUX LINUX-OBJ BINUTILS SYSROOT
#
# Installs the C library of the build and the headers of the patched kernel, to compile, link
# and run programs.

set -eu

obj=$1 linux=$2 linux_obj=$3 tools=$4 sysroot=$5
new=$sysroot.part

rm -rf "$new"
"$(dirname "$0")/../../glibc-patches/install-sysroot.sh" "$obj" "$new"
make -s -C "$linux" O="$linux_obj" headers_install INSTALL_HDR_PATH="$new/usr" \
	HOSTCC="${CCACHE:-} gcc"

for file in libc.so.6 crt1.o libc.a; do
	if ! "$tools/readelf" -S -W "$new/usr/lib/$file" | grep -q '\.sframe'; then
		echo "$file has no .sframe: the glibc build did not use $tools/as" >&2
		exit 1
	fi
done
rm -rf "$sysroot.old"
[ ! -e "$sysroot" ] || mv "$sysroot" "$sysroot.old"
mv "$new" "$sysroot"
rm -rf "$sysroot.old"
