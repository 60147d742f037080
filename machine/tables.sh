#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: tables.sh ROOT CODECTL DETACHED_DIFF RESULTS
#
# Makes the tables of all files below ROOT, which may take 5 minutes, and of each libLLVM there,
# which may take 10 seconds, and compares those of programs and libraries with their CFI by
# DETACHED_DIFF. Leaves sframe-image-time.tap and sframe-image.tap in RESULTS; fails if one of
# these tests fails. WHOLE_SECONDS and LLVM_SECONDS set other limits.
#
# Functions called by name look unreachable:
# shellcheck disable=SC2317

set -u -o pipefail

die()
{
	echo "tables: $*" >&2
	exit 1
}

[ $# -eq 4 ] || die "usage: tables.sh ROOT CODECTL DETACHED_DIFF RESULTS"
root=$(realpath "$1") codectl=$2 oracle=$3 results=$4
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../scripts/check/tap.sh
. "$here/../scripts/check/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# within SECONDS COMMAND... - prints the time taken; its progress goes to stderr
within()
{
	local start end limit=$1 status

	shift
	start=$(date +%s%N)
	"$@" 2>&4
	status=$?
	end=$(date +%s%N)
	echo "# $(((end - start) / 1000000)) ms" >&3
	[ "$status" = 0 ] && [ $((end - start)) -le $((limit * 1000000000)) ]
}

test_time()
{
	local library found=1

	exec 3>&1 4>&2
	echo "tables: of all files below $root" >&2
	run "the tables of the image in ${WHOLE_SECONDS:-300} seconds" \
		within "${WHOLE_SECONDS:-300}" "$codectl" sframe -v --store "$work/store" --all "$root"
	printf '# %s\n' "${said//$'\n'/$'\n'# }"
	while read -r library; do
		found=0
		echo "tables: of $library" >&2
		run "that of ${library#"$root"} in ${LLVM_SECONDS:-10} seconds" \
			within "${LLVM_SECONDS:-10}" "$codectl" sframe -o "$work/table" "$library"
	done < <(find "$root/usr/lib" -name 'libLLVM*.so*' -type f)
	result $found "there is a libLLVM"
	finish
}

# One line per hundred files.
tell_progress()
{
	awk '{ print }
		/^(not )?ok / && ++nr % 100 == 0 {
			printf "tables: %d files compared, %d of them differ\n", nr, bad > "/dev/stderr"
		}
		/^not ok / { bad++ }'
}

test_content()
{
	local dir dirs=()

	for dir in usr/bin usr/sbin usr/lib opt; do
		[ ! -d "$root/$dir" ] || dirs+=("$root/$dir")
	done
	find "${dirs[@]}" -type f -size +0 | "$oracle" "$codectl" "$work/table" | tell_progress
}

status=0
(test_time) > "$results/sframe-image-time.tap" || status=1
test_content > "$results/sframe-image.tap" || status=1
awk -f "$here/../scripts/check/tap-summary.awk" "$results"/sframe-image{-time,}.tap || status=1
grep '^# [0-9].* \(of tables\|covered\|differ\|files\)' "$results/sframe-image.tap" | tail -n 8
exit $status
