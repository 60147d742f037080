#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Brings a source tree to the state that a series of patches and a set of new files describe.
# The pristine versions of changed files are kept in TREE/.codectl/orig; a changed series, or
# --reverse, starts from them. The new state is computed in another directory, and only files
# that differ are written, so that a build sees only what has changed.

set -eu -o pipefail

usage()
{
	cat <<-END
	usage: patch-tree.sh --tree DIR --series FILE [--new HOSTDIR:TREEDIR]...
	                     [--reverse | --check | --outpatch FILE]

	  --new        files of HOSTDIR belong into the tree's TREEDIR, but for its
	               README.md, and obj/, in which it is compiled
	  --reverse    give the tree its pristine state back
	  --check      change nothing; fail if the tree is not up to date
	  --outpatch   change nothing; write all of it as one patch
	END
	exit 2
}

die()
{
	echo "patch-tree: $*" >&2
	exit 1
}

tree='' series='' mode=apply outpatch='' new=()
while [ $# -gt 0 ]; do
	case $1 in
	--reverse) mode=reverse; shift; continue ;;
	--check) mode=check; shift; continue ;;
	esac
	[ $# -ge 2 ] || usage
	case $1 in
	--tree) tree=${2%/} ;;
	--series) series=$2 ;;
	--new) new+=("$2") ;;
	--outpatch) mode=outpatch outpatch=$2 ;;
	*) usage ;;
	esac
	shift 2
done
[ -n "$tree" ] || usage
[ -d "$tree" ] || die "no such tree: $tree"
[ "$mode" = reverse ] || [ -r "$series" ] || die "no such series: $series"

state=$tree/.codectl
orig=$state/orig
work=$(mktemp -d "$tree/.codectl.XXXXXX") || die "cannot write in $tree"
trap 'rm -rf "$work"' EXIT
mkdir "$work/orig" "$work/new"

patches()
{
	sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$series"
}

# Lines of a patch's body never start with "diff".
touched()
{
	local patch

	patches | while read -r patch; do
		sed -n 's,^diff --git a/.* b/\(.*\)$,\1,p' "$(dirname "$series")/$patch"
	done | sort -u
}

was_created()
{
	[ -e "$state/created" ] && grep -q -x -F -e "$1" "$state/created"
}

copy()
{
	mkdir -p "$(dirname "$2")"
	cp -p "$1" "$2"
}

collect_originals()
{
	local path

	touched > "$work/touched"
	while read -r path; do
		if [ -e "$orig/$path" ]; then
			copy "$orig/$path" "$work/orig/$path"
		elif [ -e "$tree/$path" ] && ! was_created "$path"; then
			copy "$tree/$path" "$work/orig/$path"
		fi
	done < "$work/touched"
	cp -a "$work/orig/." "$work/new/"
}

apply_series()
{
	local patch

	patches | while read -r patch; do
		[ -r "$(dirname "$series")/$patch" ] || die "$series names $patch, which is missing"
		patch -d "$work/new" -p1 -s -f --fuzz=0 --no-backup-if-mismatch \
			-r - < "$(dirname "$series")/$patch" > "$work/log" 2>&1 ||
			die "$patch does not apply to $tree ($(head -n 1 "$work/log"));" \
			    "use the source package and series the patches are for"
	done
}

add_new_files()
{
	local entry path

	for entry in "${new[@]}"; do
		while read -r path; do
			path=${path#./}
			copy_new "${entry%%:*}/$path" "${entry#*:}/$path"
		done < <(cd "${entry%%:*}" && find . -type f ! -name '*.orig' ! -name '.*' \
			! -name README.md ! -path './obj/*')
	done
}

copy_new()
{
	local path=${2#./}

	if [ -e "$tree/$path" ] && ! was_created "$path"; then
		cmp -s "$1" "$tree/$path" || die "$tree has its own $path: it is not pristine"
	fi
	copy "$1" "$work/new/$path"
}

paths_of()
{
	[ ! -d "$1" ] || (cd "$1" && find . -type f | sed 's,^\./,,' | sort)
}

# Replaces a file by rename, since it may be a hard link shared with another tree.
place()
{
	mkdir -p "$(dirname "$2")"
	cp "$1" "$2.codectl-new"
	chmod --reference="$1" "$2.codectl-new"
	mv -f "$2.codectl-new" "$2"
}

restore()
{
	local path

	while read -r path; do
		if [ -e "$orig/$path" ]; then
			place "$orig/$path" "$tree/$path"
			rm -f "${orig:?}/$path"
		else
			rm -f "${tree:?}/$path"
		fi
	done
}

# Record the change before making it.
record()
{
	local path

	mkdir -p "$orig"
	while read -r path; do
		[ -e "$orig/$path" ] || place "$work/orig/$path" "$orig/$path"
	done < "$work/modified"
	[ ! -e "$state/created" ] || cat "$state/created" >> "$work/created.all"
	cat "$work/created" >> "$work/created.all"
	sort -u "$work/created.all" > "$state/created.new"
	mv "$state/created.new" "$state/created"
}

list_changes()
{
	paths_of "$work/orig" > "$work/modified"
	paths_of "$work/new" > "$work/wanted"
	comm -13 "$work/modified" "$work/wanted" > "$work/created"
	{
		paths_of "$orig"
		[ ! -e "$state/created" ] || cat "$state/created"
	} | sort -u > "$work/known"
	comm -23 "$work/known" <(sort -u "$work/wanted" "$work/modified") > "$work/stale"
	while read -r path; do
		cmp -s "$work/new/$path" "$tree/$path" || echo "$path"
	done < "$work/wanted" > "$work/differ"
	comm -23 "$work/modified" "$work/wanted" > "$work/deleted"
}

synchronise()
{
	local path

	record
	restore < "$work/stale"
	while read -r path; do
		place "$work/new/$path" "$tree/$path"
	done < "$work/differ"
	while read -r path; do
		rm -f "${tree:?}/$path"
	done < "$work/deleted"
	cp "$work/created" "$state/created.new"
	mv "$state/created.new" "$state/created"
}

if [ "$mode" = reverse ]; then
	[ -d "$state" ] || exit 0
	cat <(paths_of "$orig") "$state/created" | restore
	rm -rf "$state"
	exit 0
fi
collect_originals
apply_series
add_new_files
list_changes
case $mode in
apply)
	synchronise
	;;
check)
	cat "$work/differ" "$work/stale" > "$work/wrong"
	[ ! -s "$work/wrong" ] ||
		die "$tree is not up to date: $(head -n 3 "$work/wrong" | xargs)"
	;;
outpatch)
	(cd "$work" && (diff -ruN orig new || true)) |
		sed -e 's,^--- orig/,--- a/,' -e 's,^+++ new/,+++ b/,' \
		    -e 's,^diff -ruN orig/\(.*\) new/.*,diff --git a/\1 b/\1,' > "$outpatch"
	;;
esac
