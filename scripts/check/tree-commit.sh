#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: tree-commit.sh TOP
#
# Prints the commit of the tree that a figure is measured in, with "-dirty" if anything but
# a page differs from it; "unknown" if TOP is no clone, or its history cannot be read.

set -u

read_commit()
{
	prefix=$(git rev-parse --show-prefix) && [ -z "$prefix" ] || return
	commit=$(git rev-parse --short=12 --verify HEAD) || return
	changed=$(git status --porcelain -- . ':!*.md') || return
	echo "$commit${changed:+-dirty}"
}

cd "$1" || exit
read_commit 2> /dev/null || echo unknown
