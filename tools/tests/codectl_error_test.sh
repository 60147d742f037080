#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests what codectl(1) prints and leaves behind after an error.  Prints TAP, in the guest.
#
# Functions called by check() look unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"

# as_nobody ARG...
as_nobody()
{
	su -s /bin/sh nobody -c "codectl $*" > "$out/stdout" 2> "$out/stderr"
	[ $? = 1 ] && one_line 1 'not permitted'
}

# fails_in TEXT COMMAND... - runs the command, which runs codectl, in a separate mount namespace
fails_in()
{
	text=$1
	shift
	unshare -m "$@" > "$out/stdout" 2> "$out/stderr"
	ended_with $? "$text"
}

# ended_with STATUS TEXT - how codectl ended; it may have printed more before
ended_with()
{
	[ "$1" = 1 ] && tail -n 1 "$out/stderr" | grep -q "^codectl: .*$2"
}

# refused CALL TEXT ARG... - runs codectl with that system call refused
refused()
{
	call=$1 text=$2
	shift 2
	"$here/refuse" "$call" codectl "$@" > "$out/stdout" 2> "$out/stderr"
	ended_with $? "$text"
}

test_processes()
{
	for pid in 99999999 4294967297 2147483648; do
		check "no such process: $pid" fails_with 1 'no process' list $pid
	done
	# The shell becomes a sleep, which does not wait for its child.
	sh -c 'sleep 1 & echo $!; exec sleep 20' > "$out/zombie" &
	load=$!
	sleep 2
	codectl_is 0 list --raw "$(cat "$out/zombie")" && [ ! -s "$out/stdout" ]
	check "a process that has ended has nothing" [ $? = 0 ]
	stop_load
	check "list of another user's process" as_nobody list 1
	check "where in another user's process" as_nobody where 1 1000
	check "record without root" as_nobody record -- true
	check "a query that is refused" refused ioctl 'not permitted' where 1 \
		"$(sed -n '1s/-.*//p' /proc/1/maps)"
	# shellcheck disable=SC2016
	check "no file descriptor for the mappings" fails_in 'Too many open files' \
		sh -c 'ulimit -S -n 4; exec codectl where $$ 1000'
}

test_kernels()
{
	check "a kernel without codectl" fails_in 'has no codectl' \
		sh -c 'mount -t tmpfs tmpfs /proc; codectl list 1'
	check "a kernel without user stacks in its traces" \
		fails_in 'no deferred user stacks' sh -c \
		"mount -t tmpfs tmpfs $tracing/options; codectl record -- true"
	check "record without tracefs" fails_in 'mount -t tracefs' sh -c \
		"umount $tracing; umount /sys/kernel/debug/tracing
		umount /sys/kernel/debug; codectl record -- true"
	echo 0 > /proc/sys/kernel/codectl
	for call in 'list 1' 'where 1 1000' 'record -- true'; do
		# shellcheck disable=SC2086
		check "codectl switched off: $call" fails_with 1 'switched off' $call
	done
	check "codectl switched off: record --cpu says what its stacks are" sh -c \
		'codectl record --cpu -- true 2>&1 | grep -q "off.*; stacks are those of frame pointers"'
	echo 1 > /proc/sys/kernel/codectl
}

# perf uses the event.
event_in_use()
{
	offset=$(codectl where "$load" "$(address take)" | sed -n 's/.*, offset //p')
	echo "p:codectl_test/take $here/contend:$offset" > "$tracing/uprobe_events"
	perf record -q -o "$out/perf.data" -e codectl_test:take -a sleep 1000 \
		> "$out/perf" 2>&1 &
	perf=$!
	until [ -s "$out/perf.data" ] || ! kill -0 "$perf"; do
		usleep 10000
	done
	sleep 1
	# Where tables take long, record says so first.
	fails_with 1 'cannot enable the event codectl_test:take' record --no-attach \
		--event codectl_test:take -- true
	status=$?
	kill "$perf"
	wait "$perf" 2> /dev/null
	echo > "$tracing/uprobe_events"
	return "$status"
}

test_events()
{
	for event in a:b ab : :sys_enter_futex syscalls: ../syscalls:sys_enter_futex \
		     syscalls:../sched/sched_switch; do
		check "no such event: $event" fails_with 1 "no such event: $event" \
			record --event $event -- true
	done
	echo kept > "$out/kept"
	check "no such event, and a file that is there" fails_with 1 "no such event: a:b" \
		record --event a:b --folded "$out/kept" -- true
	check "... has what it had" grep -q kept "$out/kept"
	# shellcheck disable=SC2016
	check "an event without a format" fails_in \
		'cannot read the format of the event syscalls:sys_enter_getppid' sh -c '
		event=$1/events/syscalls/sys_enter_getppid
		mount -t tmpfs tmpfs "$event"
		touch "$event/enable"
		codectl record --event sys_enter_getppid -- true' sh "$tracing"
	start_load "$here/contend" 2 1000000000 1000
	check "an event that cannot be enabled" event_in_use
	stop_load
}

# instance_is_there - there is already one with the name that codectl would choose
instance_is_there()
{
	# shellcheck disable=SC2016
	fails_in 'an instance of that name' sh -c '
		mkdir "$1/instances/codectl-$$"
		exec codectl record -- true' sh "$tracing"
}

test_instances()
{
	check "no instance can be made" refused mkdir 'cannot make an instance' \
		record -- true
	check "one of that name is there" instance_is_there
	rmdir "$tracing"/instances/codectl-*
	check "nobody could remove it: no pipe" refused pipe2 'cannot make a pipe' \
		record -- true
	check "nobody could remove it: no process" refused clone \
		'cannot start a process' record -- true
	check "a buffer larger than the memory" fails_with 1 \
		'cannot write 99999999999 to buffer_size_kb' record \
		--buffer 99999999999 -- true
	check "none of them leaves an instance" no_instance
	for call in rmdir chdir; do
		check "it cannot be removed: $call" refused $call \
			"cannot remove the instance .*'rmdir" record -- true
		rmdir "$tracing"/instances/codectl-*
	done
}

no_name_event()
{
	eventually [ ! -e "$tracing/events/user_events/codectl_name" ]
}

killed_recorder_of_names()
{
	start_load "$here/contend" 2 1000000000 1000
	start_recorder --names -p "$load"
	[ -e "$tracing/events/user_events/codectl_name" ]
	status=$?
	kill -KILL "$recorder"
	wait "$recorder" 2> /dev/null
	stop_load
	return "$status"
}

test_name_event()
{
	check "no such command, with names" fails_with 1 'cannot run /none' record --names -- /none
	check "it leaves no event of names" no_name_event
	check "a recorder of names is killed" killed_recorder_of_names
	check "it leaves no event of names, either" no_name_event
}

# With any number of descriptors that is too small, it fails and says so.
few_descriptors()
{
	limit=4
	until sh -c "ulimit -S -n $limit; exec codectl record --futex \
		--folded $out/folded -- true" > "$out/stdout" 2> "$out/stderr"; do
		[ $? = 1 ] && grep -q '^codectl: ' "$out/stderr" || return 1
		limit=$((limit + 1))
		[ "$limit" -lt 60 ] || return 1
	done
	[ "$limit" -gt 6 ] && no_instance
}

test_commands()
{
	check "no such command" fails_with 1 'cannot run /none' record -- /none
	# If codectl inherited an ignored SIGCHLD, children could end unnoticed.
	# shellcheck disable=SC2016
	check "children go on being waited for" timeout -s KILL 60 sh -c '
		trap "" CHLD
		exec codectl record -- true > "$1" 2> "$2"' \
		sh "$out/stdout" "$out/stderr"
	check "few file descriptors" few_descriptors
}

test_output()
{
	check "no such directory" fails_with 1 'cannot write /none/f' record \
		--folded /none/f -- true
	check "a full disk: list" fails_in 'cannot write the output' \
		sh -c 'codectl list 1 > /dev/full'
	check "a full disk: where" fails_in 'cannot write the output' \
		sh -c 'codectl where 1 1000 > /dev/full'
	check "a full disk: stacks" fails_in 'cannot write the output' \
		sh -c "codectl record -- $here/contend 2 5 > /dev/full"
	codectl_is 1 record --folded /dev/full -- "$here/contend" 2 5 &&
		said 'cannot write /dev/full'
	check "a full disk: folded stacks" [ $? = 0 ]
	check "no such directory for the recording" fails_with 1 'cannot write /none/r' record \
		-o /none/r -- true
	codectl_is 1 record -o /dev/full -- "$here/contend" 2 5 && said 'cannot write /dev/full'
	check "a full disk: recording" [ $? = 0 ]
}

# An instance cannot be removed while it is in use.
hold_instance()
{
	start_recorder --event sys_enter_getppid -p "$load"
	sleep "$1" 9< "$tracing/instances/codectl-$recorder/trace" &
	usleep 200000
	kill -INT "$recorder"
	wait "$recorder"
}

# The instance is removed while codectl records.
lose_instance()
{
	start_recorder --event sys_enter_getppid -p "$load"
	until rmdir "$tracing/instances/codectl-$recorder" 2> /dev/null; do
		kill -0 "$recorder" || return 1
	done
	wait "$recorder"
	[ $? = 1 ] && one_line 1 'cannot read the trace'
}

test_lost_instances()
{
	start_load "$here/contend" 2 1000000000 1000
	check "an instance that goes" lose_instance
	check "an instance in use for a while" hold_instance 2
	check "goes as well" no_instance
	stop_load
}

test_flamegraphs()
{
	check "no such directory for the drawing" fails_with 1 'cannot write /none/svg' \
		record --flamegraph /none/svg -- true
	codectl record --flamegraph /dev/full -- "$here/contend" 2 5 \
		> "$out/stdout" 2> "$out/stderr"
	ended_with $? 'cannot write /dev/full: No space left'
	check "no room for the drawing" [ $? = 0 ]
	check "... and what it was to be in stays" [ -c /dev/full ]
	check "what is written in part goes" fails_in 'cannot write /tmp/svg: No space left' \
		sh -c "PATH=$here:/usr/bin
		mount -t tmpfs -o size=4k tmpfs /tmp
		codectl record --flamegraph /tmp/svg -- contend 2 5 > /dev/null
		[ \$? = 1 ] && [ ! -e /tmp/svg ] && exit 1"
	check "none of them leaves an instance" no_instance
}

hold_tracepoints
test_processes
test_kernels
test_events
test_instances
test_name_event
test_commands
test_output
test_lost_instances
test_flamegraphs
check "no instance is left by any of them" no_instance
finish
