#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-glibc.sh SOURCE OBJDIR BINUTILS JOBS

set -eu

source=$1 obj=$2 tools=$3 jobs=$4

mkdir -p "$obj"
cd "$obj"
if [ ! -e config.make ] || [ ! -e Makefile ]; then
	"$source/configure" --prefix=/usr --disable-werror --enable-sframe \
		--disable-nscd --disable-build-nscd --disable-timezone-tools \
		--with-binutils="$tools" CC="${CCACHE:-} gcc -B$tools/" \
		CXX="${CCACHE:-} g++ -B$tools/" CFLAGS=-O2 CXXFLAGS=-O2
fi
make -s -j"$jobs"
