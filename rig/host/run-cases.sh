#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-cases.sh DATADIR PROGRAM...
#
# Runs libsframe's tests where their data is; prints one result each, and those of
# their messages that are about the decoder or failures.

nr=0 failed=0

cd "$1" || exit 1
shift
for program; do
	said=$("$program" 2>&1)
	status=$?
	echo "$said" | grep -E ' kernel|^#|^not|^1\.\.' | sed 's/^#* */# /'
	echo "$said" | grep -q '^ok [0-9]* - kernel' || status=1
	nr=$((nr + 1)) verdict=ok
	[ $status -eq 0 ] || verdict='not ok' failed=1
	echo "$verdict $nr - ${program##*/}, with the decoder beside it"
done
echo "1..$nr"
[ $nr -gt 0 ] && exit $failed
