# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2317,SC2034
#
# For the tests of codectl(1) in the guest, in the directory $here.

# shellcheck source=../../scripts/check/tap.sh
. "$here/tap.sh"

tracing=/sys/kernel/tracing
out=$(mktemp -d)
load=''

# While two instances use a tracepoint, a third one does not patch the code: if other CPUs run
# during a patch, TCG may execute its breakpoint after the patch is complete.
hold_tracepoints()
{
	for holder in $tracing/instances/hold-1 $tracing/instances/hold-2; do
		mkdir "$holder"
		echo 1 > "$holder/options/event-fork"
		echo 1 > "$holder/options/record-tgid"
		echo 4194303 > "$holder/set_event_pid"
		for event in syscalls/sys_enter_futex syscalls/sys_enter_getppid \
			     sched/sched_switch; do
			echo 1 > "$holder/events/$event/enable"
		done
	done
}

release_tracepoints()
{
	rmdir "$tracing/instances/hold-1" "$tracing/instances/hold-2"
}

cleanup()
{
	[ -z "$load" ] || kill -KILL "$load" 2> /dev/null
	echo 1 > /proc/sys/kernel/codectl
	release_tracepoints
	rm -rf "$out"
}
trap cleanup EXIT

# check WHAT COMMAND... - if it fails, prints the output of the last codectl
check()
{
	what=$1
	shift
	"$@"
	status=$?
	[ $status = 0 ] || sed 's/^/# /' "$out/stdout" "$out/stderr"
	result $status "$what"
}

# eventually COMMAND... - does it succeed within a minute, or two more on slow kernels?
eventually()
{
	tries='1 2 3 4 5 6 7 8 9 10'
	[ "${TEST_TIME_SCALE:-1}" = 1 ] || tries="$tries 15 20 25 30"
	for try in $tries; do
		"$@" && return
		sleep "$try"
	done
	return 1
}

# ends_with STATUS COMMAND... - does it exit with that status?  Keeps its output.
ends_with()
{
	want=$1
	shift
	"$@" > "$out/stdout" 2> "$out/stderr"
	[ $? = "$want" ]
}

# codectl_is STATUS ARG... - does codectl exit with that status?
codectl_is()
{
	want=$1
	shift
	ends_with "$want" codectl "$@"
}

# fails_with STATUS TEXT ARG... - does codectl fail soon, with one line that contains the text?
fails_with()
{
	text=$2 want=$1
	shift 2
	ends_with "$want" timeout 60 codectl "$@" && one_line "$want" "$text"
}

# A usage error has a second line, which says where to look.
one_line()
{
	[ "$(wc -l < "$out/stderr")" = "$1" ] && [ ! -s "$out/stdout" ] &&
		head -n 1 "$out/stderr" | grep -q "^codectl: .*$2"
}

# start_load COMMAND... - starts it in the background, and waits until it has printed two lines
start_load()
{
	: > "$out/load"
	"$@" >> "$out/load" &
	load=$!
	until [ "$(wc -l < "$out/load")" -ge 2 ]; do
		usleep 10000
	done
}

stop_load()
{
	kill -KILL "$load"
	wait "$load" 2> /dev/null
	load=''
}

# address NAME - the address of a function that the load has printed
address()
{
	sed -n "s/^$1 //p" "$out/load"
}

# start_delayed UID - starts a process that nobody can look at, $delayed, by a server, $server
start_delayed()
{
	mkdir -m 777 "$out/delayed"
	"$here/silent" "$1" "$out/delayed" execve > "$out/silent" &
	eventually is_delayed
}

# What lists all processes hangs, too, such as pidof.
is_delayed()
{
	delayed=$(sed -n 's/^\([0-9]*\) .*/\1/p' "$out/silent")
	server=$(sed -n 's/^[0-9]* //p' "$out/silent")
	[ "$delayed" ] && ! timeout -s KILL 5 readlink "/proc/$delayed/ns/user" > "$out/stdout"
}

has_ended()
{
	! kill -0 "$1" 2> /dev/null
}

no_instance()
{
	for try in 1 2 3 4 5 6 7 8 9 10; do
		set -- "$tracing"/instances/codectl-*
		[ -e "$1" ] || return 0
		sleep "$try"
	done
	return 1
}

# Has it read some of the trace?
is_recording()
{
	grep -q '^read events: [1-9]' \
		"$tracing/instances/codectl-$recorder"/per_cpu/cpu*/stats \
		2> /dev/null
}

# start_recorder OPTION... - starts it, and waits until it records or has failed
start_recorder()
{
	codectl record --no-attach "$@" > "$out/stdout" 2> "$out/stderr" &
	recorder=$!
	while ! is_recording && kill -0 "$recorder"; do
		usleep 10000
	done
}

# said TEXT - on standard error
said()
{
	grep -q "$1" "$out/stderr"
}
