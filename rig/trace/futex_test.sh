#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests the user stacks of contended futexes, recorded and read by trace-cmd: all are complete, the
# file of each frame is known by path and build-id, and the trace is smaller than with path and
# build-id in every frame.  Prints TAP.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=trace.sh
. "$here/trace.sh"

threads=6
rounds=$((100 / (scale > 4 ? 4 : scale)))

trace-cmd record -q -b 20000 -o "$work/trace.dat" \
	-B futex -e syscalls:sys_enter_futex -O userstacktrace_delay \
	-B switch -e sched:sched_switch -e sched:sched_process_exec \
	-O userstacktrace_delay \
	"$here/futex_load" $threads $rounds > "$work/record.said" 2>&1
result $? "trace-cmd records with the option"
trace-cmd report -i "$work/trace.dat" > "$work/report" 2> "$work/report.said"
result $? "trace-cmd reads the trace"
grep -v '^cpus=' "$work/report.said" | says_nothing
result $? "trace-cmd has nothing to complain of"

# event_size FORMAT
event_size()
{
	tr ';' '\n' < "$1" | awk -F: '
		$1 ~ /offset/ { offset = $2 }
		$1 ~ /size/ { size = offset + $2 }
		END { print size }'
}

# facts INSTANCE EVENT SYSTEM
facts()
{
	event=$tracing/events/$3/$2
	awk -v instance="$1" -v event="$2" -v comm=futex_load \
		-v type="$(cat "$event/id")" -v size="$(event_size "$event/format")" \
		-f "$here/join.awk" "$work/report" > "$work/$1"
	grep -v -E '^(file|bytes|inline)' "$work/$1" | sed "s/^/# $1: /"
}

# fact INSTANCE KEY
fact()
{
	awk -v key="$2" '$1 == key { print $NF; exit }' "$work/$1"
}

# Each id has the path and the build-id of the file at that path.
check_files()
{
	bad=0 files=0
	while read -r kind id verified build_id path; do
		[ "$kind" = file ] || continue
		files=$((files + 1))
		real=$(readelf -n "$path" | awk '/Build ID:/ { print $3 }')
		if [ "$verified" != 1 ] || [ -z "$real" ] || [ "$build_id" != "$real" ]; then
			echo "# id $id: $path, verified $verified, build-id $build_id, of the file $real"
			bad=$((bad + 1))
		fi
	done < "$work/$1"
	[ $bad = 0 ] && [ $files -ge 2 ]
}

for instance in futex switch; do
	case $instance in
	futex) facts futex sys_enter_futex syscalls ;;
	switch) facts switch sched_switch sched ;;
	esac
	[ "$(fact $instance lost)" = 0 ] &&
		[ "$(fact $instance events)" -ge $((threads * rounds / 4)) ]
	result $? "$instance: there are events, and none was lost"
	check_files $instance
	result $? "$instance: ids are explained as readelf does"
	[ "$(fact $instance strange)" = 0 ]
	result $? "$instance: no id comes before what explains it"
done

[ "$(fact futex joined)" = "$(fact futex events)" ] &&
	[ "$(awk '$1 == "stop" { print $2 }' "$work/futex")" = 0 ]
result $? "futex: each event has a complete stack"
[ "$(fact futex deepest)" -ge 150 ] && [ "$(fact futex split)" -gt 0 ]
result $? "futex: stacks that need several records are whole"
[ "$(fact switch missed)" = 0 ] && [ "$(fact switch joined)" -gt 0 ]
result $? "switch: each event has its stack"

bytes=$(fact futex bytes) inline=$(fact futex inline)
echo "# $bytes bytes of events, cookies, stacks and files; with path and build-id on every frame: $inline"
[ "$inline" -ge $((3 * bytes)) ]
result $? "futex: at least 3 times smaller than with names on every frame"
finish
