#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: lint.sh TOP BUILDDIR
#
# Runs the checkers of style over the tree; those of the kernel come from the
# patched tree in BUILDDIR.

set -u

top=$1 build=$2
failed=0

run()
{
	echo "lint: $1"
	shift
	"$@" || failed=1
}

[ -d "$build/linux" ] || { echo "lint: no kernel tree yet: run 'make linux'" >&2; exit 1; }
cd "$top" || exit 1
linux=$build/linux
mapfile -t kernel_c < <(find kernel/src -name '*.[ch]')
mapfile -t test_c < <(find selftests -name '*.[ch]')
mapfile -t scripts < <(grep -r -l -I -E --exclude-dir=.git --exclude-dir=build \
	--exclude-dir=autom4te.cache --exclude-dir=build-aux --exclude=configure \
	'^#!/bin/(ba)?sh' .)
mapfile -t pages < <(find docs -name '*.[0-9]')

run shellcheck shellcheck "${scripts[@]}"
run "checkpatch, kernel" "$linux/scripts/checkpatch.pl" --strict --no-tree --terse -q \
	--root="$linux" -f "${kernel_c[@]}"
run "checkpatch, selftests" "$linux/scripts/checkpatch.pl" --strict --no-tree --terse -q \
	--root="$linux" -f "${test_c[@]}"
run kernel-doc "$linux/tools/docs/kernel-doc" -none -Wall "${kernel_c[@]}"
[ ${#pages[@]} -eq 0 ] || run mandoc mandoc -T lint -W warning "${pages[@]}"
exit $failed
