#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests stacks in a buffer that overflows all the time, while threads come and go with reused ids,
# move between CPUs and execute programs: no stack may be joined to a wrong event.  Prints TAP.
#
# TRACE_STACKS is the number of stacks that are joined in each mode of the buffer.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=trace.sh
. "$here/trace.sh"

stacks=${TRACE_STACKS:-$((scale > 1 ? 100 : 5000))}
program=$here/truth_load
"$program" --map > "$work/map"
result $? "the program says where its functions are"

# There are few task ids, so that each is soon reused.
pid_max=$(cat /proc/sys/kernel/pid_max)
trap 'echo "$pid_max" > /proc/sys/kernel/pid_max; rm -rf "$work"' EXIT
echo 400 > /proc/sys/kernel/pid_max

# Switching events on or off patches code, which other emulated CPUs may execute at that time: so
# nothing is switched while the load runs.

# start NAME SELECT - events of the load alone, by its id or by filters, which
# write events in another way
start()
{
	dir=$tracing/instances/$1
	set_in "$1" options/event-fork 1
	for event in syscalls/sys_enter_write syscalls/sys_exit_write sched/sched_switch; do
		[ "$2" = pid ] || set_in "$1" "events/$event/filter" \
			"$of_load"
		set_in "$1" "events/$event/enable" 1
	done
	sh -c "[ $2 != pid ] || echo \$\$ > $dir/set_event_pid
		exec $program $dir/trace_marker 100000 3" 2> /dev/null &
	load=$!
}

# join NAME OVERWRITE SELECT [OPTION] - the verdict of truth_join on TRACE_STACKS stacks
join()
{
	add_instance "$1" || return
	set_in "$1" buffer_size_kb 8
	set_in "$1" options/overwrite "$2"
	start "$1" "$3"
	# shellcheck disable=SC2086
	"$here/truth_join" -n "$stacks" -s $(((stacks / 100 + 60) * scale)) -u 3000 \
		$4 "$1" "$program" "$work/map"
	status=$?
	lost=$(cat "$tracing/instances/$1"/per_cpu/cpu*/stats |
		awk '/^(overrun|dropped events):/ { sum += $NF } END { print sum + 0 }')
	echo "# $lost records did not fit"
	kill $load
	wait $load 2> /dev/null
	remove_instance "$1" || return
	[ "$lost" -gt "$stacks" ] && return $status
}

join newest 1 pid
result $? "the newest records stay: each stack belongs to its event"
join oldest 0 filter
result $? "the oldest records stay: each stack belongs to its event"
stacks=$((stacks / 10))
join wrong 1 pid -x > "$work/wrong" 2>&1
[ $? = 1 ] && grep -q ' says .* the stack of ' "$work/wrong"
result $? "stacks that are exchanged are found out"

finish
