#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-suites.sh BUILDDIR CC
#
# Makes in BUILDDIR/obj/suites what others' suites take: the selftests of the
# unpatched kernel's source and a guest with them, and a copy of the C library.

set -eu

build=$1 cc=$2
top=$(cd "$(dirname "$0")/.." && pwd)
obj=$build/obj/suites
targets="rseq mm clone3 perf_events user_events proc"

# Without optimisation where a test does not ask for it, as some have to be. One
# that cannot be built is missing in the list of those installed.
build_kselftests()
{
	rm -rf "$obj/kselftest"
	mkdir -p "$obj/kselftest"
	make -s -C "$build/linux-stock/tools/testing/selftests" TARGETS="$targets" \
		CC="$cc -O0" KHDR_INCLUDES="-isystem $build/sysroot/usr/include" \
		O="$obj/kselftest" INSTALL_PATH="$obj/kselftest/guest" FORCE_TARGETS=1 \
		install
}

make_image()
{
	local side

	"$top/selftests/qemu/mkroot.sh" --sysroot "$build/sysroot" \
		--init "$top/selftests/qemu/init" --program /usr/bin/bash \
		--program /usr/bin/timeout \
		--tree "$obj/kselftest/guest:usr/lib/codectl/kselftest" \
		--output "$obj/root.squashfs"
	for side in before after; do
		mkdir -p "$obj/images-$side"
		ln -sf "$obj/root.squashfs" "$build/guest/tsc-khz" "$obj/images-$side/"
	done
	ln -sf "$build/guest/bzImage-stock" "$obj/images-before/bzImage-fast"
	ln -sf "$build/guest/bzImage-fast" "$obj/images-after/bzImage-fast"
}

# For the objects of its tests, which would be in the way of the build.
copy_glibc()
{
	rm -rf "$obj/glibc-after"
	cp -a "$build/obj/glibc" "$obj/glibc-after"
}

build_kselftests
make_image
copy_glibc
