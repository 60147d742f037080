#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-cases.sh DATADIR PROGRAM...
#
# Runs libsframe's tests where their data is; one result each, and of what they
# say what is about the decoder or failed.

# shellcheck source=scripts/tap.sh
. "$(dirname "$0")/../../scripts/tap.sh"

cd "$1" || exit 1
shift
for program; do
	said=$("$program" 2>&1)
	status=$?
	echo "$said" | grep -E ' kernel|^#|^not|^1\.\.' | sed 's/^#* */# /'
	echo "$said" | grep -q '^ok [0-9]* - kernel' || status=1
	result $status "- ${program##*/}, with the decoder beside it"
done
[ $# -gt 0 ] || result 1 '- there are such tests'
finish
