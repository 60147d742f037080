#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: soak.sh BUILDDIR
#
# Runs the guest's tests again and again, ROUNDS times (default 5) on each
# kernel: races that a single run misses show up here.

set -u

build=$1
top=$(cd "$(dirname "$0")/.." && pwd)
failed=0

mkdir -p "$build/results"
for round in $(seq "${ROUNDS:-5}"); do
	for kernel in fast debug; do
		echo "round $round, $kernel kernel"
		"$top/scripts/check-guest.sh" "$build" "$kernel" || failed=$((failed + 1))
	done
done
echo "$failed runs failed"
[ $failed -eq 0 ]
