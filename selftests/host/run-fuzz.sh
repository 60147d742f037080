#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-fuzz.sh DIR LIBFUZZER-ARG...
#
# Fuzzes from the seeds in DIR/corpus, with the same random numbers each time.

dir=$1
shift
rm -rf "$dir/found"
mkdir -p "$dir/found"

echo "TAP version 13"
echo "1..1"
if "$dir/sframe_fuzz" -seed=1 -max_len=4096 -artifact_prefix="$dir/" "$@" \
	"$dir/found" "$dir/corpus" >"$dir/fuzz.log" 2>&1; then
	grep -E '^(#[0-9]+.*DONE|Done)' "$dir/fuzz.log" | sed 's/^#*/# /'
	echo "ok 1 - decoder stays in bounds"
else
	sed 's/^/# /' "$dir/fuzz.log" | tail -n 60
	echo "not ok 1 - decoder stays in bounds"
	exit 1
fi
