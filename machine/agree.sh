#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: agree.sh STACKCHECK ROOT RESULTS
#
# Has libdwfl unwind the registers and stacks that stackdump has left in RESULTS, in
# with.PROGRAM.agree.dump, by the files below ROOT, and prints how the kernel's stacks of the
# same instants compare. Fails if a recording has, if there are fewer samples than make
# 10,000 of the 16 programs of the matrix, or where stacks differ for no known reason.

set -u

stackcheck=$1 root=$2 results=$3
each=625 failed=0 dumps=()
for failure in "$results"/with.*.agree.failed; do
	[ -e "$failure" ] || continue
	echo "FAILED: $(basename "$failure" .failed): $(head -n 1 "$failure")"
	failed=1
done
for dump in "$results"/with.*.agree.dump; do
	[ ! -e "$dump" ] || [ -e "${dump%.dump}.failed" ] || dumps+=("$dump")
done
if [ ${#dumps[@]} -gt 0 ]; then
	echo "Stacks of the kernel beside those of libdwfl, at ${#dumps[@]} programs:"
	"$stackcheck" -a -r "$root" -m $((each * ${#dumps[@]})) "${dumps[@]}" || failed=1
fi
[ "$failed" = 0 ] || echo "FAILED: the stacks of the kernel and of libdwfl"
exit $failed
