#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-tests.sh LIST SECONDS [PATTERNS]
#
# Runs in the guest every test of the list that list-tests.sh has made, or those
# whose names match one of PATTERNS, whether they exist or not, and prints their TAP
# one after the other, framed by lines that tap-summary.awk reads:
#
#	# plan PROGRAM...
#	# begin PROGRAM
#	# end PROGRAM STATUS
#
# Tests named in TESTS_DONE are left out. Processes that a test has left are killed.

list=$1 seconds=$2 only=${3:-*}

programs=''
# Patterns match the names of tests, not files.
set -f
while read -r name path; do
	case " ${TESTS_DONE:-} " in
	*" $name "*) continue ;;
	esac
	for pattern in $only; do
		# shellcheck disable=SC2254
		case $name in
		$pattern) programs="$programs $name=$path"; break ;;
		esac
	done
done < "$list"
set +f

# Processes left by a killed test would take CPU time from all later tests.
kill_rest()
{
	grep -lsz "^RUN_TESTS=$$/$1\$" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do
		command=$(tr '\0' ' ' < "/proc/$pid/cmdline")
		# busybox's timeout stays for up to a second.
		case $command in "timeout -s KILL "*) continue ;; esac
		echo "# left: $command"
		kill -KILL "$pid"
	done 2> /dev/null
}

printf '# plan'
for program in $programs; do
	printf ' %s' "${program%%=*}"
done
echo

TEST_TIME_SCALE=${TEST_TIME_SCALE:-1}
export TEST_TIME_SCALE

for program in $programs; do
	name=${program%%=*} path=${program#*=}
	echo "# begin $name"
	[ ! -w /dev/kmsg ] || echo "codectl-guest: test $name" > /dev/kmsg
	case $name in
	kunit-*)
		cat "$path" 2>&1 ;;
	*)
		cd "${path%/*}" && RUN_TESTS=$$/$name timeout -s KILL "$seconds" "$path" 2>&1 ;;
	esac
	status=$?
	kill_rest "$name"
	echo "# end $name $status"
done
