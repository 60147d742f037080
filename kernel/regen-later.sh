#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Regenerates export/later/ from a git tree whose HEAD changes what is tagged "patched", which is
# what prepare-kernel.sh makes of kernel/ with the present export/later/. On a branch "later", one
# commit after the other takes back what each of these patches adds, the last one first; this
# branch is rebased onto HEAD, and its commits are written in reverse. If the rebase stops at a
# conflict, or by --edit, it is finished by hand, and this run again. Moves the tag to HEAD.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)

die()
{
	echo "regen-later: $*" >&2
	exit 1
}

linux='' edit=''
for arg; do
	case $arg in
	--linux=*) linux=${arg#*=} ;;
	--edit) edit=-i ;;
	*) echo "usage: regen-later.sh --linux=DIR [--edit]" >&2; exit 2 ;;
	esac
done
[ -n "$linux" ] || die "--linux=DIR is missing"

in_tree()
{
	git -C "$linux" "$@"
}

take_back()
{
	local branch patch

	in_tree diff --quiet HEAD || die "$linux has changes that are not committed"
	in_tree rev-parse -q --verify 'patched^{commit}' > /dev/null || die "$linux has no tag patched"
	branch=$(in_tree symbolic-ref --short HEAD)
	[ "$branch" != later ] || die "$linux is on the branch later: check out the one to regenerate from"
	in_tree checkout -q -B later patched
	in_tree branch -q -u "$branch"
	for patch in $(grep -v '^#' "$here/export/series" | grep -o 'later/[^ ]*' | tac); do
		in_tree apply -R --index "$here/export/$patch" || {
			in_tree checkout -q "$branch"
			die "the commit patched does not have what $patch adds"
		}
		in_tree commit -q -m "$patch"
	done
	# shellcheck disable=SC2086
	in_tree rebase -q $edit --onto '@{u}' patched || true
}

write_patches()
{
	local commit patch new

	new=$(mktemp)
	in_tree log --format='%H %s' 'later@{u}..later' | while read -r commit patch; do
		{
			sed '/^diff --git /,$d' "$here/export/$patch"
			in_tree -c diff.noprefix=false diff --no-color --no-ext-diff --no-renames \
				--abbrev=12 "$commit" "$commit~"
		} > "$new"
		cmp -s "$new" "$here/export/$patch" || cp "$new" "$here/export/$patch"
	done
	rm "$new"
	in_tree checkout -q "$(in_tree rev-parse --abbrev-ref 'later@{u}')"
	in_tree branch -q -D later
	in_tree tag -f patched > /dev/null
}

rebasing=$(in_tree rev-parse --absolute-git-dir)/rebase-merge
[ -d "$rebasing" ] || in_tree merge-base --is-ancestor 'later@{u}' later 2> /dev/null || take_back
[ ! -d "$rebasing" ] ||
	die "$linux is in a rebase: edit, 'git add -u' and 'git rebase --continue' there, then run this again"
write_patches
