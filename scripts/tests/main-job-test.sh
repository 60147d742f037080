#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that stacks.awk and report.awk of the main job lose no sample, on constructed recordings.
# Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
demo=$here/../../demo
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

# samples NUMBER [FRAME...] - as perf script prints them
samples()
{
	local number=$1 frame text=$'job 77 1.000001: \n'
	shift

	for frame; do
		text+=$'\t'"$frame"$'\n'
	done
	for ((; number; number--)); do
		printf '%s\n' "$text"
	done
}

complete=('4011d0 compare (/usr/bin/job)' '7f0010 qsort (/usr/lib64/libc.so.6)'
	'401200 main (/usr/bin/job)' '401050 _start (/usr/bin/job)')
kernel='ffffffff81000000 do_something ([kernel.kallsyms])'
compiled='7f1010 jit:a.b@1 (/tmp/perf-77.map)'

# count FACT - prints its value for the stacks on standard input
count()
{
	awk -v want='^compare$' -f "$demo/stacks.awk" | sed -n "s/^$1 //p"
}

# expect_facts NAME SAMPLES [FACT VALUE]...
expect_facts()
{
	local name=$1 wrong='' value
	shift

	cat > "$work/script"
	while [ $# -gt 0 ]; do
		value=$(count "$1" < "$work/script")
		[ "$value" = "$2" ] || wrong+="# $1 is '$value', not '$2'"$'\n'
		shift 2
	done
	printf %s "$wrong"
	[ -z "$wrong" ]
	result $? "$name"
}

expect_facts "whole stacks" user-mode 3 user-mode-complete 3 no-user-stack 0 \
	'inside compare' '3 3' < <(samples 3 "${complete[@]}")
expect_facts "one that ends early" user-mode 3 user-mode-complete 2 'inside compare' '3 2' \
	< <(samples 2 "${complete[@]}"; samples 1 "${complete[@]:0:2}")
expect_facts "one that misses main" user-mode-complete 1 'inside compare' '1 0' \
	< <(samples 1 "${complete[@]:0:2}" "${complete[3]}")
expect_facts "empty ones were taken in user mode, and are incomplete" \
	samples 5600 user-mode 5600 user-mode-complete 600 no-user-stack 5000 \
	'ends 5000' '(no user stack)' < <(samples 600 "${complete[@]}"; samples 5000)
expect_facts "an empty one at the end" user-mode 2 user-mode-complete 1 \
	< <(samples 1 "${complete[@]}"; samples 1)
expect_facts "a cookie for which no chain came" user-mode 1 user-mode-complete 0 \
	< <(samples 1 '1f00000001 [unknown] ([unknown])')
expect_facts "samples in the kernel" samples 4 user-mode 0 no-user-stack 1 user-stacks 3 \
	< <(samples 3 "$kernel" "${complete[@]}"; samples 1 "$kernel")
expect_facts "compiled code and C below it" 'inside compiled-code' '2 1' \
	'inside C-below-compiled-code' '3 2' < <(
		samples 1 "$compiled" "${complete[@]}"
		samples 1 "$compiled"
		samples 2 "${complete[0]}" "$compiled" "${complete[@]:1}"
		samples 1 "${complete[0]}" "$compiled")

# facts MODE PROGRAM NUMBER WHOLE [KEY]... - prints all facts of a program
facts()
{
	local mode=$1 program=$2 number=$3 whole=$4 key
	shift 4

	for key in samples user-mode user-stacks; do
		echo "$mode $program $key $number"
	done
	for key in user-mode user-stacks; do
		echo "$mode $program $key-complete $whole"
	done
	for key; do
		echo "$mode $program inside $key $number $whole"
	done
}

# expect_report NAME STATUS SAID PROGRAM, with facts on standard input
expect_report()
{
	local output status

	output=$(awk -v programs="$4" -f "$demo/report.awk" -)
	status=$?
	grep FAILED <<< "$output" | sed 's/^/#/'
	[ $status = "$2" ] && { [ -z "$3" ] || grep -q -e "FAILED: $4: $3" <<< "$output"; }
	result $? "$1"
}

# chain NUMBER WHOLE [OFF [OFF-WHOLE]]
chain()
{
	facts on chain "$1" "$2" compare
	facts off chain "${3:-$1}" "${4:-0}" compare
}

expect_report "all whole" 0 '' chain < <(chain 2000 2000)
expect_report "one in a thousand is missing" 0 '' chain < <(chain 2000 1998)
expect_report "one more than that" 1 '99.9 %.*: 1997 of 2000' chain < <(chain 2000 1997)
expect_report "so too with more samples" 1 '99.9 %.*: 9989 of 10000' chain < <(chain 10000 9989)
expect_report "too few samples" 1 'at least 2000 .* inside compare, codectl on: 1999' chain \
	< <(chain 1999 1999)
expect_report "too few with codectl=off" 1 'at least 2000 .*, codectl=off: 1999' chain \
	< <(chain 2000 2000 1999)
expect_report "a whole one with codectl=off" 1 'none of those inside compare' chain \
	< <(chain 2000 2000 2000 1)
expect_report "no sample in the function" 1 'samples in every comparison function: 0' chain \
	< <(facts on chain 2000 2000; facts off chain 2000 0)
expect_report "no facts" 1 'at least 2000' chain < /dev/null
expect_report "99 % of the shell of sqlite" 0 '' sqlite3 < <(facts on sqlite3 2000 1980)
expect_report "one less" 1 '99 %.*: 1979 of 2000' sqlite3 < <(facts on sqlite3 2000 1979)

# jit NUMBER WHOLE BELOW-WHOLE [OFF-WHOLE]
jit()
{
	facts on jit-demo "$1" "$2" compiled-code
	echo "on jit-demo inside C-below-compiled-code $1 $3"
	facts off jit-demo "$1" "${4:-0}" compiled-code rt_spin
}

expect_report "compiled code" 0 '' jit-demo < <(jit 2000 1998 2000 20)
for what in "the samples in user mode" "those in compiled code"; do
	expect_report "over two in 2000 of $what are missing" 1 "99.9 % of $what .*: 1997 of 2000" \
		jit-demo < <(jit 2000 1997 2000)
done
expect_report "one below compiled code is missing" 1 'all samples below .*: 1999 of 2000' jit-demo \
	< <(jit 2000 2000 1999)
for what in "in user mode, codectl on" "in compiled code, codectl on" \
	"in compiled code, codectl=off" "below compiled code, codectl on"; do
	expect_report "too few $what" 1 "at least 2000 samples $what: 1999" jit-demo \
		< <(jit 1999 1999 1999)
done
for what in compiled-code rt_spin; do
	expect_report "over 1 % of $what with codectl=off" 1 "at most 1 % .* in $what .*: 21 of 2000" \
		jit-demo < <(jit 2000 2000 2000 21)
done
finish
