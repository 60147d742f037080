#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that the documents agree with what was measured, and name no command that
# is not there. Prints TAP.

set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=../tap.sh
. scripts/tap.sh

# The bounds that were missed the last time, by the table that bench.sh writes.
# shellcheck disable=SC2016
missed=$(awk -F '|' '/figures: Bounds/, /<!-- end/ { if ($7 ~ /MISSED/) print $2 }' \
	docs/performance.md | xargs)
# shellcheck disable=SC2016
named=$(tr '\n' ' ' < README.md | grep -o 'known to be missed: [^.]*' |
	grep -o '`[^`]*`' | tr -d '`' | xargs)
echo "# missed: $missed; README: $named"
[ "$missed" = "$named" ]
result $? "README names the bounds of the benchmark that are known to be missed"
grep -q 'figures: Bounds' docs/performance.md
result $? "... of a table that is there"

# Figures of the benchmark are in the page for which bench.sh writes them.
typed=$(grep -n -E '[0-9] ?(ns|µs|insns)\b' README.md docs/testing.md docs/demands.md \
	docs/adding-codectl-to-your-jit.md)
[ -z "$typed" ]
result $? "figures of the benchmark are written in one place${typed:+, not in $typed}"

run "each command of README, and make's of the other pages, is there" \
	scripts/check-commands.sh "$PWD"
finish
