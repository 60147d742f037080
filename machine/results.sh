#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: results.sh DEBIAN
#
# Prints docs/debian-results.md, of what check-debian has left in DEBIAN/RELEASE/results:
# the table, and how the kernel's stacks compare with those of libdwfl.

set -eu

cat <<'END'
<!-- SPDX-License-Identifier: MIT -->
<!-- Written by "make debian-results". -->

# What the machine of stock Debian shows

`./quickstart debian --release RELEASE` and `make check-debian RELEASE=RELEASE` print these; *docs/debian.md* says what
they mean. Each cell is the share of complete stacks without tables and, after `>`, with them.
END
for results in "$1"/*/results; do
	release=$(basename "$(dirname "$results")")
	[ -s "$results/table.txt" ] || continue
	[ -s "$results/agree.txt" ] || continue
	# shellcheck disable=SC2016
	printf '\n## %s\n\n```\n' "$release"
	cat "$results/table.txt"
	echo
	cat "$results/agree.txt"
	# shellcheck disable=SC2016
	echo '```'
done
