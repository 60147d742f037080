#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests kernel/regen-later.sh on a tree of one file, to which two later patches add. Prints TAP.

# Functions are called by run.
# shellcheck disable=SC2317

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
later=$work/kernel/export/later
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=:
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b

tree()
{
	git -C "$work/linux" "$@"
}

# commit NAME - the file, with the lines of standard input
commit()
{
	cat > "$work/linux/file"
	tree add -A && tree commit -q -m "$1"
}

later_patch()
{
	{
		echo "# what $1 adds"
		tree diff --abbrev=12 HEAD~ HEAD
	} > "$later/$1.patch"
}

make_tree()
{
	mkdir -p "$later" "$work/linux"
	cp "$here/../../kernel/regen-later.sh" "$work/kernel"
	printf '%s\n' '# later/none.patch' '[x]' 'x: file' 'one: later/one.patch' 'two: later/two.patch' \
		> "$work/kernel/export/series"
	tree init -q -b main
	printf '%s\n' {1..20} | commit first
	printf '%s\n' {1..5} one {6..20} | commit one
	later_patch one
	printf '%s\n' {1..5} one {6..15} two {16..20} | commit two
	later_patch two
	tree tag patched
	cp -R "$later" "$work/before"
}

regen()
{
	"$work/kernel/regen-later.sh" --linux="$work/linux" "$@" > "$work/said" 2>&1
}

says()
{
	grep -q -F -e "$1" "$work/said" || { cat "$work/said"; return 1; }
}

# added NAME LINE... - the lines that a patch adds
added()
{
	[ "$(sed -n 's/^+\([^+]\)/\1/p' "$later/$1.patch" | xargs)" = "${*:2}" ]
}

# applied LINE... - what both patches make of the file without them
applied()
{
	printf '%s\n' "$@" > "$work/file" && patch -s -d "$work" -p1 < "$later/one.patch" &&
		patch -s -d "$work" -p1 < "$later/two.patch" && cmp "$work/file" "$work/linux/file"
}

make_tree
regen
result $? "nothing has changed"
run "... and nothing changes" diff -r "$work/before" "$later"

printf '%s\n' {1..5} one 6 7 eight {9..15} two {16..20} | commit context
regen
result $? "a line near what is added has changed"
run "... and the patches apply" applied {1..7} eight {9..20}
run "... on the branch as it was" [ "$(tree symbolic-ref --short HEAD)" = main ]

printf '%s\n' {1..5} uno 6 7 eight {9..15} two {16..20} | commit text
! regen
result $? "an added line has changed: it stops"
run "... and says how to go on" says 'git rebase --continue'
printf '%s\n' {1..7} eight {9..20} > "$work/linux/file"
tree add -u && tree rebase --continue > "$work/said" 2>&1 && regen
result $? "... and is run again"
run "... the line is in its patch" added one uno
run "... and not in the other one" added two two

printf '%s\n' {1..5} uno 6 7 eight {9..15} two {16..19} more 20 | commit moved
! GIT_SEQUENCE_EDITOR="sed -i '/one.patch/s/^pick/edit/'" regen --edit
result $? "a patch is edited"
sed -i '/^more$/d' "$work/linux/file"
tree add -u && tree rebase --continue > "$work/said" 2>&1 && regen
run "... and gets a line of another" added one uno more
run "... and both apply" applied {1..7} eight {9..20}

echo change >> "$work/linux/file"
! regen
run "changes have to be committed" says 'not committed'
tree checkout -q . && sed -i 's/^+two/+zwei/' "$later/two.patch"
! regen
run "patches have to be those of the tag" says 'does not have what later/two.patch adds'
run "... and the tree is left on its branch" [ "$(tree symbolic-ref --short HEAD)" = main ]
finish
