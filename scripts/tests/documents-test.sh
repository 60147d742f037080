#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that the documents agree with the measurements, and name only commands that exist.
# Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=../check/tap.sh
. scripts/check/tap.sh

# The bounds that were missed in the last run, according to the table that bench.sh writes.
# shellcheck disable=SC2016
missed=$(awk -F '|' '/figures: Bounds/, /<!-- end/ { if ($7 ~ /MISSED/) print $2 }' \
	docs/performance.md | xargs)
# shellcheck disable=SC2016
named=$(tr '\n' ' ' < README.md | grep -o 'known to be missed: [^.]*' |
	grep -o '`[^`]*`' | tr -d '`' | xargs)
echo "# missed: $missed; README: $named"
[ "$missed" = "$named" ]
result $? "README names the bounds of the benchmark that are known to be missed"
grep -q 'figures: Bounds' docs/performance.md
result $? "... of a table that is there"
differ=$(diff <(awk -F ' *[|] *' '/figures: Bounds/, /<!-- end/ { if ($2 ~ /^[a-z]/) print $2 }' \
	docs/performance.md) <(sed -n 's/^\([a-z][^\t]*\)\t.*/\1/p' rig/bench/bounds) |
	sed -n 's/^[<>] //p' | xargs)
[ -z "$differ" ]
result $? "... and has each bound, in order${differ:+, but not $differ: make bench, then make fill-bench}"

# Figures of the benchmark are only in the page to which bench.sh writes them.
typed=$(grep -n -E '[0-9] ?(ns|µs|insns)\b' README.md docs/testing.md docs/demands.md \
	docs/adding-codectl-to-your-jit.md)
[ -z "$typed" ]
result $? "figures of the benchmark are written in one place${typed:+, not in $typed}"

# Facts that two pages state must agree.
here=$(grep -o -E 'takes[[:space:]]+[0-9]+ minutes' <(tr '\n' ' ' < README.md))
there=$(grep -o -E 'takes[[:space:]]+[0-9]+ minutes' <(sed '/^|/d' docs/testing.md | tr '\n' ' ') | sed 1q)
echo "# README: check $here; docs/testing.md: $there"
[ -n "$here" ] && [ "$here" = "$there" ]
result $? "README and docs/testing.md agree how long check takes"
differ=$(awk -F '|' '/^\|.*\| [0-9,]+ (tests|cases)[^|]*\|$/ {
		programs = $(NF - 2)
		sub(/;.*/, "", programs)
		if (programs ~ /also static/ || gsub(/_test(\.sh)?`/, "&", programs) != 1)
			next
		match(programs, /[a-z_0-9-]+_test(\.sh)?`/)
		name = substr(programs, RSTART, RLENGTH - 1)
		split($(NF - 1), is, " ")
		if (name in counted && counted[name] != is[1])
			print name
		counted[name] = is[1]
	}' docs/testing.md | xargs)
[ -z "$differ" ]
result $? "docs/testing.md counts no program twice, and differently${differ:+, but $differ}"

said=$(scripts/check/check-figures.sh .)
status=$?
[ -z "$said" ] || printf '# %s\n' "${said//$'\n'/$'\n'# }"
result $status "tables of figures are filled in, and not too old"

# expect_count NAME PROGRAMS SEEN NEW - a row of a page, by the results in $work
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
expect_count()
{
	echo "| a promise | $2 | $3 |" > "$work/page.md"
	output=$(awk -f scripts/check/test-docs.awk "$work"/*.tap "$work/page.md")
	[ "$output" = "| a promise | $2 | $4 |" ] || echo "# $output"
	[ "$output" = "| a promise | $2 | $4 |" ]
	result $? "tests are counted: $1"
}

printf '%s\n' '# plan a_test b_static_test' '# begin a_test' 1..2 'ok 1 x' 'not ok 2 y' '# end a_test 1' \
	'# begin b_test' 1..1 'ok 1 x' '# end b_test 0' '# begin b_static_test' 1..1 'ok 1 x' \
	'# end b_static_test 0' '# begin b_static_pie_test' 1..2 'ok 1 x' 'ok 2 y' '# end b_static_pie_test 0' \
	'# begin kunit-k' 1..1 '    ok 1 x' '    ok 2 y' '        ok 1 z' 'ok 1 k' '# end kunit-k 0' \
	> "$work/guest-fast.tap"
printf '%s\n' '# plan a_test' '# begin a_test' 1..1 'ok 1 x' '# end a_test 0' > "$work/guest-rest.tap"
printf '%s\n' 'ok 1 x' 'ok 2 y' 'ok 3 z' 1..3 | tee "$work/libcodectl-c_test.tap" > "$work/tool.tap"
# shellcheck disable=SC2016
{
	expect_count "by the run that has most" '`a_test`' '9 tests' '2 tests'
	expect_count "of several programs" '`a_test`, `make check-guest T=b_test`' '9 tests; 4 x' '3 tests; 4 x'
	expect_count "not of those after the semicolon" '`a_test`; `b_test`' '9 tests' '2 tests'
	expect_count "linked in three ways" '`b_test`, also static and static-pie' '9 tests' '4 tests'
	expect_count "cases of KUnit" '`kunit-k`' '9 cases' '2 cases'
	expect_count "of the library and of a target" '`make -C x check` (`c_test`), `make check-tool`' \
		'1,000 tests' '6 tests'
	expect_count "not if a program has no result" '`a_test`, `d_test`' '9 tests' '9 tests'
	expect_count "no other number" '`a_test`' '9 of 9' '9 of 9'
}

# Commands in docs/debian.md for a machine with the packages, and in comments.
commands=$(sed -n '/that kernel booted:$/,/^The service/s/^    //p' docs/debian.md |
	sed 's/  *# or once: /\n/; s/^apt /&-y /')
[ "$(wc -l <<< "$commands")" = 4 ]
result $? "docs/debian.md has four commands to install and to record"
missing=$(while read -r command; do
	grep -q -F -- "$command" machine/matrix/packages.sh || echo "$command"
done <<< "$commands")
[ -z "$missing" ]
result $? "... which packages.sh runs as they stand there${missing:+, but for $missing}"

# The container takes its packages from quickstart; its page lists what run.sh reads.
recipe=packaging/container/Containerfile runner=packaging/container/run.sh
grep -q 'quickstart install' $recipe && ! grep -q -E 'apt(-get)?( -[^ ]*)* install' $recipe
result $? "the container has no list of packages of its own"
missing=$(grep -o 'CODECTL_[A-Z_]*' $runner | sort -u | while read -r name; do
	grep -q "^|.*\`$name\`.*|" docs/other-distributions.md || echo "$name"
done)
[ -x $runner ] && [ -z "$missing" ]
result $? "docs/other-distributions.md has each variable of run.sh${missing:+, but for $missing}"

run "each command of README, and make's of the other pages, is there" \
	scripts/check/check-commands.sh "$PWD"
finish
