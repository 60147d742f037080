#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest: measures how much profiling slows programs down, and the size of the
# recordings.
#
# usage: whole.sh BENCHDIR DEMODIR JITDIR
#
# Each program runs alone, and under perf record at 1 and 10 kHz: with frame pointers, with
# frame pointers and registered tables, and with copies of the stack.

set -eu

bench=$1 demo=$2 jit=$3
data=/tmp/whole.data log=/tmp/whole.log

figure() {
	printf 'RESULT\twhole-%s\t%s-%s\t%s\t%s\t%s\n' \
		"$1" "$program" "$name" "$hertz" "$2" "$3"
}

# timed COMMAND... - runs the program, under the command if one is given
timed() {
	"$@" "$bench/start_bench" whole-time "$program-$name" "$hertz" $rounds 1 \
		/bin/sh -c "$job > /dev/null" 2> $log | grep '^RESULT' ||
		{ cat $log >&2; exit 1; }
}

# The slowdown compared with a run without profiling.
percent() {
	awk -v alone="$alone" '{ printf "%.2f", ($5 / alone - 1) * 100 }'
}

# profiled NAME CALLGRAPH - at $hertz
profiled() {
	name=$1
	took=$(timed perf record -e cpu-clock -F "$hertz" --call-graph "$2" -o $data --)
	echo "$took"
	figure slowdown "$(echo "$took" | percent)" %
	figure bytes "$(stat -c %s $data)" bytes
	perf script -i $data --show-lost-events -F comm > $log 2> /dev/null
	figure samples "$(grep -c -v PERF_RECORD $log)" samples
	figure lost "$(awk '/PERF_RECORD_LOST/ { n += $NF } END { print n + 0 }' $log)" samples
	rm $data
}

# whole PROGRAM COMMAND
whole() {
	program=$1 job=$2 name=alone hertz=0 rounds=2
	took=$(timed env)
	echo "$took"
	alone=$(echo "$took" | cut -f 5) rounds=1
	for hertz in 1000 10000; do
		profiled 'fp' fp
		profiled defer fp,defer
		profiled 'dwarf' dwarf
	done
}

# The kernel must not lower the rate on a slow emulated CPU.
echo 0 > /proc/sys/kernel/perf_cpu_time_max_percent
whole chain "$demo/chain 25"
whole lua5.4 "$demo/lua5.4 $demo/workload.lua 1"
whole jit-demo "$jit/jit-demo -n 120 $jit/programs/quicksort.jd"
