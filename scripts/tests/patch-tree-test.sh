#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests patch-tree.sh on a tree of three files. Prints TAP.

# Functions are called by run.
# shellcheck disable=SC2317

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
tree=$work/tree
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

not()
{
	! "$@"
}

patch_tree()
{
	"$here/../build/patch-tree.sh" --tree "$tree" --series "$work/patches/series" \
		--new "$work/src:." "$@"
}

same_trees()
{
	diff -r -x .codectl "$1" "$2"
}

make_files()
{
	mkdir -p "$work/pristine/d" "$work/patches" "$work/src/d" "$work/src/obj"
	touch "$work/src/obj/new.o" "$work/src/README.md"
	seq 1 20 > "$work/pristine/a"
	seq 1 20 > "$work/pristine/d/b"
	seq 1 20 > "$work/pristine/untouched"
	cp -a "$work/pristine" "$tree"
	echo new > "$work/src/d/new"
	write_patch one a 10 ten
	write_patch two d/b 5 five
	printf '# comment\none.patch\ntwo.patch\n' > "$work/patches/series"
}

# write_patch NAME FILE LINE TEXT
write_patch()
{
	mkdir -p "$work/edit/a/$(dirname "$2")" "$work/edit/b/$(dirname "$2")"
	cp "$work/pristine/$2" "$work/edit/a/$2"
	sed "s/^$3\$/$4/" "$work/pristine/$2" > "$work/edit/b/$2"
	{
		echo "diff --git a/$2 b/$2"
		(cd "$work/edit" && diff -u "a/$2" "b/$2")
	} > "$work/patches/$1.patch"
}

old()
{
	touch -d 2020-01-01 "$tree/$1"
}

is_old()
{
	[ "$(stat -c %Y "$tree/$1")" = "$(date -d 2020-01-01 +%s)" ]
}

test_apply()
{
	run "apply" patch_tree
	run "a patched file has the change" grep -q ten "$tree/a"
	run "a new file is there" grep -q new "$tree/d/new"
	run "... but not README.md" test ! -e "$tree/README.md"
	run "... nor what was compiled in obj/" test ! -e "$tree/obj"
	run "check finds an up-to-date tree" patch_tree --check
	old a
	old d/b
	old d/new
	run "apply again" patch_tree
	run "nothing was written again" is_old a
	write_patch two d/b 6 six
	run "check finds a changed series" not patch_tree --check
	run "apply a changed series" patch_tree
	run "the old change is gone" not grep -q five "$tree/d/b"
	run "the new change is there" grep -q six "$tree/d/b"
	run "what did not change was not written" is_old a
	run "what did not change was not copied" is_old d/new
}

test_shrink()
{
	echo one.patch > "$work/patches/series"
	rm "$work/src/d/new"
	run "apply a shorter series" patch_tree
	run "its file is pristine" cmp "$work/pristine/d/b" "$tree/d/b"
	run "the new file is gone" not test -e "$tree/d/new"
}

test_failures()
{
	cp -a "$tree" "$work/before"
	printf 'one.patch\ntwo.patch\nbad.patch\n' > "$work/patches/series"
	sed 's/^ 9$/ nine/' "$work/patches/one.patch" > "$work/patches/bad.patch"
	run "a patch that needs fuzz is refused" not patch_tree
	run "the tree is as before" same_trees "$work/before" "$tree"
	echo missing.patch > "$work/patches/series"
	run "a missing patch is refused" not patch_tree
	echo one.patch > "$work/patches/series"
	echo ours > "$work/src/untouched"
	run "a new file in the place of another is refused" not patch_tree
	rm "$work/src/untouched"
	run "a missing tree is refused" not "$here/../build/patch-tree.sh" \
		--tree "$work/none" --series "$work/patches/series"
}

# The exported patch must make from a pristine tree what apply makes.
test_outpatch()
{
	echo new > "$work/src/d/new"
	run "write one patch" patch_tree --outpatch "$work/all.patch"
	cp -a "$work/pristine" "$work/other"
	run "apply it by hand" patch -d "$work/other" -p1 -s --fuzz=0 -i "$work/all.patch"
	run "apply the series" patch_tree
	run "both give the same" same_trees "$work/other" "$tree"
}

make_files
test_apply
test_shrink
test_failures
test_outpatch
run "reverse" patch_tree --reverse
run "the tree is pristine" diff -r "$work/pristine" "$tree"
run "reverse again" patch_tree --reverse
finish
