#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: run-stage.sh NAME BUILDDIR COMMAND...
#
# Runs one stage of the build, with its output in logs/NAME.log, and reports how long it took.
# If it fails, explains why in one sentence and shows the end of the log.

set -u

name=$1 build=$2
shift 2
log=$build/logs/$name.log
mkdir -p "$build/logs"
# Stages run their own make, with their own number of jobs.
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES

# A stage that the user has killed needs no explanation.
explain()
{
	local free

	free=$(df -Pm "$build" | awk 'NR == 2 { print $4 }')
	if grep -q 'No space left on device' "$log" || [ "${free:-1}" -lt 50 ]; then
		echo "the disk of $build is full ($free MB left): free some space and run the same command again"
	elif grep -q -i -E 'virtual memory exhausted|cannot allocate memory|Killed signal' "$log"; then
		echo "this machine ran out of memory: close something, or run the same command again with JOBS=1"
	elif grep -q '^sources: ' "$log"; then
		grep '^sources: ' "$log" | tail -n 1
	elif grep -q '^patch-tree: ' "$log"; then
		grep '^patch-tree: ' "$log" | tail -n 1
	else
		echo "its log is $log: correct what it names and run the same command again"
	fi
}

start=$SECONDS
printf '%-14s ' "$name"
"$@" > "$log" 2>&1 < /dev/null
status=$?
elapsed=$(printf '%d:%02d' $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)))
if [ $status -eq 0 ]; then
	echo "done in $elapsed"
	case $name in
	sources) sed 's/^/  /' "$log" ;;
	esac
	exit 0
fi
echo "FAILED after $elapsed"
tail -n 25 "$log" | sed 's/^/  | /' >&2
echo "codectl: $name failed: $(explain)" >&2
exit 1
