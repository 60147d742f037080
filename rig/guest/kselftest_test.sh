#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The tests as a collection of kselftest, by its own runner.  Prints TAP.

# Functions are called by name.
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../scripts/check/tap.sh
. "$here/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

runner=$here/run_kselftest.sh

# The list has exactly the installed tests.
lists_what_is_there()
{
	(cd "$here/codectl" && printf 'codectl:%s\n' *_test) | sort > "$work/there"
	sh "$runner" -l | sort | diff "$work/there" -
}

# says LINE... - are the lines in the log of the last run?
says()
{
	for line; do
		grep -qxF "$line" "$work/log" || {
			tail -n 5 "$work/log"
			return 1
		}
	done
}

passes()
{
	sh "$runner" -t codectl:abi_test -t codectl:unwind_static_test > "$work/log"
	says "# timeout set to 0" "ok 1 selftests: codectl: abi_test" \
		"ok 2 selftests: codectl: unwind_static_test"
}

# From here on, the kernel registers nothing.
fails_where_the_kernel_does()
{
	echo 0 > /proc/sys/kernel/codectl || return
	sh "$runner" -t codectl:abi_test > "$work/log"
	status=$?
	echo 1 > /proc/sys/kernel/codectl
	[ "$status" -ne 0 ] && says "not ok 1 selftests: codectl: abi_test # exit=1"
}

run "the list names the tests that are installed" lists_what_is_there
run "tests are run as they ask to be, and pass" passes
run "a test that fails is said to" fails_where_the_kernel_does
finish
