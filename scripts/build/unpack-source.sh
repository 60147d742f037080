#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: unpack-source.sh linux|glibc|binutils TREE-OR-TARBALL DEST [OBJDIR]...
#
# Puts the source into DEST, and drops the objects made from what was there: a
# tarball's dates say nothing about their age.

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
# The stock tree shares its files: patch-tree.sh replaces, never writes into one.
if [ "$kind" = linux ]; then
	rm -rf "$dest-stock.part"
	cp -al "$dest.part" "$dest-stock.part"
	mv "$dest-stock.part" "$dest-stock"
fi
mv "$dest.part" "$dest"
