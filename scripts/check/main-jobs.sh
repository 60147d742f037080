#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: main-jobs.sh BUILDDIR [ROUNDS]
#
# Runs the main job ROUNDS times in a row (default 10), while another process uses as much CPU
# as it can, and reports each result. The output goes to results/demo-ROUND.tap, and for failed
# runs to results/failed as well.

set -u

build=$1 rounds=${2:-10} whole=0
(while kill -0 $$ 2> /dev/null; do :; done) &
busy=$!
trap 'kill $busy 2> /dev/null' EXIT
mkdir -p "$build/results"
for round in $(seq "$rounds"); do
	start=$SECONDS said=FAILED
	if make -s --no-print-directory -C "$build" run-demo > "$build/results/demo-$round.tap" 2>&1; then
		said=whole
		whole=$((whole + 1))
	else
		mkdir -p "$build/results/failed"
		cp "$build/results/demo-$round.tap" "$build/results/failed/"
	fi
	start=$((SECONDS - start))
	printf 'main job %d of %d: %s in %d:%02d\n' "$round" "$rounds" $said $((start / 60)) $((start % 60))
done
echo "$whole of $rounds main jobs whole"
[ $whole -eq "$rounds" ]
