#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that the results of upstream suites are read and compared correctly. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

# reads NAME EXPECTED, with a suite's output on standard input
reads()
{
	local output

	output=$(awk -f "$here/../check/suite-results.awk")
	echo "# ${output//$'\n'/; }"
	[ "$output" = "$2" ]
	result $? "$1"
}

# runs BEFORE... AFTER... - words like "pass:a/b"; the same number of runs before and after
runs()
{
	local i n=$(($# / 2)) side=before

	rm -f "$work"/x.*
	for ((i = 1; i <= $#; i++)); do
		[ $i -le $n ] || side=after
		# shellcheck disable=SC2086
		printf '%s\n' ${!i} | sed -e '/^$/d' -e 's/:/ /' > \
			"$work/x.$side.$(((i - 1) % n + 1))"
	done
}

# compare VARIABLE=VALUE - of the last runs
compare()
{
	awk -v suite="${suite:-kselftest-x}" -v "$1" -f "$here/../check/compare-suites.awk" \
		"$work"/x.{before,after}.*
}

# expect NAME STATUS ROW SAID - of the last runs
expect()
{
	local said status

	: > "$work/table"
	said=$(compare table="$work/table")
	status=$?
	echo "# status $status: $(cat "$work/table") ${said//$'\n'/; }"
	[ "$status $(cut -d'|' -f3- "$work/table" | tr -d ' |')" = "$2 $3" ] &&
		case $said in *"$4"*) ;; *) false ;; esac
	result $? "$1"
}

# repeats NAME WHAT TESTS - of the last runs
repeats()
{
	local tests

	tests=$(compare list="$2" | tr '\n' ' ')
	echo "# $tests"
	[ "$tests" = "$3" ]
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

runs 'pass:a/x pass:a' 'pass:a/x pass:a'
expect "all pass" 0 2/0/02/0/0000 ''
runs 'fail:a/x fail:a' 'fail:a/x fail:a' 'fail:a/x fail:a pass:b' 'fail:a/x fail:a'
expect "what fails before as well is named" 1 0/2/01/2/0200 'fails before and after: a/x, a'
runs 'pass:b fail:a/x fail:a' 'fail:a/x fail:a' 'pass:b fail:a/x fail:a' 'fail:a/x fail:a'
expect "and is no new failure" 0 1/2/01/2/0200 'fails before and after: a/x, a'
runs 'pass:b pass:a' 'pass:a' 'pass:b fail:a' 'fail:a'
expect "what fails only after" 1 2/0/01/1/0001 'newly failing (before; after): a (2 pass; 2 fail)'
runs 'pass:b pass:a' 'pass:a' 'pass:b skip:a' 'skip:a'
expect "what is skipped only after" 1 2/0/01/0/1001 'a (2 pass; 2 skip)'
runs 'pass:b pass:a' 'pass:a' 'pass:b' ''
expect "what is not run after" 1 2/0/01/0/0001 'a (2 pass; 2 none)'
runs 'pass:b' '' 'pass:b fail:a' 'fail:a'
expect "a new test that fails" 1 1/0/01/1/0001 'a (2 none; 2 fail)'
runs 'pass:b' '' 'pass:b skip:a' 'skip:a'
expect "a new test that is skipped" 0 1/0/01/0/1000 ''
runs 'pass:b skip:a' 'skip:a' 'pass:b fail:a' 'fail:a'
expect "what fails instead of being skipped" 1 1/0/11/1/0001 'a (2 skip; 2 fail)'
runs 'pass:b fail:a' 'fail:a' 'pass:b pass:a' 'pass:a'
expect "what fails only before" 0 1/1/02/0/0000 'fails only before: a'
runs 'pass:b pass:a' 'pass:a' 'pass:a' 'pass:b fail:a' 'pass:a' 'pass:a'
expect "what fails sometimes, and only after" 1 2/0/01/1/0001 'a (3 pass; 2 pass 1 fail)'
runs 'pass:b pass:a' 'pass:a' 'fail:a' 'pass:b fail:a' 'fail:a' 'fail:a'
expect "what always fails after, and sometimes before" 0 2/0/01/1/0010 \
	'unstable (before; after): a (2 pass 1 fail; 3 fail)'
runs 'pass:b fail:a' 'pass:a' 'pass:b pass:a' 'pass:a'
expect "what fails sometimes, and only before" 0 1/1/02/0/0010 'a (1 pass 1 fail; 2 pass)'
runs 'pass:b pass:a/x pass:a' 'pass:a/x pass:a' 'pass:b fail:a' 'pass:a/x pass:a'
expect "a part that is missing once" 1 3/0/01/1/0002 'a/x (2 pass; 1 pass 1 none), a (2 pass;'
runs 'pass:b pass:a/x pass:a' 'pass:a' 'pass:b pass:a/x pass:a' 'pass:a/x pass:a'
expect "and only before" 0 3/0/03/0/0010 'a/x (1 pass 1 none; 2 pass)'
suite=glibc-x
runs 'pass:elf/b fail:elf/a' 'fail:elf/a' 'pass:elf/b fail:elf/a' 'fail:elf/a'
expect "names of glibc are no parts" 0 1/1/01/1/0100 'fails before and after: elf/a'
suite=''
runs 'pass:a' ''
expect "nothing ran after" 1 1/0/00/0/0001 'nothing passed'
runs '' ''
expect "nothing ran" 1 0/0/00/0/0000 'nothing passed'

runs 'pass:a pass:the-run' 'pass:a pass:the-run'
expect "runs that come to their end are no tests" 0 1/0/01/0/0000 ''
runs 'pass:a fail:the-run' 'pass:a fail:the-run'
expect "a guest that dies on both sides" 1 1/0/01/0/0000 'did not come to an end: before 1, after 1'
runs 'pass:a pass:the-run' 'fail:the-run' 'pass:a pass:the-run' 'pass:the-run'
expect "a guest that dies later, and only before" 1 1/0/01/0/0000 'end: before 2'
runs 'pass:a pass:the-kernel-log' 'pass:a fail:the-kernel-log'
expect "a splat after" 1 1/0/01/0/0001 'the-kernel-log (1 pass; 1 fail)'
runs 'pass:a fail:the-kernel-log' 'pass:a fail:the-kernel-log'
expect "a splat on both sides" 0 1/0/01/0/0100 'before and after: the-kernel-log'
repeats "does not have the guest repeated" doubtful ''

runs 'pass:p skip:s pass:a/x fail:a fail:b' 'pass:p skip:s pass:a/x fail:a pass:b pass:c'
repeats "what fails or differs is repeated, as a whole" doubtful 'a b c '
runs 'pass:p fail:a fail:b pass:c' 'fail:a fail:b pass:c' \
	'pass:p fail:a pass:b fail:c' 'fail:a fail:b fail:c'
repeats "and then what is not settled" unsettled 'b c '
finish
