#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: report.sh NAME COMMAND COMMIT < OUTPUT
#
# Prints the table in OUTPUT as a report for fill-figures.sh. COMMIT is the output of
# ../check/tree-commit.sh from before COMMAND has measured.

set -eu

# shellcheck disable=SC2016
printf '## %s\n\n`%s` at %s\n\n' "$1" "$2" "$3"
grep '^|'
