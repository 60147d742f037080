#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-command.sh NAME LOG COMMAND...
#
# Runs a command as one test and prints TAP. Its output is kept in LOG; after a failure, its
# error messages are printed first.

set -u

name=$1 log=$2
shift 2

# The figures for a failed check come before its message.
why()
{
	grep -E -B 12 -A 1 'FAILED|^not ok' "$log" | grep -v '^$' | tail -n 36
	echo "the last lines of $log:"
	tail -n 12 "$log"
}

echo 1..1
"$@" > "$log" 2>&1
status=$?
if [ $status -eq 0 ]; then
	echo "ok 1 $name"
else
	why | sed 's/^/# /'
	echo "not ok 1 $name"
fi
exit $status
