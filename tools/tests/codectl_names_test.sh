#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests where codectl(1) gets its names: attempts of users to make it open other files,
# containers, processes that have ended, file systems that do not answer.  Prints TAP, in the
# guest.
#
# Functions called by check() look unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"

jit=${JIT_DEMO:-$here/../jit-demo}
# Enough rounds for a recorder to look at the process while it exists.
seconds=0.5 turns=200
[ "${TEST_TIME_SCALE:-1}" = 1 ] || seconds=2 turns=40
getppid=syscalls:sys_enter_getppid

# as_nobody COMMAND - runs a shell command as nobody
as_nobody()
{
	su -s /bin/sh nobody -c "$1"
}

# has FUNCTIONS - does a stack end in these?
has()
{
	grep -q "^[^ ]*;$1[; ]" "$out/folded"
}

# record OPTION...
record()
{
	codectl_is 0 record --folded "$out/folded" "$@"
}

# --- a path that is a different file for root

# trap_is KIND - makes a file of that kind at the program's path, outside its user's namespace
trap_is()
{
	rm -f "$trap/program"
	case $1 in
	"a device") mknod -m 666 "$trap/program" c 1 3 ;;
	"a pipe") mkfifo -m 666 "$trap/program" ;;
	"a file of root") (umask 077; echo secret > "$trap/program") ;;
	"a link to a device") ln -s "$out/device" "$trap/program" ;;
	esac
}

opened()
{
	! grep -v ready "$out/opened"
}

# in_namespace ARG... - runs the program at that path, inside the namespace
in_namespace()
{
	echo "exec unshare -Urm sh -c 'mount -t tmpfs tmpfs $trap && cp $here/contend \
		$trap/program && exec $trap/program $*'"
}

test_trap()
{
	trap_is "$1"
	: > "$out/opened"
	"$here/opened" "$trap/program" >> "$out/opened" &
	opened=$!
	eventually grep -q ready "$out/opened"
	start_load su -s /bin/sh nobody -c "$(in_namespace 2 1000000000 1000)"
	check "record of a program whose path is $1 for root" record --event $getppid \
		--duration $seconds
	check "... has its names" has 'worker;turn;tell;syscall'
	check "where has its names" codectl_is 0 where $load "$(address take)"
	check "... of its own file" grep -q ': take+0x0$' "$out/stdout"
	check "... and nothing else was opened" opened
	stop_load
	kill $opened
	wait $opened 2> /dev/null
}

# After it has ended, its path is looked up outside the namespace.
test_ended_trap()
{
	trap_is "a pipe"
	sh -c "echo > '$trap/program'; echo > '$out/woken'" &
	writer=$!
	check "record of a program that ends at once, and was in a namespace" \
		record --event $getppid -- su -s /bin/sh nobody -c "$(in_namespace 2 3)"
	check "... whose path is a pipe for root, which was not opened" [ ! -e "$out/woken" ]
	kill $writer
	wait $writer 2> /dev/null
}

# --- files that have another path outside the namespace

test_replaced()
{
	cp "$here/contend" "$out/gone"
	start_load "$out/gone" 2 1000000000 1000
	rm "$out/gone"
	check "record of a program whose file was removed" record --event $getppid -p $load \
		--duration $seconds
	check "... has its names" has 'worker;turn;tell;syscall'
	cp "$here/signalled" "$out/gone"
	check "where of a file that was replaced" codectl_is 0 where $load "$(address take)"
	check "... has its names" grep -q ': take+0x0$' "$out/stdout"
	stop_load
	rm "$out/gone"
}

test_unprivileged()
{
	start_load su -s /bin/sh nobody -c "exec $here/contend 2 1000000000 1000"
	as_nobody "codectl where $load $(address take)" > "$out/stdout" 2> "$out/stderr"
	check "where by a user, of the user's process" [ $? = 0 ]
	check "... has the name" grep -q ': take+0x0$' "$out/stdout"
	stop_load
}

# --- separate debugging information

# where_with_debug MODE - in a namespace with the program's debugging information installed
where_with_debug()
{
	chmod "$1" "$debug"
	unshare -m sh -c "mount -t overlay -o \
		lowerdir=/usr/lib,upperdir=$out/upper,workdir=$out/work overlay /usr/lib &&
		exec codectl where $load $(address take)" > "$out/stdout" 2> "$out/stderr"
}

test_debug()
{
	id=$(cat "$here/lined.build-id")
	debug=$out/upper/debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug
	mkdir -p "${debug%/*}" "$out/work"
	cp "$here/lined.debug" "$debug"
	start_load "$here/lined" 2 1000000000 1000
	check "where in a program without symbols" codectl_is 0 where $load "$(address take)"
	check "... has no name" grep -q ': no name$' "$out/stdout"
	check "where with debugging information" where_with_debug 644
	check "... has the name" grep -q ': take+0x0$' "$out/stdout"
	check "... and the line" grep -q '^	source .*/contend.c:[1-9]' "$out/stdout"
	check "where with such as others can write to" where_with_debug 664
	check "... does not believe it" grep -q ': no name$' "$out/stdout"
	stop_load
}

# --- perf maps

demo="$jit/jit-demo -m -k -t 4 -n $turns $jit/programs/fib.jd"

test_user_map()
{
	check "record of a user's JIT until it ends" record --event sched:sched_switch -- \
		su -s /bin/sh nobody -c "exec $demo"
	check "... has its names" has 'jit:fib.fib@[12]'
	su -s /bin/sh nobody -c "exec $jit/jit-demo -m -k -t 4 -n 1000000 $jit/programs/fib.jd" \
		> "$out/load" &
	load=$!
	eventually grep -q jit-demo /proc/$load/comm
	start_recorder --event sched:sched_switch -p $load --folded "$out/folded"
	stop_load
	wait $recorder
	check "record -p of a user's JIT until it is killed" [ $? = 0 ]
	check "... has its names" has 'jit:fib.fib@[12]'
	rm -f /tmp/perf-*.map
}

# A process with another PID in its namespace, and with a /tmp that is removed with it.
test_container()
{
	check "record of a JIT in a container until that ends" record \
		--event sched:sched_switch -- su -s /bin/sh nobody -c "exec unshare -Urmpf \
		sh -c 'mount -t tmpfs tmpfs /tmp; $demo; echo /tmp/perf-*; true'"
	check "... where it has a number of its own" grep -q '^/tmp/perf-[1-9].map$' "$out/stdout"
	check "... has its names" has 'jit:fib.fib@[12]'
}

# Perf maps of one user about the code of another are not trusted.
test_other_map()
{
	start_load "$here/contend" 2 1000000000 1000
	at=$(sed -n '/\[heap\]/s/-.*//p' /proc/$load/maps)
	as_nobody "echo $at 10 made by nobody > /tmp/perf-$load.map"
	codectl_is 0 where $load "$at" && grep -q ': no name$' "$out/stdout"
	check "a perf map of another user is not believed" [ $? = 0 ]
	rm -f /tmp/perf-$load.map
	(umask 077; echo "$at 10 secret" > "$out/secret")
	ln -s "$out/secret" /tmp/perf-$load.map
	codectl_is 0 where $load "$at" && grep -q ': no name$' "$out/stdout"
	check "no link is followed" [ $? = 0 ]
	rm -f /tmp/perf-$load.map
	stop_load
}

# --- a file server that does not answer

test_silent_server()
{
	start_load "$here/served" "$here/contend" 2 1000000000 1000
	su -s /bin/sh nobody -c "exec $here/contend 2 1000000000 1000" > "$out/other" &
	other=$!
	eventually grep -q take "$out/other"
	check "record of a file that cannot be read" record --no-attach --event $getppid \
		--duration $seconds
	check "... has the names of others" has 'worker;turn;tell;syscall'
	check "... and not its own" has '\[table\];\[table\];\[table\];syscall'
	# Pages that are read ahead for a table, and never arrive, may stop the program.
	check "record ends that would attach a table to it" record --event $getppid \
		--duration $seconds
	kill -KILL $other
	wait $other 2> /dev/null
	stop_load
	umount /tmp/codectl-fuse-*
	rmdir /tmp/codectl-fuse-*
	check "no process is left" eventually nobody_is_left
}

# --- a process that cannot be looked at

# Its stacks are recorded, but not read before it hangs.
test_delayed()
{
	chmod 666 /dev/fuse
	start_load "$here/contend" 2 1000000000 1000
	start_recorder --event $getppid --duration 20 --folded "$out/folded"
	check "a process delays its execve()" start_delayed "$(id -u nobody)"
	# Who looks for the names of that user's files waits for up to a minute.
	eventually has_ended $recorder || eventually has_ended $recorder
	check "a recording ends meanwhile" has_ended $recorder
	kill -KILL $recorder 2> /dev/null
	wait $recorder
	check "... as it should" [ $? = 0 ]
	check "... has the names of others" has 'worker;turn;tell;syscall'
	check "a recording of that process ends" ends_with 0 timeout -s KILL 120 codectl \
		record --no-attach --event $getppid -p "$delayed" --duration $seconds
	kill -KILL "$server"
	stop_load
	check "no process is left" eventually nobody_is_left
}

nobody_is_left()
{
	! pidof codectl
}

chmod 711 "$out"
trap=$out/trap
mkdir -m 777 "$trap"
mknod -m 666 "$out/device" c 1 3
hold_tracepoints
for kind in "a device" "a pipe" "a file of root" "a link to a device"; do
	test_trap "$kind"
done
test_ended_trap
test_replaced
test_unprivileged
test_debug
test_user_map
test_container
test_other_map
test_silent_server
test_delayed
finish
