#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-suites.sh BUILDDIR TOOLS JOBS
#
# Builds in BUILDDIR/obj/suites what others' suites need: the selftests of the
# unpatched kernel's source and a guest with them, and the C library once more.

set -eu

build=$1 tools=$2 jobs=$3
cc=$tools/codectl-gcc
top=$(cd "$(dirname "$0")/../.." && pwd)
obj=$build/obj/suites
targets="rseq mm clone3 perf_events user_events proc"

# Of all of their libraries, not of the first that is missed.
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

# Without optimisation unless a test asks for it, as some need that. A test that
# cannot be built is missing in the list of those installed.
build_kselftests()
{
	rm -rf "$obj/kselftest"
	mkdir -p "$obj/kselftest"
	make -s -C "$build/linux-stock/tools/testing/selftests" TARGETS="$targets" \
		CC="$cc -O0" KHDR_INCLUDES="-isystem $build/sysroot/usr/include" \
		O="$obj/kselftest" INSTALL_PATH="$obj/kselftest/guest" FORCE_TARGETS=1 \
		install
}

# pthread_cancel() opens libgcc_s, which no program names.
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

# The objects of its tests would be in the way of the build, and what they share
# contains the directory that it was built in.
build_glibc()
{
	"$top/scripts/build/build-glibc.sh" "$build/glibc" "$obj/glibc-after" "$tools" "$jobs"
}

check_libraries
build_kselftests
make_image
build_glibc
