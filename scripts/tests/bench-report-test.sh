#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that bench-report.awk reports each bound that does not hold. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"
mkdir "$work/plots"

figures()
{
	printf 'run\tgroup\t%s\t%s\t%s\tinsns\n' "$@" > "$work/figures.tsv"
}

# report BOUND... - the fields of one bound, or none
report()
{
	(IFS=$'\t'; echo "${*:-#}") > "$work/bounds"
	gawk -v out="$work" -v some="${some:-0}" -f "$here/../bench/bench-report.awk" "$work/bounds" \
		"$work/figures.tsv" > "$work/report.md"
}

# expect NAME STATUS LAST-LINE BOUND...
expect()
{
	local name=$1 status last

	report "${@:4}"
	status=$?
	last=$(tail -n 1 "$work/report.md")
	echo "# status $status: $last"
	[ "$status $last" = "$2 $3" ]
	result $? "$name"
}

figures ours 8 150 theirs 8 100 ours 64 1000 theirs 64 1001
expect "a ratio that is met to the digit" 0 '1 of 1 bounds hold' \
	name group/ours/8 ratio group/theirs/8 1.5
expect "a ratio that is missed" 1 '0 of 1 bounds hold; name is 1.5 x of at most 1.49 x' \
	name group/ours/8 ratio group/theirs/8 1.49
expect "percent dearer, met" 0 '1 of 1 bounds hold' \
	name group/theirs/64 percent group/ours/64 1
expect "percent dearer, missed" 1 '0 of 1 bounds hold; name is 50 % of at most 49 %' \
	name group/ours/8 percent group/theirs/8 49
expect "at most, met" 0 '1 of 1 bounds hold' name group/ours/8 most - 150
expect "at most, missed" 1 '0 of 1 bounds hold; name is 150 of at most 149' name group/ours/8 most - 149
expect "a miss that is known" 1 '0 of 1 bounds hold; name is 150 of at most 149 (of this much)' \
	name group/ours/8 most - 149 'of this much'
expect "a known miss that is none" 0 '1 of 1 bounds hold' name group/ours/8 most - 150 'of this much'
expect "a figure that is not there" 1 '0 of 1 bounds hold; name was not measured' \
	name group/ours/9 ratio group/theirs/8 100
expect "another that is not there" 1 '0 of 1 bounds hold; name was not measured' \
	name group/ours/8 ratio group/none/8 100
expect "nobody knows how to compare" 1 '0 of 1 bounds hold; name was not measured' \
	name group/ours/8 factor group/theirs/8 100

some=1 expect "some runs need not have all figures" 0 '0 of 0 bounds hold; 1 were not measured' \
	name group/ours/9 ratio group/theirs/8 100
some=1 expect "but hold their bounds" 1 '0 of 1 bounds hold; name is 1.5 x of at most 1.49 x' \
	name group/ours/8 ratio group/theirs/8 1.49

report name group/ours/8 ratio group/theirs/8 1.49
grep -q -F '| name | group/ours/8 | group/theirs/8 | 1.5 | 1.49 x | MISSED |' "$work/report.md"
result $? "the missed figure stands beside its limit"
grep -q '"name": "name", "is": 1.5, "limit": 1.49, "met": false' "$work/results.json"
result $? "and in what machines read"
grep -q -F '| ours | 150 | 1000 | insns |' "$work/report.md"
result $? "a table has a column for each x, ascending"
grep -q -F "\`make bench RUNS='run'\` at unknown" "$work/report.md"
result $? "and is of no commit where the results name none"

printf '%s\t%s\n' "$(sed 1q "$work/figures.tsv")" 0123456789ab > "$work/new.tsv"
sed -n '2p' "$work/figures.tsv" | sed 's/^run/again/; s/$/\tba9876543210-dirty/' >> "$work/new.tsv"
mv "$work/new.tsv" "$work/figures.tsv"
report name group/ours/8 ratio group/theirs/8 2
grep -q -F "\`make bench RUNS='run again'\` at 0123456789ab ba9876543210-dirty" "$work/report.md"
result $? "or of each that they have, by the runs that it is from"
grep -q -F "\`make bench\` at 0123456789ab ba9876543210-dirty" "$work/report.md"
result $? "and so are the bounds"
grep -q '"case": "theirs".*"commit": "ba9876543210-dirty"' "$work/results.json"
result $? "and in what machines read"
finish
