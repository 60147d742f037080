#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-fuzz.sh DIR NAME:LIBFUZZER-ARGS...
#
# Runs DIR/NAME_fuzz, one after the other, each with the same random numbers each
# time, from the seeds in DIR/corpus/NAME.

dir=$1
shift
count=0 failed=0

echo "TAP version 13"
echo "1..$#"
# fuzz NAME LIBFUZZER-ARG...
fuzz()
{
	name=$1
	shift
	rm -rf "$dir/found"
	mkdir -p "$dir/found"
	seeds=$dir/corpus/$name
	[ -n "$(ls -A "$seeds" 2> /dev/null)" ] ||
		{ echo "there are no seeds in $seeds"; return 1; }
	"$dir/${name}_fuzz" -seed=1 -max_len=4096 -artifact_prefix="$dir/" "$@" \
		"$dir/found" "$seeds"
}

for target; do
	name=${target%%:*}
	count=$((count + 1))
	# shellcheck disable=SC2086
	if fuzz "$name" ${target#*:} >"$dir/$name-fuzz.log" 2>&1; then
		grep -E '^(#[0-9]+.*DONE|Done)' "$dir/$name-fuzz.log" | sed 's/^#*/# /'
		echo "ok $count - $name reader stays in bounds"
	else
		sed 's/^/# /' "$dir/$name-fuzz.log" | tail -n 60
		echo "not ok $count - $name reader stays in bounds"
		failed=1
	fi
done
exit $failed
