#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that tap-summary.awk lets no failure pass. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

# expect NAME STATUS LAST-LINE, with the stream on standard input
expect()
{
	local output status

	cat > "$work/stream.tap"
	output=$(awk -f "$here/../check/tap-summary.awk" "$work/stream.tap")
	status=$?
	echo "# status $status: ${output//$'\n'/; }"
	[ "$status $(tail -n 1 <<< "$output")" = "$2 $3" ]
	result $? "$1"
}

lines()
{
	printf '%s\n' "$@"
}

expect "all pass" 0 '2 passed, 0 failed' \
	< <(lines '1..2' 'ok 1 a' 'ok 2 b')
expect "the plan comes last" 0 '2 passed, 0 failed' \
	< <(lines 'ok 1 a' 'ok 2 b' '1..2')
expect "one fails" 1 '1 passed, 1 failed' \
	< <(lines '1..2' 'ok 1 a' 'not ok 2 b')
expect "a skipped test" 1 '0 passed, 1 failed' \
	< <(lines '1..1' 'ok 1 a # SKIP no feature')
expect "results are missing" 1 '1 passed, 1 failed' \
	< <(lines '1..3' 'ok 1 a')
expect "more than planned" 1 '2 passed, 1 failed' \
	< <(lines '1..1' 'ok 1 a' 'ok 2 b')
expect "no plan" 1 '1 passed, 1 failed' \
	< <(lines 'ok 1 a')
expect "no result" 1 '0 passed, 1 failed' \
	< <(lines 'noise')
expect "an empty file" 1 '0 passed, 1 failed' < /dev/null
expect "two programs" 0 '2 passed, 0 failed' \
	< <(lines '# plan x y' '# begin x' '1..1' 'ok 1 a' '# end x 0' '# begin y' '1..1' 'ok 1 b' '# end y 0')
expect "a program was not run" 1 '1 passed, 1 failed' \
	< <(lines '# plan x y' '# begin x' '1..1' 'ok 1 a' '# end x 0')
expect "a program did not end" 1 '1 passed, 1 failed' \
	< <(lines '# plan x' '# begin x' '1..1' 'ok 1 a')
expect "a program crashed after its results" 1 '1 passed, 1 failed' \
	< <(lines '# plan x' '# begin x' '1..1' 'ok 1 a' '# end x 139')
expect "a failing program counts once" 1 '1 passed, 1 failed' \
	< <(lines '# plan x' '# begin x' '1..2' 'ok 1 a' 'not ok 2 b' '# end x 1')
expect "a program gave nothing" 1 '0 passed, 1 failed' \
	< <(lines '# plan x' '# begin x' '# end x 0')
expect "no program" 1 '0 passed, 1 failed' \
	< <(lines '# plan')
expect "the form of kselftest" 0 '1 passed, 0 failed' \
	< <(lines '# plan x' '# begin x' 'TAP version 13' '1..1' '# Starting 1 tests' '#  RUN           t.a ...' '#            OK  t.a' 'ok 1 t.a' '# Totals: pass:1 fail:0' '# end x 0')
expect "the form of KUnit" 1 '0 passed, 1 failed' \
	< <(lines '# plan x' '# begin x' 'KTAP version 1' '1..1' '    KTAP version 1' '    1..2' '    ok 1 case' '    not ok 2 case' 'not ok 1 suite' '# end x 0')
expect "a case that KUnit has skipped" 1 '1 passed, 1 failed' \
	< <(lines '# plan x' '# begin x' 'KTAP version 1' '1..1' '    KTAP version 1' '    1..2' '    ok 1 case' '    ok 2 case # SKIP no memory' '# suite: pass:1 fail:0 skip:1 total:2' 'ok 1 suite' '# end x 0')
expect "cases that KUnit has not skipped" 0 '1 passed, 0 failed' \
	< <(lines '# plan x' '# begin x' 'KTAP version 1' '1..1' '    KTAP version 1' '    1..2' '    ok 1 case' '    ok 2 skip_of_a_table' 'ok 1 suite' '# end x 0')

# says NAME LAST-LINES, with the stream on standard input
says()
{
	cat > "$work/stream.tap"
	awk -f "$here/../check/tap-summary.awk" "$work/stream.tap" > "$work/said"
	diff "$work/said" <(echo "$2") | sed 's/^/# /'
	result "${PIPESTATUS[0]}" "$1"
}

says "what was said before the failure" \
'FAILED: x: b
    | # expected 1
    | # got 2
1 passed, 1 failed' \
	< <(lines '# plan x' '# begin x' '1..2' '# fine' 'ok 1 a' '# expected 1' '# got 2' 'not ok 2 b' '# end x 1')
says "the last words of a program that crashed" \
'FAILED: x: 1 results of 2 planned
    | Segmentation fault
1 passed, 1 failed' \
	< <(lines '# plan x' '# begin x' '1..2' 'ok 1 a' 'Segmentation fault' '# end x 139')
[ "$(for test in $(seq 80); do
	seq 100
	echo "not ok $test t"
done | awk -f "$here/../check/tap-summary.awk" - | grep -c '|')" = 0 ]
result $? "nothing of what was said where much failed"
awk -f "$here/../check/tap-summary.awk" <(seq 100; echo "not ok 1 t") > "$work/said"
[ "$(wc -l < "$work/said") $(tail -n 2 "$work/said" | head -n 1)" = '52     | 100' ]
result $? "only the end of what was said"
finish
