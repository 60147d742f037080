#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-suites.sh BUILDDIR TOOLS JOBS
#
# Builds in BUILDDIR/obj/suites what the upstream test suites need: the selftests of the unpatched
# kernel and a guest with them, and the C library once more.

set -eu

build=$1 tools=$2 jobs=$3
cc=$tools/codectl-gcc
top=$(cd "$(dirname "$0")/../.." && pwd)
obj=$build/obj/suites
targets="rseq mm clone3 perf_events user_events proc"

# Reports all missing libraries at once.
check_libraries()
{
	local header missing=''

	for header in sys/capability.h numa.h liburing.h; do
		echo | $cc -E -include "$header" - > /dev/null 2>&1 || missing+=" $header"
	done
	[ -z "$missing" ] && return
	echo "build-suites.sh: missing:$missing: install libcap-dev, libnuma-dev and liburing-dev"
	exit 1
}

# Without optimisation, which some tests need, unless a test sets it. A test that cannot be
# built is missing from the list of installed ones.
build_kselftests()
{
	rm -rf "$obj/kselftest"
	mkdir -p "$obj/kselftest"
	make -s -C "$build/linux-stock/tools/testing/selftests" TARGETS="$targets" \
		CC="$cc -O0" KHDR_INCLUDES="-isystem $build/sysroot/usr/include" \
		O="$obj/kselftest" INSTALL_PATH="$obj/kselftest/guest" FORCE_TARGETS=1 \
		install
}

# No program is linked with libgcc_s, but pthread_cancel() loads it.
make_image()
{
	mkdir -p "$obj/images" "$obj/lib"
	cp "$(gcc -print-file-name=libgcc_s.so.1)" "$obj/lib/"
	"$top/rig/guest/mkroot.sh" --sysroot "$build/sysroot" \
		--init "$top/rig/guest/init" --program /usr/bin/bash \
		--program /usr/bin/timeout \
		--tree "$obj/kselftest/guest:usr/lib/codectl/kselftest" \
		--tree "$obj/lib:usr/lib64" \
		--output "$obj/images/root.squashfs"
	ln -sf "$build/guest"/{tsc-khz,bzImage-stock,bzImage-fast} "$obj/images/"
}

# Built separately: objects of the tests would disturb the main build, and their common parts
# contain the name of the build directory.
build_glibc()
{
	"$top/scripts/build/build-glibc.sh" "$build/glibc" "$obj/glibc-after" "$tools" "$jobs"
}

check_libraries
build_kselftests
make_image
build_glibc
