#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests of codectl(1) in the guest, as TAP.
#
# What is called by check() looks unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../scripts/tap.sh
. "$here/tap.sh"

jit=${JIT_DEMO:-$here/../jit-demo}
tracing=/sys/kernel/tracing
out=$(mktemp -d)
rounds=200 seconds=0.5
[ "${TEST_TIME_SCALE:-1}" = 1 ] || rounds=50 seconds=3
load=''

# A tracepoint that two instances use already is not patched into the code when
# a third does: TCG may execute the breakpoint of a patch that is over, if others
# run meanwhile.
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

# check WHAT COMMAND... - shows what the last codectl printed if it fails
check()
{
	what=$1
	shift
	"$@"
	status=$?
	[ $status = 0 ] || sed 's/^/# /' "$out/stdout" "$out/stderr"
	result $status "$what"
}

# codectl_is STATUS ARG... - it exits with that status
codectl_is()
{
	want=$1
	shift
	codectl "$@" > "$out/stdout" 2> "$out/stderr"
	[ $? = "$want" ]
}

# fails_with STATUS TEXT ARG... - in one line that has the text
fails_with()
{
	text=$2 want=$1
	shift 2
	codectl_is "$want" "$@" && one_line "$want" "$text"
}

# A wrong call has a second line, which says where to look.
one_line()
{
	[ "$(wc -l < "$out/stderr")" = "$1" ] && [ ! -s "$out/stdout" ] &&
		head -n 1 "$out/stderr" | grep -q "^codectl: .*$2"
}

# start_load COMMAND... - in the background, once it has printed two lines
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
	kill -KILL $load
	wait $load 2> /dev/null
	load=''
}

# address NAME - of a function, as the load has printed it
address()
{
	sed -n "s/^$1 //p" "$out/load"
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

# folded COUNT EVENT FUNCTIONS - lines of folded stacks that end in the functions
folded()
{
	grep "^$2;\(.*;\)*$3 " "$out/folded" | awk -v want="$1" '
		{ sum += $NF }
		END { exit !(want == "some" ? sum > 0 : sum == want) }'
}

said()
{
	grep -q "$1" "$out/stderr"
}

test_calls()
{
	check "it says its version" codectl_is 0 --version
	check "it says how it is called" codectl_is 0 --help
	for call in '' 'nothing' 'list' 'list 1 2' 'where 1' 'where 1 zz' \
		    'record --what' 'record --event' 'record -p 1 -- true' \
		    'record true' 'record --duration 0' 'record --buffer 1x'; do
		# shellcheck disable=SC2086
		check "exit status 2: codectl $call" fails_with 2 . $call
	done
}

test_list()
{
	start_load "$here/contend" 2 1000000000 1000
	check "list of a process" codectl_is 0 list $load
	check "list has the program, verified, with its build-id" \
		grep -q "elf .* verified *$(cat "$here/contend.build-id") *$here/contend$" \
		"$out/stdout"
	check "list has the C library" grep -q 'verified .*/libc.so.6$' "$out/stdout"
	cp /proc/$load/codectl "$out/raw"
	codectl_is 0 list --raw $load && cmp "$out/raw" "$out/stdout" > "$out/stderr"
	check "list --raw is what the kernel says" [ $? = 0 ]
}

# where_is FUNCTION REGEX - in what was printed for an address two bytes inside it
where_is()
{
	codectl_is 0 where "$load" "$(printf %x $(($(address "$1") + 2)))" &&
		grep -q "^0x[0-9a-f]*: .*$1+0x2$" "$out/stdout" &&
		grep -q "$2" "$out/stdout" && grep -q 'registered  .*, ELF' "$out/stdout"
}

test_where()
{
	check "where names a function of the program" where_is take \
		"build-id *$(cat "$here/contend.build-id") (verified)"
	check "where names a function of the C library" where_is syscall \
		'file .*/libc.so.6, offset'
	check "where fails for what is not mapped" codectl_is 1 where $load 10
	check "where says so" grep -q '^0x10: not mapped$' "$out/stdout"
	stop_load
}

test_where_jit()
{
	"$jit/jit-demo" -m -k -n 1000000 "$jit/programs/fib.jd" > "$out/load" &
	load=$!
	for try in 1 2 3 4 5 6 7 8 9 10; do
		grep -q 'jit:fib.fib' "/tmp/perf-$load.map" 2> /dev/null && break
		sleep "$try"
	done
	# shellcheck disable=SC2046
	set -- $(grep 'jit:fib.fib' "/tmp/perf-$load.map" | tail -n 1)
	check "where names compiled code" codectl_is 0 where $load \
		"$(printf %x $((0x$1 + 1)))"
	check "the name is that of the perf map" grep -q ": $3+0x1$" "$out/stdout"
	check "and it is said that it is compiled" \
		grep -q 'registered  .*compiled code' "$out/stdout"
	chown nobody "/tmp/perf-$load.map"
	codectl_is 0 where $load "$1" && grep -q ': no name$' "$out/stdout"
	check "a perf map of another user is not believed" [ $? = 0 ]
	rm -f "/tmp/perf-$load.map"
	mkfifo "/tmp/perf-$load.map"
	check "a pipe in its place is not waited for" codectl_is 0 where $load "$1"
	rm -f "/tmp/perf-$load.map"
	stop_load
}

test_record()
{
	turns=$((4 * rounds))
	check "record --futex COMMAND" codectl_is 0 record --futex \
		--folded "$out/folded" -- "$here/contend" 4 $rounds
	check "the command has run" grep -q "^turns $turns$" "$out/stdout"
	check "each call of give() has its stack" folded $turns \
		syscalls:sys_enter_futex '__clone3;start_thread;worker;turn;give;syscall'
	check "take() has its stack" folded some syscalls:sys_enter_futex \
		'worker;turn;take;syscall'
	check "the most frequent comes first" most_frequent_first
	! said 'truncated\|lost' && ! grep -q 'truncated\|unknown\|\[' "$out/folded"
	check "each stack is whole, each frame has a name" [ $? = 0 ]
	check "frames have function, path and offset" grep -q \
		"^	give+0x[0-9a-f]* ($here/contend+0x[0-9a-f]*)$" "$out/stdout"
	check "record of two events" codectl_is 0 record --event sys_enter_getppid \
		--event syscalls:sys_enter_futex --folded "$out/folded" -- \
		"$here/contend" 2 $rounds
	check "one of them has its stacks" folded $((2 * rounds)) \
		syscalls:sys_enter_getppid 'worker;turn;tell;syscall'
	check "and so has the other" folded $((2 * rounds)) \
		syscalls:sys_enter_futex 'worker;turn;give;syscall'
	check "no instance is left" no_instance
}

most_frequent_first()
{
	awk '{ if (NR > 1 && $NF > last) exit 1; last = $NF }' "$out/folded"
}

test_record_signal()
{
	check "record of a signal handler" codectl_is 0 record --folded "$out/folded" \
		--event syscalls:sys_enter_getppid -- "$here/signalled" 7
	check "what was interrupted has its own name, at its first byte" folded 7 \
		syscalls:sys_enter_getppid 'main;interrupted;[^;]*;handler;syscall'
}

test_record_pid()
{
	start_load "$here/contend" 3 1000000000 1000
	check "record -p PID" codectl_is 0 record --event sys_enter_getppid -p $load \
		--duration $seconds --folded "$out/folded"
	check "its threads have their stacks" folded some syscalls:sys_enter_getppid \
		'worker;turn;tell;syscall'
	check "it goes on" kill -0 $load
	check "record of all, for a time" codectl_is 0 record --event sys_enter_getppid \
		--duration $seconds --folded "$out/folded"
	check "has it as well" folded some syscalls:sys_enter_getppid \
		'worker;turn;tell;syscall'
	stop_load
}

# A stack with another event than its own would show.
test_record_lost()
{
	start_load "$here/contend" 2 1000000000
	check "record with a tiny buffer" codectl_is 0 record --buffer 4 --futex \
		--event sys_enter_getppid -p $load --duration 2 --folded "$out/folded"
	check "it says that records were lost" said 'records lost'
	check "there are stacks" folded some syscalls:sys_enter_getppid 'tell;syscall'
	! grep 'sys_enter_getppid;' "$out/folded" | grep -v -q ';tell;' &&
		! grep 'sys_enter_futex;' "$out/folded" | grep -q ';tell;'
	check "each with its own event" [ $? = 0 ]
	check "each id is known" check_ids_known
	stop_load
}

check_ids_known()
{
	! grep -q 'id 0x' "$out/stdout"
}

test_record_jit()
{
	check "record of compiled code" codectl_is 0 record --event sched:sched_switch \
		--folded "$out/folded" -- "$jit/jit-demo" -m -k -t 8 -n $((rounds / 2)) \
		"$jit/programs/fib.jd" "$jit/programs/queens.jd"
	check "its functions have names" grep -q \
		'_start;.*;main;.*;jit:[a-z]*\.[a-z]*@[12];' "$out/folded"
}

# Whether it has read some of the trace.
is_recording()
{
	grep -q '^read events: [1-9]' \
		"$tracing/instances/codectl-$recorder"/per_cpu/cpu*/stats \
		2> /dev/null
}

# interrupted_by SIGNAL - while it records
interrupted_by()
{
	codectl record --event sys_enter_getppid -p $load > "$out/stdout" \
		2> "$out/stderr" &
	recorder=$!
	while ! is_recording && kill -0 "$recorder"; do
		usleep 10000
	done
	kill "-$1" $recorder
	wait $recorder 2> /dev/null
	recorded=$?
}

test_interrupt()
{
	start_load "$here/contend" 2 1000000000 1000
	for signal in INT TERM; do
		# A shell without job control has its background ignore INT.
		interrupted_by $signal
		check "$signal ends the recording" [ $recorded = 0 ]
		check "which is printed" grep -q '^	tell+0x' "$out/stdout"
		check "and its instance removed" no_instance
	done
	interrupted_by KILL
	check "KILL ends it" [ $recorded = 137 ]
	check "and the instance goes" no_instance
	stop_load
}

test_flamegraph()
{
	check "without a renderer there is an error" fails_with 1 \
		'flamegraph.pl.*libdevel-nytprof-perl' record --flamegraph "$out/svg" \
		-- true
	PATH=$here:$PATH
	check "record --flamegraph" codectl_is 0 record --futex \
		--flamegraph "$out/svg" -- "$here/contend" 2 $rounds
	grep -q '<svg' "$out/svg" && grep -q '>give' "$out/svg" &&
		grep -q '>worker' "$out/svg" && grep -q '</svg>' "$out/svg"
	check "draws the functions" [ $? = 0 ]
	rm -f "$out/svg"
	check "nothing to draw is an error" codectl_is 1 record \
		--event sys_enter_getppid --flamegraph "$out/svg" -- true
	check "and there is no drawing" [ ! -e "$out/svg" ]
}

# as_nobody ARG...
as_nobody()
{
	su -s /bin/sh nobody -c "codectl $*" > "$out/stdout" 2> "$out/stderr"
	[ $? = 1 ] && one_line 1 'not permitted'
}

without_tracefs()
{
	unshare -m sh -c "umount $tracing; umount /sys/kernel/debug/tracing
		umount /sys/kernel/debug; codectl record -- true" \
		> "$out/stdout" 2> "$out/all"
	status=$?
	grep '^codectl:' "$out/all" > "$out/stderr"
	[ "$status" = 1 ] && one_line 1 'mount -t tracefs'
}

test_errors()
{
	check "no such process" fails_with 1 'no process' list 99999999
	check "no such event" fails_with 1 'no such event: a:b' record --event a:b -- true
	check "nor without a system" fails_with 1 'no such event: ab' record --event ab
	check "no such command" fails_with 1 'cannot run /none' record -- /none
	check "no such folder" fails_with 1 'cannot write' record \
		--folded /none/f -- true
	check "list of another user's process" as_nobody list 1
	check "where in another user's process" as_nobody where 1 1000
	check "record without root" as_nobody record -- true
	check "record without tracefs" without_tracefs
	echo 0 > /proc/sys/kernel/codectl
	for call in 'list 1' 'where 1 1000' 'record -- true'; do
		# shellcheck disable=SC2086
		check "codectl switched off: $call" fails_with 1 'switched off' $call
	done
	echo 1 > /proc/sys/kernel/codectl
	check "no instance is left by any of them" no_instance
}

hold_tracepoints
test_calls
test_list
test_where
test_where_jit
test_record
test_record_signal
test_record_pid
test_record_lost
test_interrupt
test_record_jit
test_flamegraph
test_errors
finish
