#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Regenerates the patches and the series file from a git tree of glibc, one patch for
# each commit on top of the base commit. Running it again changes nothing.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)

usage()
{
	echo "usage: regen-patches.sh --glibc=DIR [--base=COMMIT]" >&2
	exit 2
}

die()
{
	echo "regen-patches: $*" >&2
	exit 1
}

glibc='' base=base
for arg; do
	case $arg in
	--glibc=*) glibc=${arg#*=} ;;
	--base=*) base=${arg#*=} ;;
	*) usage ;;
	esac
done
[ -n "$glibc" ] || usage
base=$(git -C "$glibc" rev-parse -q --verify "$base^{commit}" ||
	git -C "$glibc" log --format=%H --grep="^$base\$" -n 1)
[ -n "$base" ] || die "$glibc has no base commit"
[ -z "$(git -C "$glibc" status --porcelain)" ] ||
	die "$glibc has changes that are not committed"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

git -C "$glibc" -c diff.noprefix=false -c format.useAutoBase=false \
	format-patch -q --no-numbered --no-signature --zero-commit --no-renames \
	--abbrev=12 -o "$work" "$base"
[ -n "$(ls "$work")" ] || die "$glibc has no commits on top of its base"
git -C "$glibc" diff --check "$base" HEAD >&2 || die "fix the white space first"

# Whoever mails them signs them: export-series.sh.
for patch in "$work"/*.patch; do
	awk '/^Subject: / { body = 1 }
		!body && /^From: / { print "From: codectl maintainers <maintainers@codectl.example>" }
		body || !/^(From: | )/' "$patch" > "$patch.new"
	mv "$patch.new" "$patch"
done
rm -f "$here"/[0-9][0-9][0-9][0-9]-*.patch
cp "$work"/*.patch "$here"
{
	echo "# SPDX-License-Identifier: MIT"
	(cd "$work" && ls)
} > "$here/series"
