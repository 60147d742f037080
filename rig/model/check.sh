#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check.sh DIR
#
# Verifies the models, and each barrier of barriers.list by leaving it out. DIR gets the verifiers,
# their output and the trails of errors. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..
work=$1
# shellcheck source=../../scripts/check/tap.sh
. "$top/scripts/check/tap.sh"

# verify NAME MODEL [DEFINE...]: leaves the verifier's report in $work/NAME/report
verify()
{
	local dir=$work/$1 model=$2
	shift 2

	rm -rf "$dir"
	mkdir -p "$dir" || exit 1
	cp "$here"/*.pml "$dir"
	(
		cd "$dir" || exit 1
		"$SPIN" "$@" -a "$model.pml" &&
			"$CC" -O1 -w -DSAFETY -DCOLLAPSE -DMEMLIM=1900 -o pan pan.c &&
			./pan -m1000000
	) > "$dir/report" 2>&1
}

# All states were visited, none is wrong, and the only unreached statements are ends of endless
# processes.
holds()
{
	local report=$work/$1/report

	grep -q 'errors: 0$' "$report" &&
		! grep -q -E 'out of memory|max search depth too small|Search not completed' \
			"$report" &&
		! grep -q -P '^\t.*, state \d+, "(?!-end-")' "$report"
}

# The verifier found an error: a rule was wrong or missing, or a stack too short.
finds()
{
	grep -q '^pan:1: assertion violated (\+found==' "$work/$1/report"
}

# verified NAME WHAT MODEL [DEFINE...]
verified()
{
	local name=$1 what=$2 status
	shift 2

	verify "$name" "$@"
	holds "$name"
	status=$?
	result $status "$what"
	if [ $status -eq 0 ]; then
		sed -n 's/^ *\([0-9]* states\), stored/# \1/p' "$work/$name/report"
	else
		sed 's/^/# /' "$work/$name/report"
	fi
}

verified ascending "rows in increasing order of address" jit
verified descending "rows in decreasing order of address" jit -DDESCENDING
verified granules "functions in a granule map" granules

# Each barrier in the named files has a line in the list.
barriers='smp_[rw]?mb\(\)|smp_(load_acquire|store_release)\(|__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)'
while read -r file; do
	here_are=$(grep -v '^[[:space:]]*\*' "$top/$file" | grep -c -E "$barriers")
	listed=$(grep -v '^#' "$here/barriers.list" | cut -d'|' -f3,4 |
		grep -F "$file|" | grep -c -E "($barriers)[^;]*;?\$")
	[ "$here_are" -gt 0 ] && [ "$here_are" -eq "$listed" ]
	result $? "$here_are barriers are in $file, $listed in the list"
done < <(grep -v '^#' "$here/barriers.list" | cut -d'|' -f3 | sort -u | grep .)

while IFS='|' read -r model name file text what; do
	verify "$model-$name" "$model" "-DNO_$name"
	finds "$model-$name"
	result $? "the error is found without $name: $what"
	[ -n "$file" ] || continue
	tr -s '[:space:]' ' ' < "$top/$file" | grep -q -F -e "$text"
	result $? "$name is in $file"
done < <(grep -v '^#' "$here/barriers.list")

finish
