#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-perf.sh LINUX OBJDIR JOBS

set -eu

linux=$1 obj=$2 jobs=$3

mkdir -p "$obj"
make -s -C "$linux/tools/perf" O="$obj" -j"$jobs" CC="${CCACHE:-} gcc" \
	NO_RUST=1 NO_LIBPYTHON=1 NO_LIBPERL=1 NO_JVMTI=1 \
	NO_LIBUNWIND=1 NO_SLANG=1 NO_LIBCAPSTONE=1 NO_LIBLLVM=1 \
	WERROR=0 BUILD_BPF_SKEL=0
"$obj/perf" version --build-options
"$obj/perf" version --build-options | grep -q 'libdw-dwarf-unwind.*on' ||
	{ echo "perf was built without libdw: install libdw-dev and libelf-dev" >&2; exit 1; }
"$obj/perf" version --build-options | grep -q 'libtraceevent.*on' ||
	{ echo "perf was built without libtraceevent: install libtraceevent-dev" >&2; exit 1; }
