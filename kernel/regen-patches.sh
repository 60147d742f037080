#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Writes src/ and patches/ anew from a git tree whose changes to Linux lie on
# top of (or are not committed after) a base commit: added files go to src/,
# changes to existing files into the patch that patches/topics names for them.
# A patch keeps the text above its first diff.

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

changed()
{
	git -C "$linux" diff --name-only --no-renames --diff-filter="$1" "$base"
}

write_src()
{
	local path

	{
		changed A
		git -C "$linux" ls-files --others --exclude-standard
	} | grep -v '^tools/testing/selftests/codectl/' | sort -u > "$work/added" || true
	while read -r path; do
		mkdir -p "$here/src/$(dirname "$path")"
		cmp -s "$linux/$path" "$here/src/$path" || cp "$linux/$path" "$here/src/$path"
	done < "$work/added"
	(cd "$here/src" && find . -type f | sed 's,^\./,,' | sort) |
		comm -23 - "$work/added" > "$work/surplus"
	[ ! -s "$work/surplus" ] || die "$linux lacks these files of src/: $(xargs < "$work/surplus")"
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
		--abbrev=12 "$base" -- "$@" > "$work/diff"
	[ -s "$work/diff" ] || die "$linux changes nothing of $name"
	cat "$work/diff" >> "$new"
	cmp -s "$new" "$old" || cp "$new" "$old"
}

write_patches()
{
	local name paths

	{
		echo "# SPDX-License-Identifier: GPL-2.0"
		grep -v '^#' "$topics" | sed -n 's/^\([^:]*\):.*/\1.patch/p'
	} > "$here/patches/series"
	grep -v '^#' "$topics" | sed -n 's/^[^:]*: *//p' | tr -s ' ' '\n' | sort > "$work/listed"
	changed MDT | sort > "$work/changed"
	comm -13 <(sort -u "$work/listed") "$work/changed" > "$work/unlisted"
	[ ! -s "$work/unlisted" ] || die "no topic has: $(xargs < "$work/unlisted")"
	while IFS=: read -r name paths; do
		# shellcheck disable=SC2086
		write_patch "$name" $paths
	done < <(grep -v -e '^#' -e '^$' "$topics")
}

write_src
write_patches
