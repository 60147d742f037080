#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that what others' suites say is read and compared as it has to be.
# Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../tap.sh
. "$here/../tap.sh"

# reads NAME EXPECTED, with a suite's output on standard input
reads()
{
	local output

	output=$(awk -f "$here/../suite-results.awk")
	echo "# ${output//$'\n'/; }"
	[ "$output" = "$2" ]
	result $? "$1"
}

# runs BEFORE BEFORE-AGAIN AFTER AFTER-AGAIN - words like "pass:a/b"
runs()
{
	local run

	for run in 1 2 3 4; do
		# shellcheck disable=SC2086
		printf '%s\n' ${!run} | sed -e '/^$/d' -e 's/:/ /' > "$work/run$run"
	done
}

# expect NAME STATUS ROW SAID - of the last runs
expect()
{
	local said status

	: > "$work/table"
	said=$(awk -v suite="${suite:-kselftest-x}" -v table="$work/table" \
		-f "$here/../compare-suites.awk" "$work"/run[1-4])
	status=$?
	echo "# status $status: $(cat "$work/table") ${said//$'\n'/; }"
	[ "$status $(cut -d'|' -f3- "$work/table" | tr -d ' |')" = "$2 $3" ] &&
		case $said in *"$4"*) ;; *) false ;; esac
	result $? "$1"
}

reads "tests and their parts" $'pass a/x\nfail a/y\nfail a\nskip b' <<-END
	# selftests: dir: a
	# TAP version 13
	# ok 1 x
	# not ok 2 - y # exit=3
	not ok 1 selftests: dir: a # exit=1
	# selftests: dir: b
	ok 2 selftests: dir: b # SKIP no feature
END
reads "parts of parts" $'pass t/p/x\nfail t/p/y\nfail t/p\npass t/q\nfail t' <<-END
	# selftests: mm: t
	# # ok 1 x
	# # not ok 2 y
	# not ok 1 p # exit=1
	# ok 2 q
	not ok 1 selftests: mm: t # exit=1
END
reads "a test that did not end" $'pass a/x' <<-END
	# selftests: dir: a
	# ok 1 x
END
reads "names told apart, and freed of addresses" $'pass a/at 0x\npass a/at 0x (2)\npass a' <<-END
	# selftests: dir: a
	# ok 1 at 0x7f00
	# ok 2 at 0x7f04
	ok 1 selftests: dir: a
END
reads "glibc's results" $'pass elf/a\nfail elf/b\nskip elf/c\nskip elf/d\nfail elf/e' <<-END
	PASS: elf/a
	original exit status 0
	FAIL: elf/b
	UNSUPPORTED: elf/c
	XFAIL: elf/d
	# PASS: said by a test
	ERROR: elf/e
END

runs 'pass:a/x pass:a' '' 'pass:a/x pass:a' ''
expect "all pass" 0 2/0/02/0/0000 ''
runs 'fail:a/x fail:a' 'fail:a/x fail:a' 'fail:a/x fail:a pass:b' 'fail:a/x fail:a'
expect "what fails before as well is named" 1 0/2/01/2/0200 'fails before and after: a/x, a'
runs 'pass:b fail:a/x fail:a' 'fail:a/x fail:a' 'pass:b fail:a/x fail:a' 'fail:a/x fail:a'
expect "and is no new failure" 0 1/2/01/2/0200 'fails before and after: a/x, a'
runs 'pass:b pass:a' 'pass:a' 'pass:b fail:a' 'fail:a'
expect "what fails only after" 1 2/0/01/1/0001 'newly failing (before, after): a (pass, fail)'
runs 'pass:b pass:a' 'pass:a' 'pass:b skip:a' 'skip:a'
expect "what is skipped only after" 1 2/0/01/0/1001 'a (pass, skip)'
runs 'pass:b pass:a' 'pass:a' 'pass:b' ''
expect "what is not run after" 1 2/0/01/0/0001 'a (pass, none)'
runs 'pass:b' '' 'pass:b fail:a' 'fail:a'
expect "a new test that fails" 1 1/0/01/1/0001 'a (none, fail)'
runs 'pass:b skip:a' 'skip:a' 'pass:b fail:a' 'fail:a'
expect "what fails instead of being skipped" 1 1/0/11/1/0001 'a (skip, fail)'
runs 'pass:b fail:a' 'fail:a' 'pass:b pass:a' 'pass:a'
expect "what fails only before" 0 1/1/02/0/0000 'fails only before: a'
runs 'pass:b pass:a' 'pass:a' 'pass:b fail:a' 'pass:a'
expect "another result the second time, after" 0 2/0/01/1/0010 'unstable: a'
runs 'pass:b fail:a' 'pass:a' 'pass:b fail:a' 'fail:a'
expect "another result the second time, before" 0 1/1/01/1/0010 'unstable: a'
runs 'pass:b pass:a/x pass:a' 'pass:a/x pass:a' 'pass:b fail:a' 'pass:a/x pass:a'
expect "a part that is missing the first time" 0 3/0/01/1/0020 'unstable: a/x, a'
suite=glibc-x
runs 'pass:elf/b fail:elf/a' 'fail:elf/a' 'pass:elf/b fail:elf/a' 'fail:elf/a'
expect "names of glibc are no parts" 0 1/1/01/1/0100 'fails before and after: elf/a'
runs 'pass:a' '' '' ''
expect "nothing ran after" 1 1/0/00/0/0001 'nothing passed'
runs '' '' '' ''
expect "nothing ran" 1 0/0/00/0/0000 'nothing passed'
finish
