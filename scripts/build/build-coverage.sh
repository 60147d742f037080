#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-coverage.sh TOP OBJDIR CC HOSTCC SFRAME
#
# Builds codectl(1), and libcodectl's tests with the library in them, so that they count their
# branches.  SFRAME is where binutils is installed, with libsframe.

set -eu

top=$1 obj=$2 cc=$3 hostcc=$4 sframe=$5
all_flags="-O1 -g --coverage -fprofile-update=atomic -fno-builtin-fork -Wl,--wrap=_exit"

rm -rf "$obj"
mkdir -p "$obj/libcodectl" "$obj/guest"
gcc -O2 -Wall -c -o "$obj/exit.o" "$top/scripts/build/coverage-exit.c"
"$cc" -Wall -fPIC -c -o "$obj/exit-guest.o" "$top/scripts/build/coverage-exit.c"
flags=$all_flags,$obj/exit-guest.o

cd "$obj/libcodectl"
"$top/configure" --disable-guest CC="$cc" CPPFLAGS=-DLIBRARY_COUNTS
# The preload and what is loaded with it run in programs of others, and count nothing.
make -s -C libcodectl libcodectl-preload.la tests/fake_{late,mmap64,plugin,unwind}.la
make -s -C libcodectl check TESTS= CFLAGS="$flags" AM_LDFLAGS=-static
make -s -C libcodectl install-guest DESTDIR="$obj/guest" guestdir=/

mkdir -p "$obj/tools"
flags=$all_flags,$obj/exit.o
make -s -f "$top/tools/Makefile" O="$obj/tools" HOSTCC="$hostcc" SFRAME="$sframe" \
	CFLAGS="$flags" tool
