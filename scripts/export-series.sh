#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: export-series.sh BUILDDIR [NAME <ADDRESS>]
#
# Writes all series as patches to mail, each with a cover letter, into the directories
# BUILDDIR/export/linux-N-NAME and BUILDDIR/export/glibc-N-NAME, in the order in which
# they apply. They are signed off by NAME, or by the user.name and user.email of git.

set -eu -o pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
build=$1 signer=${2:-}

die()
{
	echo "export: $*" >&2
	exit 1
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find_signer()
{
	if [ -z "$signer" ]; then
		signer="$(git -C "$top" config user.name || true) <$(git -C "$top" config user.email || true)>"
	fi
	[[ $signer =~ ^(.+)\ \<(.+@.+)\>$ ]] ||
		die "no name to sign off with: set user.name and user.email of git, or give 'NAME <ADDRESS>'"
	export GIT_AUTHOR_NAME=${BASH_REMATCH[1]} GIT_AUTHOR_EMAIL=${BASH_REMATCH[2]}
	export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
	# The same input results in the same patches at any time.
	GIT_AUTHOR_DATE=$(git -C "$top" log -1 --format=%aI 2> /dev/null || date -Iseconds)
	export GIT_AUTHOR_DATE GIT_COMMITTER_DATE=$GIT_AUTHOR_DATE
	export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
}

# begin TREE - makes a repository of the original versions of the files that the series changes
begin()
{
	[ -d "$1/.codectl/orig" ] || die "$1 is not patched yet: run 'make linux glibc' first"
	repo=$work/$(basename "$1")
	mkdir "$repo"
	cp -a "$1/.codectl/orig/." "$repo"
	git -C "$repo" init -q
	git -C "$repo" add -A
	git -C "$repo" commit -q -m base
	git -C "$repo" tag base
	git -C "$repo" tag sent
	nr_series=0
}

# item PREFIX - formats text as an item of a list, at most 72 columns wide
item()
{
	fold -s -w $((72 - ${#1})) | sed -e 's/ *$//' -e "1s/^/$1/" -e "2,\$s/^/${1//?/ }/"
}

# rows FILE LINE KEEP - prints the header and the rows that match of the first table of docs/FILE
# after that line, with \x1f between cells
rows()
{
	awk -v start="$2" -v keep="$3" '
		$0 == start || $0 == "#" start || index($0, start ";") == 1 { inside = 1; next }
		inside && (/^##/ || (table && !/^\|/)) { exit }
		!inside || !/^\|/ || /^\|-/ { next }
		{
			gsub(/`/, "")
			gsub(/^\| *| *\|$/, "")
			gsub(/ *\| */, "\x1f")
		}
		!table++ || $0 ~ keep' "$top/docs/$1"
}

# table SECTION [KEEP] - prints the rows of docs/testing.md that have figures, as a list
table()
{
	local promise seen

	rows testing.md "## $1" "${2:-.}" | awk -F'\x1f' 'NR > 1 && $3 != "" { print $1 FS $3 }' |
		while IFS=$'\x1f' read -r promise seen; do
			echo "$promise:" | item '- '
			echo "$seen" | item '    '
		done
}

# grid FILE LINE [KEEP] - prints a table as columns
grid()
{
	rows "$1" "$2" "${3:-.}" | awk -F'\x1f' '
		{
			for (i = 1; i <= NF; i++) {
				cell[NR, i] = $i
				if (length($i) > width[i])
					width[i] = length($i)
			}
			columns = NF
		}
		END {
			for (row = 1; NR > 1 && row <= NR; row++) {
				line = sprintf("  %-" width[1] "s", cell[row, 1])
				for (i = 2; i <= columns; i++)
					line = line sprintf("  %" width[i] "s", cell[row, i])
				sub(/ +$/, "", line)
				print line
			}
		}'
}

# Expands a line of a cover letter: "@table SECTION@" and "@grid SECTION@" from docs/testing.md,
# "@figures NAME@" from docs/performance.md, each with /PATTERN to select rows.
cover_line()
{
	local kind name keep text

	case $1 in
	@*@)
		read -r kind name <<< "${1//@/}"
		keep=${name#*/}
		[[ $name == */* ]] || keep=''
		case $kind in
		table) text=$(table "${name%%/*}" "$keep") ;;
		grid) text=$(grid testing.md "## ${name%%/*}" "$keep") ;;
		figures) text=$(grid performance.md "<!-- figures: ${name%%/*}" "$keep") ;;
		*) die "a cover letter has $1" ;;
		esac
		[ -n "$text" ] || die "docs has no figures for $1 of a cover letter"
		echo "$text"
		;;
	*) echo "$1" ;;
	esac
}

cover_body()
{
	local line

	sed '1,/^$/d' "$1" | while IFS= read -r line; do
		cover_line "$line" || exit
	done
}

# Prints the patches that have to be applied first, in the form of git's --base option, but
# without a base commit, which nobody else would have.
prerequisites()
{
	git -C "$repo" -c diff.noprefix=false log -p --reverse --no-renames base..sent |
		git patch-id --stable | sed 's/^\([0-9a-f]*\) .*/prerequisite-patch-id: \1/'
}

# mail PROJECT NAME COVER - writes the commits since the last series as a series
mail()
{
	local out cover=$3 subject prefix

	nr_series=$((nr_series + 1))
	prefix=$(sed -n 's/^Prefix: //p' "$cover")
	out=$build/export/$1-$nr_series-$2
	mkdir -p "$out"
	git -C "$repo" -c diff.noprefix=false format-patch -q --no-renames \
		--abbrev=12 --cover-letter --zero-commit --no-signature \
		--subject-prefix="${prefix:-PATCH} codectl-$2" -o "$out" sent
	cover_body "$cover" > "$work/body"
	subject=$(sed -n 's/^Subject: //p' "$cover")
	sed -i -e "s|\*\*\* SUBJECT HERE \*\*\*|$subject|" \
		-e "/\*\*\* BLURB HERE \*\*\*/{r $work/body
			d}" "$out/0000-cover-letter.patch"
	prerequisites >> "$out/0000-cover-letter.patch"
	echo "$(git -C "$repo" rev-list --count sent..) patches and a cover letter in $out"
	git -C "$repo" tag -f sent > /dev/null
}

message_of()
{
	local patch=$1 name=$2

	if [ -e "$top/kernel/export/messages/$name" ]; then
		cat "$top/kernel/export/messages/$name"
	else
		sed '/^diff --git /,$d' "$top/kernel/patches/$patch"
	fi | sed -e '/^# SPDX/d' -e 's/^Subject: //' | fmt -w 72
}

# Adds a new file or directory of the kernel tree, or the selftests that match a pattern below
# selftests/ or rig/, both of which are in the directory of the selftests.
add_new()
{
	local dir=tools/testing/selftests/codectl

	if [[ $1 == selftests/* || $1 == rig/* ]]; then
		(cd "$build/linux/$dir" && compgen -G "${1#*/}" |
			xargs -I{} find {} -type f) | sed "s,^,$dir/," |
			grep -x -F -f <(new_files) > "$work/parts" ||
			die "kernel/export/series: nothing matches $1"
		tar -C "$build/linux" -c -T "$work/parts" | tar -x -C "$repo"
	else
		mkdir -p "$repo/$(dirname "$1")"
		cp -R "$top/kernel/src/$1" "$repo/$1"
	fi
}

new_files()
{
	cat "$build/linux/.codectl/created"
}

# Removes what later series add to the files of the next commit.
hold_back()
{
	local later file

	git -C "$repo" diff --cached --name-only > "$work/brought"
	while read -r later; do
		sed -n 's,^diff --git a/.* b/,,p' "$top/kernel/export/$later" |
			grep -x -F -f "$work/brought" > "$work/held" || continue
		while read -r file; do
			echo "--include=$file"
		done < "$work/held" | xargs git -C "$repo" apply -R --index \
			"$top/kernel/export/$later" ||
			die "$later does not match kernel/: see kernel/README.md"
	done < "$work/later"
}

# bring PATCH - applies what was held back until now
bring()
{
	grep -v -x -F "$1" "$work/later" > "$work/left" || true
	mv "$work/left" "$work/later"
	git -C "$repo" apply --index --whitespace=error "$top/kernel/export/$1"
}

commit_topic()
{
	local name=$1 patch='' later='' part
	shift

	for part; do
		case $part in
		later/*) later=$part ;;
		*.patch)
			patch=$part
			git -C "$repo" apply --whitespace=error "$top/kernel/patches/$part"
			;;
		*) add_new "$part" ;;
		esac
	done
	git -C "$repo" add -A
	# Fixes of Linux itself contain nothing of later series.
	[[ $patch == fix-* ]] || hold_back
	[ -z "$later" ] || bring "$later"
	message_of "$patch" "$name" > "$work/message"
	git -C "$repo" commit -q -s -F "$work/message"
}

# The result must be the patched tree, without missing or additional files.
check_all_there()
{
	(cd "$repo" && git ls-files) | sort > "$work/exported"
	{
		new_files
		git -C "$repo" ls-tree -r --name-only base
	} | sort -u > "$work/wanted"
	diff "$work/wanted" "$work/exported" > "$work/diff" ||
		die "kernel/export/series does not have what kernel/ has: $(sed 1d "$work/diff" | head -n 5 | xargs)"
	while read -r file; do
		cmp -s "$repo/$file" "$build/linux/$file" || die "$file is not that of $build/linux"
	done < "$work/wanted"
}

export_linux()
{
	local line series='' parts=()

	begin "$build/linux"
	grep -o 'later/[^ ]*' "$work/series" | tac > "$work/later"
	while read -r line; do
		if [[ $line =~ ^\[(.+)\]$ ]]; then
			[ -z "$series" ] || mail linux "$series" "$top/kernel/export/covers/$series"
			series=${BASH_REMATCH[1]}
			continue
		fi
		read -r -a parts <<< "${line#*:}"
		commit_topic "${line%%:*}" "${parts[@]}"
	done < "$work/series"
	check_all_there
	mail linux "$series" "$top/kernel/export/covers/$series"
}

# Each cover letter says how many of the patches are its own.
export_glibc()
{
	local patch cover left=0 covers=("$top"/glibc-patches/covers/*)

	begin "$build/glibc"
	while read -r patch; do
		if [ $left = 0 ]; then
			cover=${covers[0]:?a cover letter is missing}
			covers=("${covers[@]:1}")
			left=$(sed -n 's/^Patches: //p' "$cover")
		fi
		git -C "$repo" am -q --whitespace=nowarn "$top/glibc-patches/$patch"
		git -C "$repo" commit -q --amend --reset-author -s --no-edit
		left=$((left - 1))
		[ $left != 0 ] || mail glibc "${cover##*/?-}" "$cover"
	done < <(grep -v '^#' "$top/glibc-patches/series")
	[ "$left ${#covers[@]}" = "0 0" ] ||
		die "glibc-patches/covers are of other patches than there are"
}

find_signer
grep -v '^#' "$top/kernel/export/series" > "$work/series"
rm -rf "$build"/export/{linux,glibc}-[0-9]*
export_linux
export_glibc
