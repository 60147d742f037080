#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests check-dmesg.sh on the logs in cases/: the first word of a case's name
# is the finding it must get. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
check=$here/check-dmesg.sh
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"

expect()
{
	local want=$1 name=$2
	shift 2

	"$@" > "$work/output" 2>&1
	[ $? -eq "$want" ]
	result $? "$name"
}

test_cases()
{
	local case name

	for case in "$here"/cases/*.log; do
		name=$(basename "$case" .log)
		case $name in
		clean-*) expect 0 "$name" "$check" "$case" ;;
		splat-*) expect 1 "$name" "$check" "$case" ;;
		unusable-*) expect 2 "$name" "$check" "$case" ;;
		*) result 1 "$name has no finding in its name" ;;
		esac
	done
}

# Each pattern must match a case: errors in others would go unnoticed.
test_patterns()
{
	local list pattern

	for list in deny allow; do
		while IFS= read -r pattern; do
			grep -a -q -E -e "$pattern" "$here"/cases/*.log
			result $? "$list pattern has a case: ${pattern//#/ }"
		done < <(grep -v -e '^#' -e '^$' "$here/dmesg-$list.list")
	done
}

test_bad_lists()
{
	local log=$here/cases/splat-warn.log

	echo '# nothing' > "$work/empty"
	echo '(' > "$work/bad"
	expect 2 "empty deny list" env DMESG_DENY="$work/empty" "$check" "$log"
	expect 2 "bad deny pattern" env DMESG_DENY="$work/bad" "$check" "$log"
	expect 2 "missing deny list" env DMESG_DENY="$work/none" "$check" "$log"
	expect 2 "bad allow pattern" env DMESG_ALLOW="$work/bad" "$check" "$log"
	expect 1 "empty allow list" env DMESG_ALLOW="$work/empty" "$check" "$log"
	expect 2 "missing log" "$check" "$work/none"
	expect 2 "no argument" "$check"
}

test_cases
test_patterns
test_bad_lists
finish
