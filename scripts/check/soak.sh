#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: soak.sh BUILDDIR
#
# Runs the guest's tests ROUNDS times (default 5) on each kernel, to find races that a single run
# misses. Then runs longer tests:
# - 100,000 stacks from a buffer that overflows;
# - 10,000 requests for names;
# - 10,000 objects that come and go (memory is checked by slab counters on the fast kernel, by
#   kmemleak on the other one);
# - 100,000 random calls for each of 10 random seeds (or those in FUZZ_SEEDS);
# - a million random operations on files with tables;
# - 10,000 short-lived processes that use a table;
# - the commands of README and of the guide;
# - the decoder against its oracles in every file;
# - all fuzzers on the host, each for FUZZ_SECONDS (default 600);
# - changes of single lines that tests have to notice;
# - upstream test suites on kernel and C library with and without the patches;
# - each step of the series;
# - coverage, the style checkers, and "make distcheck".
#
# The output of failed runs stays in results/failed, with the console. A second boot that the
# emulator's breakpoint has cut off is a failure, too.

set -u

build=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
failed=0 retried=0

# step NAME COMMAND... - runs it and reports how long it took
step()
{
	local name=$1 start=$SECONDS said='done'
	shift

	echo "$name"
	"$@" || { said=FAILED; failed=$((failed + 1)); }
	start=$((SECONDS - start))
	printf '%s: %s in %d:%02d:%02d\n' "$name" $said \
		$((start / 3600)) $((start / 60 % 60)) $((start % 60))
}

# guest LABEL KERNEL [TEST [VARIABLE=VALUE...]]
guest()
{
	local label=$1 kernel=$2 test=${3:-} file status
	shift $(($# > 3 ? 3 : $#))

	rm -f "$build/results/retried"
	env "$@" "$top/scripts/check/check-guest.sh" "$build" "$kernel" ${test:+"$test"}
	status=$?
	if [ -e "$build/results/retried" ]; then
		retried=$((retried + 1))
		cp "$build/results/console-$kernel.log.erred" "$build/results/failed/$label-erred.log"
	fi
	[ $status -ne 0 ] || return 0
	for file in "guest-$kernel.tap" "guest-$kernel.tap.said" "console-$kernel.log"; do
		cp "$build/results/$file" "$build/results/failed/$label-$file"
	done
	return 1
}

# long SECONDS KERNEL TEST VARIABLE=VALUE...
long()
{
	step "$3 for longer, $2 kernel, ${*: -1}" guest "long-$3-$2-${*: -1}" "$2" "$3" TEST_SECONDS="$1" "${@:4}"
}

target()
{
	make -s --no-print-directory -C "$build" "$@"
}

documents()
{
	local status=0

	target check-commands || status=1
	awk -f "$top/scripts/check/tap-summary.awk" "$build/results/commands.tap" || status=1
	return $status
}

# Each step of all series; failures are in a file.
export_steps()
{
	local status=0

	target check-export STEPS=--build || status=1
	awk -f "$top/scripts/check/tap-summary.awk" "$build/results/export.tap" || status=1
	return $status
}

rm -rf "$build/results/failed"
mkdir -p "$build/results/failed"
for round in $(seq "${ROUNDS:-5}"); do
	for kernel in fast debug; do
		step "round $round, $kernel kernel" guest "round-$round" $kernel
	done
done
long 3600 fast drop_test.sh TRACE_STACKS=51000
long 3600 fast libcodectl-name_tracer_test TEST_CYCLES=10000
long 7200 fast load_test TEST_CYCLES=10000
long 20000 debug load_test TEST_CYCLES=10000
for seed in ${FUZZ_SEEDS:-$(od -A n -N 40 -t u4 /dev/urandom)}; do
	long 6000 debug fuzz_test FUZZ_CALLS=100000 FUZZ_SEED="$seed"
done
long 40000 debug attach_fuzz_test FUZZ_CALLS=1000000
long 7200 fast attach_life_test TEST_CYCLES=10000
step "the main job, ten times beside a busy process" "$top/scripts/check/main-jobs.sh" "$build"
step "the commands of the documents" documents
step "the decoder in all files" target check-decoder-all
step "tables of all files of this machine" target check-sframe-all
step "fuzzing on the host" target fuzz
step "changes that tests have to notice" target mutate
step "others' suites, before and after" target suites
step "each step of the exported series" export_steps
step "what the tests reach" target coverage
step "the checkers of style" target lint
step "a tarball that builds and installs" target distcheck
[ $retried -le 1 ] || failed=$((failed + 1))
echo "$failed runs failed, $retried boots were cut off by the emulator's breakpoint and went on"
[ $failed -eq 0 ]
