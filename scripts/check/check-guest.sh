#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-guest.sh BUILDDIR fast|debug|coverage [PATTERNS [RESULT]]
#
# Runs the guest's tests, or those whose names match one of PATTERNS, in one boot. Their TAP goes
# to results/RESULT.tap (by default guest-KERNEL). Prints which failed. The counts of the
# coverage kernel and its programs go to coverage/guest.
#
# TEST_SECONDS is the time limit of a test. TEST_CYCLES, TRACE_STACKS and FUZZ_CALLS, if set,
# make tests longer, and FUZZ_SEED changes their random values. TEST_SLACK=1 makes tests of
# shares of time strict, which needs an otherwise idle host.

set -u

build=$1 kernel=$2 tests=${3:-} name=${4:-guest-$2}
top=$(cd "$(dirname "$0")/../.." && pwd)
result=$build/results/$name.tap
console=$build/results/console${name#guest}.log

case $kernel in
fast) each=300 all=2700 scale=1 ;;
debug) each=900 all=5400 scale=10 ;;
coverage) each=600 all=3600 scale=3 ;;
*) echo "check-guest.sh: no such kernel: $kernel" >&2; exit 2 ;;
esac
each=${TEST_SECONDS:-$each}
[ "$all" -ge "$each" ] || all=$each
options=() gather=()
if [ "$kernel" = coverage ]; then
	options=(--out "$build/coverage/guest"
		--add "$build/obj/coverage/guest:/usr/lib/codectl/libcodectl"
		--add "$build/obj/coverage/tools/codectl:/usr/bin/codectl"
		--add "$top/rig/guest/gather-coverage.sh:/gather-coverage.sh")
	gather=(sh /gather-coverage.sh)
fi

# run RESULT DONE [OPTION] - runs all tests except DONE
run()
{
	"$top/rig/guest/guest.sh" --images "$build/guest" --kernel "$kernel" \
		--timeout "$all" --log "$console" ${3:+"$3"} \
		--add "$top/rig/guest/run-tests.sh:/run-tests.sh" \
		--add "$result.list:/tests.list" "${options[@]}" \
		-- "${gather[@]}" env TEST_TIME_SCALE=$scale EXPECT_ALL_FEATURES=1 TESTS_DONE="$2" \
		${TEST_CYCLES:+TEST_CYCLES="$TEST_CYCLES"} \
		${TRACE_STACKS:+TRACE_STACKS="$TRACE_STACKS"} \
		${TEST_SLACK:+TEST_SLACK="$TEST_SLACK"} \
		${FUZZ_CALLS:+FUZZ_CALLS="$FUZZ_CALLS"} \
		${FUZZ_SEED:+FUZZ_SEED="$FUZZ_SEED"} \
		sh /run-tests.sh /tests.list "$each" "$tests" > "$1" 2> "$result.said"
}

# Do the patterns match a test of KUnit?  The kernel runs all of these when it boots, which takes
# a minute on the debug kernel.
has_kunit()
(
	set -f
	while read -r test _; do
		for pattern in ${tests:-*}; do
			# shellcheck disable=SC2053
			[[ $test != $pattern ]] || exit 0
		done
	done < <(grep '^kunit-' "$result.list")
	exit 1
)

# True once per directory of results; the summary reports it.
may_retry()
{
	(set -C; echo "$name: QEMU executed a breakpoint that was gone; consoles:" \
		"$console.erred, $console" > "$build/results/retried") 2> /dev/null
}

# Runs the remaining tests, from the one that was cut off, on emulated CPUs that take turns: this
# is slower, but no CPU executes stale translated code.
run_rest()
{
	local ended status

	awk '{ text = text $0 "\n" } /^# end / { printf "%s", text; text = "" }' \
		"$result" > "$result.done"
	# The counts of earlier tests are lost.
	[ "$kernel" != coverage ] || : > "$result.done"
	ended=$(awk '/^# end / { printf "%s ", $3 }' "$result.done")
	each=$((each * 3))
	run "$result.rest" "$ended" --in-turn
	status=$?
	if [ -s "$result.done" ]; then
		grep -v '^# plan' "$result.rest" >> "$result.done"
		mv "$result.done" "$result"
	else
		mv "$result.rest" "$result"
	fi
	return $status
}

"$top/rig/guest/list-tests.sh" "$kernel" > "$result.list" || exit
has_kunit || options+=(--append kunit.enable=0)
run "$result" ''
status=$?
if [ $status -ne 0 ] && "$top/rig/guest/emulator-erred.sh" "$console"; then
	if may_retry; then
		cp "$console" "$console.erred"
		echo "check-guest: $(cat "$build/results/retried"): going on with CPUs that take turns"
		run_rest
		status=$?
	else
		echo "check-guest: QEMU erred twice in these results: only one such error is allowed"
	fi
fi
if [ $status -ne 0 ]; then
	{
		printf '# plan %s\n# begin %s\n' "$name" "$name"
		head -n 50 "$result.said" | sed 's/^/# /'
		printf '# end %s %d\n' "$name" $status
	} >> "$result"
fi
awk -f "$top/scripts/check/tap-summary.awk" "$result"
