#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that tables of figures are filled in from reports, and that check-figures.sh finds
# tables that were not filled in, or too long ago. Prints TAP.
#
# The names of commands stand between such quotes in reports:
# shellcheck disable=SC2016

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"
tree=$work/tree
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

commit()
{
	git -C "$tree" add -A && git -C "$tree" commit -q -m change
}

change()
{
	echo x >> "$tree/src/code.c"
	commit
}

commit_of_tree()
{
	"$here/../check/tree-commit.sh" "$tree"
}

# report NAME COMMIT VALUE [COMMAND]
report()
{
	printf '\n## %s\n\n`%s` at %s\n\n| | 8 | unit |\n|---|--:|---|\n| ours | %s | insns |\n' \
		"$1" "${4:-make bench}" "$2" "$3"
}

fill()
{
	"$here/../bench/fill-figures.sh" "$work/report" "${1:-$tree/docs/page.md}" > "$work/said" 2>&1
}

# --- a tree with a page that has a table

mkdir -p "$tree/src" "$tree/docs" "$tree/scripts/check"
git init -q "$tree"
echo code > "$tree/src/code.c"
printf 'docs/page.md\tgroup\t2\tsrc\n' > "$tree/scripts/check/figures.list"
printf '%s\n' before '<!-- figures: group -->' '| old | 1 |' '<!-- end -->' after > "$tree/docs/page.md"
commit
start=$(commit_of_tree)
[[ $start =~ ^[0-9a-f]{12}$ ]]
result $? "a tree has a commit: $start"
echo text >> "$tree/docs/page.md"
[ "$(commit_of_tree)" = "$start" ]
result $? "... where pages have changed, too"
touch "$tree/src/new.c"
[ "$(commit_of_tree)" = "$start-dirty" ]
result $? "... but not where something else has"
rm "$tree/src/new.c"
[ "$("$here/../check/tree-commit.sh" "$tree/src")" = unknown ] &&
	[ "$("$here/../check/tree-commit.sh" "$work")" = unknown ]
result $? "a tree without a history of its own has none"

# --- filling

{ report group "$start" 150; report other "$start" 7; } > "$work/report"
fill
result $? "a table is filled in"
[ "$(xargs < "$tree/docs/page.md")" = "before $(grep '^<!--' "$tree/docs/page.md" | sed 1q | xargs) $(
	sed -n '/^|/p' <(report group x 150) | xargs) <!-- end --> after text" ]
result $? "... in the place of the old one, and nothing else changes"
grep -q "^<!-- figures: group; by make bench; of $start; sum [0-9]* -->$" "$tree/docs/page.md"
result $? "... with its command and its commit"
cp "$tree/docs/page.md" "$work/once.md"
fill && cmp -s "$tree/docs/page.md" "$work/once.md"
result $? "... and is the same when it is filled in again"
report other "$start" 7 > "$work/report"
! fill && cmp -s "$tree/docs/page.md" "$work/once.md"
result $? "a report that has none of the page's tables is an error, and leaves the page"
{ report one "$start" 1 'make a'; report one-two 0123456789ab 2 'make b'; } > "$work/report"
printf '%s\n' '<!-- figures: one one-two -->' '<!-- end -->' > "$work/page.md"
fill "$work/page.md" && grep -q -x "| ours | 1 | 2 |" "$work/page.md" &&
	grep -q "by make a && make b; of $start 0123456789ab; " "$work/page.md"
result $? "several names are one table, of all their commands and commits"
report one "$start" 5 "make bench RUNS='a'" > "$work/report"
printf '%s\n' "<!-- figures: one; by make bench RUNS='a b'; of $start; sum 1 -->" '| x | 1 |' \
	'<!-- end -->' > "$work/page.md"
! fill "$work/page.md" && grep -q "make bench RUNS='b'" "$work/said" && grep -q '^| x | 1 |$' "$work/page.md"
result $? "a table stays as it is if one of its runs was not made"
printf '%s\n' "<!-- figures: one; by make x; of $start; sum 1 -->" '| head | 8 |' '|---|---|' '| x | 1 |' \
	'| ours | 1 |' '<!-- end -->' \
	> "$work/page.md"
report one "$start" 5 'make x' > "$work/report"
! fill "$work/page.md" && grep -q 'no row x' "$work/said" && grep -q '^| x | 1 |$' "$work/page.md"
result $? "... or if one of its rows was not"
sed -i '/| x |/d' "$work/page.md"
fill "$work/page.md" && grep -q '| ours | 5 |' "$work/page.md"
result $? "... and is filled in when that is gone"
sed -i '/end/d' "$work/page.md"
cp "$work/page.md" "$work/once.md"
! fill "$work/page.md" && cmp -s "$work/page.md" "$work/once.md"
result $? "a table without an end is an error, and leaves the page"
printf '%s\n' '<!-- figures: one -->' '<!-- end -->' > "$work/page.md"
printf '## one\n\n`make x` at %s\n\n```\na 1\n\nb 2\n```\n\nsaid\n' "$start" > "$work/report"
fill "$work/page.md"
[ "$(sed 1d "$work/page.md" | tr '\n' ,)" = '```,a 1,,b 2,```,<!-- end -->,' ]
result $? "text within \`\`\` is filled in as it is"

# --- checking

# expect_wrong NAME PATTERN
expect_wrong()
{
	"$tree/check" > "$work/said" 2>&1
	status=$?
	sed 's/^/# /' "$work/said"
	[ $status = 1 ] && grep -q -E "$2" "$work/said"
	result $? "$1"
}

printf '#!/bin/sh\nexec "%s" "%s"\n' "$here/../check/check-figures.sh" "$tree" > "$tree/check"
chmod +x "$tree/check"
commit
run "a table that was filled in is as it should be" "$tree/check"
change
change
run "so is one as old as it may be" "$tree/check"
"$here/../check/check-figures.sh" --ages "$tree" | grep -q "group: 2 changes since $start, of 2: make bench"
result $? "... which says how old it is"
change
expect_wrong "one that is older is not, and the command is named" 'group is 3 changes old, of at most 2: make bench$'
printf 'docs/page.md\tgroup\t-\tsrc\n' > "$tree/scripts/check/figures.list"
run "... unless it may be of any age" "$tree/check"
printf 'docs/page.md\tgroup\t9\tsrc\n' > "$tree/scripts/check/figures.list"

# with_page NAME PATTERN SED - and a page that is changed in this way
with_page()
{
	cp "$tree/docs/page.md" "$work/page.md"
	sed -i -e "$3" "$tree/docs/page.md"
	expect_wrong "$1" "$2"
	cp "$work/page.md" "$tree/docs/page.md"
}

with_page "a figure that somebody has changed" 'page.md:2: group has other figures' 's/| 150 |/| 151 |/'
with_page "a commit that is not there" 'of 0123456789ab, which is not in the history' "s/$start/0123456789ab/"
with_page "a tree that was not committed" "of $start-dirty, which is no commit" "s/$start/$start-dirty/"
with_page "no commit" 'of unknown, which is no commit' "s/$start/unknown/"
with_page "a marker that does not say all" 'marker without names, by, of or sum' 's/; by make bench//'
with_page "a marker without an end" 'marker without an end' '/end/d'
with_page "a table without a marker" 'page.md:[0-9]*: a table of figures without a marker' '/^<!--/d'
with_page "a table that the list does not have" 'does not say what new measures' 's/figures: group/figures: new/'
side=$(git -C "$tree" commit-tree -m side 'HEAD^{tree}')
with_page "a commit of another branch" 'is not in the history' "s/$start/${side:0:12}/"
sed -i 's/ours/mine/' "$tree/docs/page.md"
run "words of a table may change" "$tree/check"
printf '\n| promise | seen |\n|---|---|\n| x | 3 tests |\n\n| | is |\n|---|---|\n| 3 | three |\n' >> "$tree/docs/page.md"
run "what is promised, and rows that are numbered, need no marker" "$tree/check"
printf 'docs/page.md\tgroup\t9\tsrc\ndocs/page.md\tgone\t9\tlost\n' > "$tree/scripts/check/figures.list"
expect_wrong "a line of the list without a table" 'no table is gone of docs/page.md'
expect_wrong "... or for something that is not there" 'gone: there is no lost'
printf 'docs/page.md\tgroup\tfew\tsrc\n' > "$tree/scripts/check/figures.list"
expect_wrong "... or without a limit" 'few is no limit'

# --- less than a whole history

printf 'docs/page.md\tgroup\t2\tsrc\n' > "$tree/scripts/check/figures.list"
commit
git clone -q --depth 1 "file://$tree" "$work/shallow"
"$here/../check/check-figures.sh" "$work/shallow" > "$work/said" && grep -q 'part of the history' "$work/said"
result $? "with a part of a history it says what it cannot check"
rm -rf "$work/shallow/.git"
"$here/../check/check-figures.sh" "$work/shallow" > "$work/said" && grep -q 'no history here' "$work/said"
result $? "... and without one"
sed -i 's/| 150 |/| 151 |/' "$work/shallow/docs/page.md"
! "$here/../check/check-figures.sh" "$work/shallow" > "$work/said" && grep -q 'has other figures' "$work/said"
result $? "... and checks the rest"
finish
