#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Stacks in a buffer that overflows all the time, while threads come and go with
# ids that are used again, move between CPUs and execute programs: none may be
# joined to a wrong event.  Prints TAP.
#
# TRACE_STACKS is how many stacks are joined in each mode of the buffer.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=trace.sh
. "$here/trace.sh"

stacks=${TRACE_STACKS:-$((5000 / scale))}
program=$here/truth_load
"$program" --map > "$work/map"
result $? "the program says where its functions are"

# The ids of tasks are few, so that each comes again soon.
pid_max=$(cat /proc/sys/kernel/pid_max)
echo 400 > /proc/sys/kernel/pid_max

# join NAME OVERWRITE [OPTION] - what truth_join says of so many stacks
join()
{
	add_instance "$1" || return
	set_in "$1" buffer_size_kb 8
	set_in "$1" options/overwrite "$2"
	set_in "$1" options/event-fork 1
	sh -c "echo \$\$ > $tracing/instances/$1/set_event_pid
		exec $program $tracing/instances/$1/trace_marker 100000 3" 2> /dev/null &
	load=$!
	set_in "$1" events/syscalls/sys_enter_write/enable 1
	set_in "$1" events/syscalls/sys_exit_write/enable 1
	set_in "$1" events/sched/sched_switch/enable 1
	# shellcheck disable=SC2086
	"$here/truth_join" -n "$stacks" -s $((stacks * scale / 100 + 60)) -u 3000 \
		$3 "$1" "$program" "$work/map"
	status=$?
	lost=$(cat "$tracing/instances/$1"/per_cpu/cpu*/stats |
		awk '/^(overrun|dropped events):/ { sum += $NF } END { print sum + 0 }')
	echo "# $lost records did not fit"
	kill $load
	wait $load 2> /dev/null
	remove_instance "$1" || return
	[ "$lost" -gt "$stacks" ] && return $status
}

join newest 1
result $? "the newest records stay: each stack belongs to its event"
join oldest 0
result $? "the oldest records stay: each stack belongs to its event"
stacks=$((stacks / 10))
join wrong 1 -x > "$work/wrong" 2>&1
[ $? = 1 ] && grep -q ' says .* the stack of ' "$work/wrong"
result $? "stacks that are exchanged are found out"

echo "$pid_max" > /proc/sys/kernel/pid_max
finish
