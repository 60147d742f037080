#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-fuzz.sh [-k DIRECTORY] DIR NAME:LIBFUZZER-ARGS...
#
# Runs DIR/NAME_fuzz, one after the other, from the seeds in DIR/corpus/NAME, with
# the random numbers of FUZZ_SEED: a number (default: 1), or "random". With -k
# DIRECTORY/NAME keeps the inputs that reached new code and those that failed, and
# the next run starts from them, too. Prints TAP.

kept=''
[ "$1" != -k ] || { kept=$2; shift 2; }
dir=$1
shift
count=0 failed=0
seed=${FUZZ_SEED:-1}
[ "$seed" != random ] || seed=$(od -A n -N 4 -t u4 /dev/urandom | tr -d ' ')

echo "TAP version 13"
echo "1..$#"
echo "# FUZZ_SEED=$seed"
# fuzz NAME LIBFUZZER-ARG...
fuzz()
{
	name=$1
	shift
	rm -rf "$dir/found"
	found=$dir/found artifacts=$dir
	[ -z "$kept" ] || { found=$kept/$name artifacts=$kept/$name; }
	mkdir -p "$found" || return
	seeds=$dir/corpus/$name
	[ -n "$(ls -A "$seeds" 2> /dev/null)" ] ||
		{ echo "there are no seeds in $seeds"; return 1; }
	"$dir/${name}_fuzz" -seed="$seed" -max_len=4096 \
		-artifact_prefix="$artifacts/" "$@" "$found" "$seeds"
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
