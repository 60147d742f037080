#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: agree.sh STACKCHECK ROOT RESULTS MINIMUM
#
# Unwinds the registers and stacks in RESULTS/with.agree.dump, which stackdump has written, by
# libdwfl and the files below ROOT, and prints how the kernel's stacks of the same instants
# compare. Only files that had tables then, according to with.agree.tables, count. Fails if the
# recording has failed, if there are fewer than MINIMUM samples, or if stacks differ for no
# known reason.

set -u

stackcheck=$1 root=$2 results=$3 minimum=$4
failed=0
name=$results/with.agree
if [ -e "$name.failed" ]; then
	echo "FAILED: agree: $(head -n 1 "$name.failed")"
	failed=1
elif [ -e "$name.dump" ]; then
	echo "Stacks of the kernel beside those of libdwfl:"
	"$stackcheck" -a -t "$name.tables" -r "$root" -m "$minimum" "$name.dump" || failed=1
fi
[ "$failed" = 0 ] || echo "FAILED: the stacks of the kernel and of libdwfl"
exit $failed
