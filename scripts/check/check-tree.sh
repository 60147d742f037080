#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-tree.sh TOP BUILDDIR
#
# Checks the source tree, and that the build has left nothing in it. Prints TAP.
# BUILDDIR/logs/tree.before has the output of git before the build.

set -u

top=$1 build=$2
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

files()
{
	if git -C "$top" rev-parse --git-dir > /dev/null 2>&1; then
		git -C "$top" ls-files
	else
		(cd "$top" && find . '(' -path ./build -o -name build-aux -o -name autom4te.cache ')' \
			-prune -o -type f ! -name configure ! -name Makefile.in ! -name aclocal.m4 \
			! -name config.h.in -print | sed 's,^\./,,')
	fi
}

# There are no new files that git does not ignore.
if git -C "$top" status --porcelain > "$build/logs/tree.after" 2>/dev/null; then
	diff "$build/logs/tree.before" "$build/logs/tree.after" | sed 's/^/# /'
	result "${PIPESTATUS[0]}" "the build leaves the source tree as it was"
fi

"$top/kernel/prepare-kernel.sh" --linux="$build/linux" --check | sed 's/^/# /'
result "${PIPESTATUS[0]}" "the kernel tree holds what kernel/ says"

"$top/scripts/build/patch-tree.sh" --tree "$build/glibc" \
	--series "$top/glibc-patches/series" --check | sed 's/^/# /'
result "${PIPESTATUS[0]}" "the glibc tree holds what glibc-patches/ says"

missing=$(cd "$top" && files | grep -v -E '^LICENSES/|\.patch$|/cases/|/formats/|ChangeLog' |
	while read -r file; do
		[ ! -s "$file" ] || head -n 3 "$file" | grep -q 'SPDX-License-Identifier' ||
			echo "$file"
	done)
[ -z "$missing" ]
result $? "each file names its licence${missing:+: $(xargs <<< "$missing") does not}"

# The kernel's table defines the number; everything else must agree.
numbers=$(cd "$top" && sed -n \
	-e 's/^+\([0-9]*\)\t64\tcodectl.*/\1/p' \
	-e 's/^+\?#define __NR_codectl[[:space:]]*\([0-9]*\)/\1/p' \
	kernel/patches/*.patch glibc-patches/*.patch selftests/*/*.h demo/*.c \
	libcodectl/src/*.c libcodectl/tests/*.c)
[ "$(wc -w <<< "$numbers")" -ge 5 ] && [ "$(sort -u <<< "$numbers" | wc -l)" = 1 ]
result $? "all copies of the system call's number are the same: $(xargs <<< "$numbers")"

"$top/scripts/check/check-demands.sh" "$top" | sed 's/^/# /'
result "${PIPESTATUS[0]}" "each demand of docs/demands.md has its test"

scripts=$(cd "$top" && files | while read -r file; do
	head -c 20 "$file" | head -n 1 | grep -q -a -E '^#!/bin/(ba)?sh' && echo "$file"
done)
# shellcheck disable=SC2086
(cd "$top" && shellcheck -x -P SCRIPTDIR $scripts) | sed 's/^/# /'
result "${PIPESTATUS[0]}" "shellcheck is silent"

finish
