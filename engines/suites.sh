#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: suites.sh LIBRARY OUT [SUITE...]
#
# Runs tests of Debian's programs that use the functions that libcodectl-preload replaces,
# without LIBRARY and with it preloaded, and compares the results test by test: all suites,
# or those that are named. A suite that differs is run once more on both sides, since some
# tests depend on time. OUT gets the results. Fails if a suite differs twice, or has no
# results. Needs no codectl(2). The suites, and the packages that they need:
#
#   python      libpython3-testsuite: ctypes, threads, fork, faulthandler
#   llvmlite    python3-llvmlite
#   numba       python3-numba; some of its tests
#   perl        perl, and its source in PERL_SOURCE: some of its operators, and threads
#   exceptions  g++: exceptions in threads, in plugins, and through them
#   postgresql  postgresql: queries whose expressions are all compiled, and with
#               POSTGRESQL_SOURCE, which is built there, its regression tests

# Functions called by composed names look unreachable:
# shellcheck disable=SC2317

set -u

here=$(cd "$(dirname "$0")" && pwd)
all="python llvmlite numba perl exceptions postgresql"

die()
{
	echo "suites: $*" >&2
	exit 2
}

if [ $# -lt 2 ] || [ ! -r "$1" ]; then
	die "usage: suites.sh LIBRARY OUT [SUITE...]"
fi
library=$(realpath "$1") out=$2
shift 2
mkdir -p "$out" || exit 2
out=$(realpath "$out")
# Both sides get the same order of hashes.
export LC_ALL=C PYTHONHASHSEED=0 PERL_HASH_SEED=0

# Each of these writes to stdout, among other lines, "RESULT test result" for each test;
# "preload" is the LD_PRELOAD to set.

# unittest_results - from the output of unittest -v, without times
unittest_results()
{
	sed -n -E 's/[0-9.]+ usec//; s/^(test[A-Za-z0-9_]* \([^)]*\)).* \.\.\. (.*)$/RESULT \1 \2/p'
}

run_python()
{
	local test

	# Run separately, so that a test that hangs can be killed.
	for test in test_ctypes test_threading test_fork1 test_faulthandler test_mmap test_thread; do
		env "${preload[@]}" setsid -w timeout -k 5 300 python3 -u -m test -v "$test" 2>&1 | unittest_results
		echo "RESULT $test ended ${PIPESTATUS[0]}"
	done
}

run_llvmlite()
{
	env "${preload[@]}" python3 -m llvmlite.tests -v 2>&1 | unittest_results
}

run_numba()
{
	env "${preload[@]}" NUMBA_DISABLE_PERFORMANCE_WARNINGS=1 python3 -m numba.runtests -v \
		numba.tests.test_{casting,cfunc,closure,exceptions} 2>&1 | unittest_results
}

run_perl()
{
	local test

	cd "${PERL_SOURCE:?suites: it has to say where the source of perl is}/t" || return
	for test in op/[a-h]*.t ../dist/threads/t/*.t ../dist/threads-shared/t/*.t; do
		# They depend on time.
		case $test in
		*stress* | */blocks.t) continue ;;
		esac
		env "${preload[@]}" setsid -w timeout -k 5 300 perl -I. "$test" 2> /dev/null | tr -d '\0' |
			sed -n -E "s|^((not )?ok [0-9]+).*|RESULT ${test//|/} \\1|p"
		echo "RESULT $test ended ${PIPESTATUS[0]}"
	done
}

run_exceptions()
{
	g++ -O2 -pthread -o "$out/throws" "$here/suites/throws.cc" &&
		env "${preload[@]}" "$out/throws"
}

# as_server COMMAND... - as a user for whom PostgreSQL runs
as_server()
{
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid nobody --regid nogroup --clear-groups "$@"
	else
		"$@"
	fi
}

run_queries()
{
	local query

	as_server "$bin/psql" -h "$data" -d postgres -X -q -A -t -F '|' -v ON_ERROR_STOP=0 \
		-f "$here/suites/jit.sql" 2>&1 | awk '{ print "RESULT", NR, $0 }'
	for query in 'SHOW jit_above_cost' 'SELECT pg_jit_available()'; do
		echo "RESULT $query $(as_server "$bin/psql" -h "$data" -d postgres -X -A -t -c "$query")"
	done
}

run_regress()
{
	local regress=$POSTGRESQL_SOURCE/src/test/regress

	(cd "$regress" && as_server ./pg_regress --bindir="$bin" --dlpath="$regress" --host="$data" \
		--inputdir="$regress" --outputdir="$data" --schedule="$regress/serial_schedule" \
		--max-concurrent-tests=1 2>&1) |
		sed -n -E 's/^((not )?ok) +[0-9]+ +[-+] ([a-z0-9_]+) .*/RESULT \3 \1/p
			s/^test ([a-z0-9_]+) +\.\.\. ([a-zA-Z]+).*/RESULT \1 \2/p'
}

run_postgresql()
{
	local bin data

	bin=$(echo /usr/lib/postgresql/*/bin)
	data=$(mktemp -d /tmp/suites.XXXXXX) && chmod 777 "$data" || return
	as_server "$bin/initdb" -D "$data/data" -E UTF8 --no-locale > "$data/log" 2>&1 &&
		as_server env "${preload[@]}" "$bin/postgres" -D "$data/data" -c jit=on \
			-c jit_above_cost=0 -c jit_inline_above_cost=0 -c jit_optimize_above_cost=0 \
			-c listen_addresses= -c unix_socket_directories="$data" -c fsync=off \
			-c timezone=UTC >> "$data/log" 2>&1 &
	for _ in $(seq 300); do
		! as_server "$bin/psql" -h "$data" -d postgres -X -c 'SELECT 1' > /dev/null 2>&1 || break
		sleep 1
	done
	run_queries
	[ -z "${POSTGRESQL_SOURCE:-}" ] || run_regress
	as_server "$bin/pg_ctl" -D "$data/data" -m fast -w stop >> "$data/log" 2>&1
	echo "RESULT server ended $?"
	wait
	rm -rf "$data"
}

# results SUITE SIDE - as a sorted list
results()
{
	local preload=()

	[ "$2" = without ] || preload=("LD_PRELOAD=$library")
	(run_"$1") > "$out/$1.$2.log" 2>&1 < /dev/null
	sed -n 's/^RESULT //p' "$out/$1.$2.log" | sort > "$out/$1.$2"
}

# compare SUITE
compare()
{
	results "$1" without
	results "$1" with
	[ -s "$out/$1.without" ] || return
	diff "$out/$1.without" "$out/$1.with" > "$out/$1.diff"
}

suites=("$@")
[ $# -gt 0 ] || read -r -a suites <<< "$all"
failed=0
for suite in "${suites[@]}"; do
	declare -F "run_$suite" > /dev/null || die "no such suite: $suite (there are: $all)"
	again=
	compare "$suite" || { again=', the second time'; compare "$suite"; } || failed=1
	if [ ! -s "$out/$suite.without" ]; then
		echo "$suite: FAILED: no results, see $out/$suite.without.log"
	elif [ -s "$out/$suite.diff" ]; then
		echo "$suite: FAILED: $(wc -l < "$out/$suite.without") results, see $out/$suite.diff"
	else
		echo "$suite: $(wc -l < "$out/$suite.without") results, the same with the preload$again"
	fi
done
exit $failed
