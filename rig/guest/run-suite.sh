#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-suite.sh kselftest SECONDS COLLECTION [TEST]...
#        run-suite.sh glibc SECONDS COMMANDS [TEST]...
#
# Runs in the guest a collection of the kernel's selftests, or the tests of glibc in the file
# COMMANDS, which has names and commands, or only the named ones. SECONDS is the time limit of a
# test. "PASS: the-run" at the end shows that the guest has survived.

kind=$1 seconds=$2 source=$3
shift 3

# The test of rseq with parameters repeats each of 2048 combinations 1000 times,
# which would take hours; the benchmarks do something 5000 times in 200 threads.
export KSELFTEST_RUN_PARAM_TEST_SH_ARGS="-r 10"
export KSELFTEST_PARAM_TEST_BENCHMARK_ARGS="-r 500"
export KSELFTEST_PARAM_TEST_MM_CID_BENCHMARK_ARGS="-r 500"

run_kselftest()
{
	cd /usr/lib/codectl/kselftest || exit 1
	chosen=''
	for test; do
		chosen="$chosen -t $source:$test"
	done
	# shellcheck disable=SC2086
	./run_kselftest.sh -f -o "$seconds" ${chosen:--c $source}
}

# run_glibc_test NAME COMMAND - prints the result as glibc's evaluate-test.sh does
run_glibc_test()
{
	timeout -s KILL "$seconds" sh -c "$2" < /dev/null > /tmp/said 2>&1
	status=$?
	case $status in
	0) echo "PASS: $1"; return ;;
	77) echo "UNSUPPORTED: $1"; return ;;
	esac
	tail -n 20 /tmp/said | sed 's/^/# /'
	echo "# exit status $status"
	echo "FAIL: $1"
}

run_glibc()
{
	export TIMEOUTFACTOR=10
	while read -r name command; do
		case " $* " in
		"  " | *" $name "*) run_glibc_test "$name" "$command" ;;
		esac
	done < "$source"
}

"run_$kind" "$@" && echo "PASS: the-run"
