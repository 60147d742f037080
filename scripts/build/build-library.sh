#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-library.sh TOP OBJDIR CC SYSROOT TESTDIR
#
# Builds libcodectl for the C library in SYSROOT, and installs it there and its tests in
# TESTDIR.

set -eu

top=$1 obj=$2 cc=$3 sysroot=$4 tests=$5

mkdir -p "$obj"
cd "$obj"
if [ ! -e config.status ] || [ "$top/configure" -nt config.status ]; then
	"$top/configure" --disable-guest --prefix=/usr --libdir=/usr/lib CC="$cc"
fi
make -s -C libcodectl install DESTDIR="$sysroot"
# This file names directories in the guest, not on this machine.
rm -f "$sysroot/usr/lib/libcodectl.la"
make -s -C libcodectl check TESTS=
rm -rf "$tests"
make -s -C libcodectl install-guest DESTDIR="$tests" guestdir=/
