#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: lint.sh TOP BUILDDIR
#
# Runs style checkers on the tree; those of the kernel are taken from the patched tree in
# BUILDDIR. Checkers that need build results are in lint-build.sh, quilt and git am in
# check-export.sh; libcodectl's own tests check its exported names, its ABI and its header (as
# C and C++).  Prints TAP.

set -u

top=$1 build=$2
linux=$build/linux
# shellcheck source=tap.sh
. "$top/scripts/check/tap.sh"
# shellcheck source=checkpatch.sh
. "$top/scripts/check/checkpatch.sh"

# Requirements for mailed patches only.
series_types=MISSING_SIGN_OFF,NO_AUTHOR_SIGN_OFF,FILE_PATH_CHANGES,COMMIT_LOG_LONG_LINE
# checkpatch takes sources outside tools/ for kernel code.
user_types+=,PREFER_KERNEL_TYPES,ENOSYS,STRCPY
# Stand-ins have the form of their kernel counterparts.
shim_types=COMPLEX_MACRO,MACRO_ARG_REUSE,MACRO_ARG_UNUSED,MACRO_WITH_FLOW_CONTROL
shim_types+=,MEMORY_BARRIER

# The order of sections is that of man-pages(7), not of mdoc(7).
# shellcheck disable=SC2317
check_page()
{
	! mandoc -T lint -W warning "$@" | grep -v 'sections out of conventional order' &&
		! man --warnings -E UTF-8 -Tutf8 -Z -l "$@" 2>&1 > /dev/null | grep .
}

# Fo and Nd are macros of the manual pages, filp is used in the kernel, fpr in LuaJIT, and
# cheduling is part of a pattern.
# shellcheck disable=SC2317
check_spelling()
{
	git ls-files | grep -v -E '^LICENSES/|\.abi$' |
		xargs -r codespell -q 3 -L fo,nd,filp,cheduling,fpr
}

for tool in codespell mandoc man:man-db git; do
	command -v "${tool%:*}" > /dev/null ||
		{ echo "lint: ${tool%:*} is missing: apt-get install ${tool#*:}" >&2; exit 1; }
done
[ -d "$linux" ] || { echo "lint: no kernel tree yet: run 'make linux'" >&2; exit 1; }
cd "$top" || exit 1
mapfile -t kernel_c < <(find kernel/src -name '*.[ch]' ! -path '*/trace/events/*')
mapfile -t event_h < <(find kernel/src -path '*/trace/events/*.h')
mapfile -t test_c < <(find selftests rig -name '*.[ch]' ! -path 'rig/host/kunit/*')
mapfile -t user_c < <(find libcodectl jit-demo tools engines -name '*.[ch]' ! -path '*/shim/*' ! -name order.h)
mapfile -t shim_c < <(find libcodectl '(' -path '*/shim/*' -o -name order.h ')' -name '*.h';
	find rig/host/kunit -name '*.h')
mapfile -t scripts < <(git grep --untracked -l -I -E '^#!/bin/(ba)?sh')
mapfile -t pages < <(find docs -name '*.[0-9]')

run shellcheck shellcheck -x -P SCRIPTDIR "${scripts[@]}"
run "checkpatch, kernel" check_patch "$kernel_types" -f "${kernel_c[@]}"
run "checkpatch, trace events" check_patch "$trace_types" -f "${event_h[@]}"
while read -r patch; do
	types=$series_types,$trace_types
	[ "$patch" != 0005-unwind-user.patch ] || types+=,$asm_types
	run "checkpatch, $patch" check_patch "$types" - < "kernel/patches/$patch"
done < <(grep -v '^#' kernel/patches/series)
run "checkpatch, selftests" check_patch "$user_types,$harness_types" -f "${test_c[@]}"
run "checkpatch, library, jit-demo, tools and engines" check_patch "$user_types" -f "${user_c[@]}"
run "checkpatch, stand-ins" check_patch "$user_types,$shim_types" -f "${shim_c[@]}"
run kernel-doc "$linux/tools/docs/kernel-doc" -none -Wall "${kernel_c[@]}"
run codespell check_spelling
[ ${#pages[@]} -eq 0 ] || run "mandoc and groff" check_page "${pages[@]}"
finish
