#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests user stacks in several instances at once, while options are switched, instances are removed
# with stacks still pending, others read the text of the trace, and perf takes stacks of the same
# tasks.  Prints TAP.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=trace.sh
. "$here/trace.sh"

program=$here/truth_load
"$program" --map > "$work/map"
result $? "the program says where its functions are"

# start_load INSTANCE - starts a load that writes to its marker, after events were enabled: see
# drop_test.sh
start_load()
{
	"$program" "$tracing/instances/$1/trace_marker" 100000 2 2> /dev/null &
	load=$!
}

stop_load()
{
	kill $load
	wait $load 2> /dev/null
}

# prepare INSTANCE EVENT... - for the load and the programs that it executes
prepare()
{
	instance=$1
	shift
	add_instance "$instance" || return
	set_in "$instance" buffer_size_kb 4096
	for event; do
		set_in "$instance" "events/$event/filter" "$of_load"
		set_in "$instance" "events/$event/enable" 1
	done
}

# join INSTANCE SECONDS
join()
{
	"$here/truth_join" -s "$2" "$1" "$program" "$work/map" > "$work/$1.said" 2>&1
	echo $? > "$work/$1.status"
}

joined()
{
	sed "s/^# */# $1: /" "$work/$1.said"
	[ "$(cat "$work/$1.status")" = 0 ]
}

# several - three instances, each with its own events
several()
{
	prepare one syscalls/sys_enter_write sched/sched_switch
	prepare two syscalls/sys_exit_write
	prepare three syscalls/sys_enter_write syscalls/sys_exit_write
	start_load one
	join one 4 &
	one=$!
	join two 4 &
	two=$!
	join three 4
	wait $one $two
	stop_load
	for instance in one two three; do
		joined $instance
		result $? "three instances at once: stacks of instance $instance"
		remove_instance $instance
	done
}

# While the option is switched, events may lack a stack, but none has a wrong one.
switched()
{
	prepare switched syscalls/sys_enter_write syscalls/sys_exit_write
	start_load switched
	(
		while [ ! -e "$work/enough" ]; do
			set_in switched options/userstacktrace_delay 0
			usleep 2000
			set_in switched options/userstacktrace_delay 1
			usleep 20000
			echo . >> "$work/switches"
		done
	) &
	toggler=$!
	join switched 4
	touch "$work/enough"
	wait $toggler
	stop_load
	joined switched && [ "$(wc -l < "$work/switches")" -ge 10 ]
	result $? "the option is switched while events come"
	remove_instance switched
}

# A sleeping task owes a stack to an instance that no longer exists when it wakes up.
removed()
{
	for i in $(seq 10); do
		add_instance gone || return
		set_in gone events/syscalls/sys_enter_clock_nanosleep/enable 1
		usleep 200000 &
		sleeper=$!
		for _ in $(seq 1000); do
			grep -q 'user unwind' "$tracing/instances/gone/trace" && break
			usleep 1000
		done
		grep -q 'user unwind' "$tracing/instances/gone/trace" || return
		# in every other round, the instance is removed without turning anything off first
		if [ $((i % 2)) = 0 ]; then
			rmdir "$tracing/instances/gone" || return
		else
			remove_instance gone || return
		fi
		wait $sleeper
	done
}

# The text for people.
piped()
{
	prepare pipe syscalls/sys_enter_write
	start_load pipe
	timeout 120 head -n 3000 "$tracing/instances/pipe/trace_pipe" > "$work/ids"
	set_in pipe trace ''
	set_in pipe options/sym-userobj 1
	timeout 120 head -n 3000 "$tracing/instances/pipe/trace_pipe" > "$work/names"
	stop_load
	remove_instance pipe
	grep -q '<user unwind> cookie=[0-9a-f]* event=[0-9]*$' "$work/names" &&
		grep -q '<user stack unwind>$' "$work/names" &&
		grep -q '^cookie=[0-9a-f]*$' "$work/names" &&
		grep -q "file_map: id=0x[0-9a-f]* dev=.* names=verified unit=file build_id=[0-9a-f]* path=$program\$" "$work/names"
	result $? "the records as text"
	grep -q '^ =>  <[0-9a-f]\{16\}> : 0x[0-9a-f]*$' "$work/ids"
	result $? "frames with ids"
	grep -q "^ =>  <[0-9a-f]\{16\}> : path=$program build_id=[0-9a-f]*\$" "$work/names"
	result $? "frames with path and build-id"
}

mkfifo "$work/end"

# Both take stacks of the same entries to the kernel.
with_perf()
{
	prepare both syscalls/sys_enter_write
	# code is patched for both before anything runs that may execute it
	perf record -q -a -e syscalls:sys_enter_write --call-graph fp,defer \
		-o "$work/perf.data" -- sh -c "touch $work/ready; read line < $work/end" \
		> "$work/perf.said" 2>&1 &
	perf=$!
	while [ ! -e "$work/ready" ]; do
		usleep 100000
	done
	start_load both
	join both 4
	stop_load
	echo > "$work/end"
	wait $perf
	remove_instance both
	joined both
	result $? "stacks in the trace beside perf"
	perf script -i "$work/perf.data" --no-inline -F comm,ip,sym 2> /dev/null |
		awk '
		/^ *(truth_load|exe) / { samples++ }
		/ inner_[0-9a-f]$/ { inner = 1 }
		/ outer_[0-9a-f]$/ { outer = inner }
		/^$/ { whole += outer; inner = outer = 0 }
		END {
			whole += outer
			printf "# perf: %d samples, %d whole\n", samples, whole
			exit !(whole >= 20 && whole >= 0.8 * samples)
		}'
	result $? "stacks of perf beside the trace"
}

several
switched
removed
result $? "instances are removed while stacks are still to come"
piped
with_perf
finish
