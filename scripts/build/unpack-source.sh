#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: unpack-source.sh linux|glibc|binutils TREE-OR-TARBALL DEST [OBJDIR]...
#
# Puts the source into DEST, and removes the objects that were built from the previous source:
# the dates in a tarball do not tell whether they are older.

set -eu -o pipefail

die()
{
	echo "$*" >&2
	exit 1
}

kind=$1 source=$2 dest=$3
shift 3
"$(dirname "$0")/source-version.sh" "$kind" "$source"

rm -rf "$dest.part" "$dest" "$@"
if [ "$kind" = linux ]; then
	rm -rf "$dest-stock"
fi
mkdir -p "$dest.part"
if [ -d "$source" ]; then
	[ ! -e "$source/.config" ] || [ "$kind" != linux ] ||
		die "$source has been built in: run 'make mrproper' there, or give another tree"
	tar -c -C "$source" --exclude=./.git . | tar -x -C "$dest.part"
else
	tar -x -f "$source" --strip-components=1 -C "$dest.part"
fi
# The stock tree shares its files, since patch-tree.sh replaces files and never overwrites them.
if [ "$kind" = linux ]; then
	rm -rf "$dest-stock.part"
	cp -al "$dest.part" "$dest-stock.part"
	mv "$dest-stock.part" "$dest-stock"
fi
mv "$dest.part" "$dest"
