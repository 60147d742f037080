#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-binutils.sh SOURCE OBJDIR PREFIX JOBS

set -eu

source=$1 obj=$2 prefix=$3 jobs=$4

mkdir -p "$obj"
cd "$obj"
if [ ! -e config.status ] || [ ! -e Makefile ]; then
	"$source/configure" --prefix="$prefix" --disable-gdb --disable-gdbserver \
		--disable-sim --disable-gprof --disable-gprofng --disable-nls \
		--disable-werror --disable-shared CC="${CCACHE:-} gcc" CXX="${CCACHE:-} g++"
fi
make -s -j"$jobs" MAKEINFO=true
make -s MAKEINFO=true install
"$prefix/bin/as" --version | head -n 1
"$prefix/bin/as" --gsframe -o /dev/null /dev/null
