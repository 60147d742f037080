#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: soak.sh BUILDDIR
#
# Runs the guest's tests again and again, ROUNDS times (default 5) on each
# kernel: races that a single run misses show up here. Then some for longer:
# 100,000 stacks out of a buffer that overflows, 10,000 times names on demand,
# 10,000 objects that come and go (memory by slab counters on the fast kernel, by
# kmemleak on the other), 1,000,000 random calls, the decoder against its oracles
# in every file, what is fuzzed on the host, each for FUZZ_SECONDS (default 600),
# and others' suites on kernel and C library with and without our patches.

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
# long KERNEL TEST VARIABLE=VALUE
long()
{
	echo "longer: $2, $1 kernel"
	env TEST_SECONDS=3600 "$3" "$top/scripts/check-guest.sh" "$build" "$1" "$2" ||
		failed=$((failed + 1))
}

long fast drop_test.sh TRACE_STACKS=51000
long fast libcodectl-name_tracer_test TEST_CYCLES=10000
long fast load_test TEST_CYCLES=10000
long debug load_test TEST_CYCLES=10000
long debug fuzz_test FUZZ_CALLS=1000000
make -s --no-print-directory -C "$build" check-decoder-all || failed=$((failed + 1))
make -s --no-print-directory -C "$build" fuzz || failed=$((failed + 1))
echo "others' suites, before and after"
make -s --no-print-directory -C "$build" suites || failed=$((failed + 1))
echo "each step of the exported series"
make -s --no-print-directory -C "$build" check-export STEPS=--build || failed=$((failed + 1))
awk -f "$top/scripts/tap-summary.awk" "$build/results/export.tap"
echo "$failed runs failed"
[ $failed -eq 0 ]
