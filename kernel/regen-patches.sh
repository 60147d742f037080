#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Regenerates src/ and patches/ from a git tree whose changes to Linux are on top of a base
# commit, or not committed. Added files go to src/, changes to existing files to the patch that
# patches/topics names for them. A patch keeps the text above its first diff.
#
# The tree also has the changes of patches/fix-*, several of which may change the same file.
# These patches come first, and are not regenerated.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
topics=$here/patches/topics

usage()
{
	echo "usage: regen-patches.sh --linux=DIR [--base=COMMIT]" >&2
	exit 2
}

die()
{
	echo "regen-patches: $*" >&2
	exit 1
}

linux='' base=base
for arg; do
	case $arg in
	--linux=*) linux=${arg#*=} ;;
	--base=*) base=${arg#*=} ;;
	*) usage ;;
	esac
done
[ -n "$linux" ] || usage
[ -r "$topics" ] || die "$topics is missing: it has lines of the form NNNN-topic: PATH..."
base=$(git -C "$linux" rev-parse -q --verify "$base^{commit}" ||
	git -C "$linux" log --format=%H --grep="^$base\$" -n 1)
[ -n "$base" ] || die "$linux has no base commit"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Prints a tree with the base and the fixes, which the topics are compared with.
apply_fixes()
{
	local patch

	for patch in "${fixes[@]}"; do
		GIT_INDEX_FILE=$work/index git -C "$linux" apply --cached "$patch" ||
			die "${patch##*/} does not apply to what comes before it"
	done
	GIT_INDEX_FILE=$work/index git -C "$linux" write-tree
}

changed()
{
	git -C "$linux" diff --name-only --no-renames --diff-filter="$1" "$fixed"
}

write_src()
{
	local path

	{
		changed A
		git -C "$linux" ls-files --others --exclude-standard
	} | grep -v -e '^tools/testing/selftests/codectl/' -e '^\.codectl/' | sort -u > "$work/added" || true
	while read -r path; do
		mkdir -p "$here/src/$(dirname "$path")"
		cmp -s "$linux/$path" "$here/src/$path" || cp "$linux/$path" "$here/src/$path"
	done < "$work/added"
	(cd "$here/src" && find . -type f | sed 's,^\./,,' | sort) |
		comm -23 - "$work/added" > "$work/surplus"
	[ ! -s "$work/surplus" ] ||
		die "$linux lacks these files of src/, or git ignores them ('git add -Af' adds them):" \
		    "$(xargs < "$work/surplus")"
}

write_patch()
{
	local name=$1 old=$here/patches/$1.patch new=$work/$1.patch
	shift

	if [ -e "$old" ]; then
		sed '/^diff --git /,$d' "$old" > "$new"
	else
		echo "Subject: ${name#[0-9]*-}" > "$new"
		echo >> "$new"
	fi
	git -C "$linux" -c diff.noprefix=false diff --no-color --no-ext-diff --no-renames \
		--abbrev=12 "$fixed" -- "$@" > "$work/diff"
	[ -s "$work/diff" ] || die "$linux changes nothing of $name"
	cat "$work/diff" >> "$new"
	cmp -s "$new" "$old" || cp "$new" "$old"
}

write_patches()
{
	local name path paths

	{
		echo "# SPDX-License-Identifier: GPL-2.0"
		for path in "${fixes[@]}"; do
			echo "${path##*/}"
		done
		grep -v '^#' "$topics" | sed -n 's/^\([^:]*\):.*/\1.patch/p'
	} > "$here/patches/series"
	grep -v '^#' "$topics" | sed -n 's/^[^:]*: *//p' | tr -s ' ' '\n' | sort > "$work/listed"
	changed MDT | sort > "$work/changed"
	comm -13 <(sort -u "$work/listed") "$work/changed" > "$work/unlisted"
	[ ! -s "$work/unlisted" ] || die "kernel/patches/topics has no patch for: $(xargs < "$work/unlisted")"
	while IFS=: read -r name paths; do
		# shellcheck disable=SC2086
		write_patch "$name" $paths
	done < <(grep -v -e '^#' -e '^$' "$topics")
}

shopt -s nullglob
fixes=("$here"/patches/fix-*.patch)
GIT_INDEX_FILE=$work/index git -C "$linux" read-tree "$base"
fixed=$(apply_fixes)
write_src
write_patches
