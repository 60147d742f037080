#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: cost.sh LIBRARY OUT
#
# Measures what libcodectl-preload costs when nobody takes stacks: writes to OUT/cost.md a
# table of the instructions of programs without LIBRARY and with it preloaded, as callgrind
# counts them, without child processes, and their ratio. Needs no codectl(2). Fails if a
# ratio is more than 1.01, except for a program that does nothing, where the dynamic
# linker's work for one more library dominates.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)

die()
{
	echo "cost: $*" >&2
	exit 2
}

[ $# = 2 ] || die "usage: cost.sh LIBRARY OUT"
library=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
# shellcheck disable=SC2016
perl_work='my %h; for my $i (1..20000) { $h{$i % 1000} .= chr(65 + $i % 26); }
	print length(join "", map { scalar reverse } sort values %h), "\n";'
python_work='import json, re
d = [{"a": i, "b": str(i) * 3} for i in range(2000)]
print(len(re.sub("1+", "", json.dumps(d))))'

g++ -O2 -pthread -static-libstdc++ -o "$out/throws" "$here/suites/throws.cc"
echo 'int main(void) { return 0; }' | gcc -O2 -x c - -o "$out/nothing"

# count COMMAND... - instructions
count()
{
	valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 > /dev/null < /dev/null |
		awk '/Collected :/ { print $4 }'
}

# compare NAME BOUND COMMAND...
compare()
{
	local name=$1 bound=$2 without with

	shift 2
	without=$(count "$@")
	with=$(LD_PRELOAD=$library count "$@")
	awk -v name="$name" -v bound="$bound" -v without="$without" -v with="$with" 'BEGIN {
		ratio = without ? with / without : 0
		printf "| %s | %d | %d | %.4f |\n", name, without, with, ratio
		exit !without || !with || ratio > bound
	}' >> "$out/cost.md" || failed=1
}

failed=0
printf '| | without | with | ratio |\n|---|--:|--:|--:|\n' > "$out/cost.md"
compare "a program that does nothing" 2 "$out/nothing"
compare "C++ that throws in threads" 1.01 "$out/throws" 50
compare "perl" 1.01 /usr/bin/perl -e "$perl_work"
compare "python3" 1.01 /usr/bin/python3 -S -c "$python_work"
cat "$out/cost.md"
[ $failed = 0 ] || die "it costs too much, or was not counted: see $out/cost.md"
