#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: lint-build.sh TOP BUILDDIR JOBS
#
# Runs the checkers that need build results, or build something themselves: sparse and W=1 on
# the objects of the series, the headers for user space one by one, a search for holes in
# their structures, and glibc's own checks of the patched library.  Prints TAP.

# Functions are called by name.
# shellcheck disable=SC2317

set -u -o pipefail

top=$1 build=$2 jobs=$3
tools=$build/tools/bin
obj=$build/obj/linux-lint
sparse=$build/sources/sparse/sparse

# shellcheck source=tap.sh
. "$top/scripts/check/tap.sh"

kernel()
{
	"$top/scripts/build/build-kernel.sh" "$build/linux" "$obj" "$tools" "$jobs" \
		"$top/kernel/config/guest.config" "$top/kernel/config/lint.config" -- "$@"
}

our_sources()
{
	(cd "$top/kernel/src" && find . -name '*.c' | sed 's,^\./,,')
	echo kernel/unwind/user.c kernel/unwind/deferred.c | xargs -n 1
}

# Debian 12's sparse is too old for this kernel.
build_sparse()
{
	[ -x "$sparse" ] && return
	"$top/scripts/build/fetch-sources.sh" "$build" sparse &&
		make -s -C "$build/sources/sparse" -j"$jobs" CC=gcc sparse > /dev/null
}

# Sparse does not understand the lock contexts of guards.
check_objects()
{
	local log=$build/logs/lint-objects.log objects

	mapfile -t objects < <(our_sources | sed 's/c$/o/')
	{ build_sparse && kernel prepare; } > "$log" 2>&1 || { tail -n 5 "$log"; return 1; }
	(cd "$obj" && rm -f "${objects[@]}")
	kernel W=1 C=1 CHECK="$sparse" CF=-Wno-context "${objects[@]}" > "$log" 2>&1 ||
		{ tail -n 20 "$log"; return 1; }
	! grep -E 'warning|error' "$log"
}

# Compiles each header alone, by the kernel's own test.
check_headers()
{
	local log=$build/logs/lint-headers.log

	rm -f "$obj/usr/include/linux/codectl.hdrtest"
	kernel headers usr/include/ > "$log" 2>&1 || { tail -n 20 "$log"; return 1; }
	[ -e "$obj/usr/include/linux/codectl.hdrtest" ] ||
		{ echo "codectl.h was not tested"; return 1; }
}

# The layout has no holes, and is the same for 32 and 64 bits.
check_holes()
{
	local dir bits header=include/uapi/linux/codectl.h

	dir=$(mktemp -d)
	{
		echo '#include <linux/codectl.h>'
		sed -n 's/^struct \([a-z_]*\) {$/struct \1 \1;/p' "$top/kernel/src/$header"
	} > "$dir/structs.c"
	for bits in 64 32; do
		gcc -m"$bits" -ffreestanding -g -c -I "$top/kernel/src/include/uapi" \
			-idirafter "/usr/include/$(gcc -print-multiarch)" -o "$dir/structs.o" "$dir/structs.c" &&
			pahole "$dir/structs.o" > "$dir/layout-$bits"
	done
	diff "$dir/layout-64" "$dir/layout-32" &&
		[ "$(grep -c '^struct' "$dir/layout-32")" = "$(grep -c '^struct .* {$' \
			"$top/kernel/src/$header")" ] &&
		! grep -i -E 'hole|padding' "$dir/layout-32"
	set -- $?
	rm -rf "$dir"
	return "$1"
}

# The x32 vDSO must have no table, though it is linked from the objects of the 64-bit one.
check_x32_vdso()
{
	local log=$build/logs/lint-vdso.log dir=arch/x86/entry/vdso/vdso64

	kernel "$dir/vdso64.so.dbg" "$dir/vdsox32.so.dbg" > "$log" 2>&1 ||
		{ tail -n 20 "$log"; return 1; }
	"$tools/readelf" -SW "$obj/$dir/vdso64.so.dbg" | grep -q '\.sframe' &&
		! "$tools/readelf" -SW "$obj/$dir/vdsox32.so.dbg" | grep '\.sframe'
}

# Checks the result of a test of glibc.
check_glibc()
{
	local dir=$build/glibc/$1 test=$build/obj/glibc/$1$2

	make -s -C "$dir" objdir="$build/obj/glibc" ..="${1:+../}" ${1:+subdir="${1%/}"} \
		"$test.out" > "$build/logs/lint-glibc.log" 2>&1 &&
		grep -q '^PASS' "$test.test-result" && return
	cat "$test.out" "$build/logs/lint-glibc.log" | tail -n 20
	return 1
}

mkdir -p "$build/logs"
command -v pahole > /dev/null ||
	{ echo "lint: pahole is missing: apt-get install dwarves" >&2; exit 1; }
run "sparse and W=1, our objects" check_objects
run "headers for user space, each alone" check_headers
run "pahole, structures for user space, -m64 and -m32" check_holes
run "vDSO for x32, without tables" check_x32_vdso
run "glibc, lint-makefiles" bash \
	"$build/glibc/scripts/lint-makefiles.sh" python3 "$build/glibc"
run "glibc, calls through the PLT of its own" check_glibc elf/ check-localplt
run "glibc, ABI of ld.so" check_glibc elf/ check-abi-ld
run "glibc, ABI of libc.so" check_glibc '' check-abi-libc
finish
