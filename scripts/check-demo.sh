#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-demo.sh LOG COMMAND...
#
# Runs the demo as one test and prints TAP. What it said is kept in LOG; if it
# failed, what it said of that comes first.

set -u

log=$1
shift

# Before a failed check stand the figures it is about.
why()
{
	grep -B 12 -A 1 FAILED "$log" | grep -v '^$' | tail -n 36
	echo "the last lines of $log:"
	tail -n 12 "$log"
}

"$@" > "$log" 2>&1
status=$?
if [ $status -eq 0 ]; then
	echo "ok 1 the main job"
else
	why | sed 's/^/# /'
	echo "not ok 1 the main job"
fi
exit $status
