#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: results.sh DEBIAN
#
# Prints what check-debian has left in DEBIAN/RELEASE/results, for fill-figures.sh: the
# table, and how the kernel's stacks compare with those of libdwfl.

set -eu

for results in "$1"/*/results; do
	release=$(basename "$(dirname "$results")")
	[ -s "$results/table.txt" ] || continue
	[ -s "$results/agree.txt" ] || continue
	commit=$(cat "$results/commit" 2> /dev/null) || commit=unknown
	# shellcheck disable=SC2016
	printf '\n## %s\n\n`make check-debian RELEASE=%s` at %s\n\n```\n' "$release" "$release" "$commit"
	cat "$results/table.txt"
	echo
	cat "$results/agree.txt"
	# shellcheck disable=SC2016
	echo '```'
done
