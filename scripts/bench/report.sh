#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: report.sh NAME COMMAND COMMIT < OUTPUT
#
# Prints the table that is in the output as a report for fill-figures.sh. COMMIT is what
# ../check/tree-commit.sh has said before COMMAND has measured.

set -eu

# shellcheck disable=SC2016
printf '## %s\n\n`%s` at %s\n\n' "$1" "$2" "$3"
grep '^|'
