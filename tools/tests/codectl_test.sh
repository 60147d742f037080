#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests of codectl(1) in the guest, as TAP.
#
# Functions called by check() look unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"

jit=${JIT_DEMO:-$here/../jit-demo}
rounds=200 seconds=0.5
[ "${TEST_TIME_SCALE:-1}" = 1 ] || rounds=50 seconds=2

# folded COUNT EVENT FUNCTIONS - lines of folded stacks that end in the functions
folded()
{
	grep "^$2;\(.*;\)*$3 " "$out/folded" | awk -v want="$1" '
		{ sum += $NF }
		END { exit !(want == "some" ? sum > 0 : sum == want) }'
}

test_calls()
{
	check "it says its version" codectl_is 0 --version
	check "it says how it is called" codectl_is 0 --help
	for call in '' 'nothing' 'list' 'list 1 2' 'list -1' 'list --raw' 'list 0' \
		    'list 1x' 'where 1' 'where 1 zz' 'where -1 10' 'record --what' \
		    'record --event' 'record -p 1 -- true' 'record -p 1/' \
		    'record true' 'record --duration 0' 'record --duration x' \
		    'record --duration 1e10' 'record --duration nan' \
		    'record --duration 1s' 'record --buffer 1x' 'record --buffer :' \
		    'record --buffer 99999999999999999999' report; do
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
	codectl_is 0 list self && grep -q 'verified .*/libc.so.6$' "$out/stdout"
	check "list of itself" [ $? = 0 ]
	codectl_is 0 list --raw contend && cmp "$out/raw" "$out/stdout" > "$out/stderr"
	check "list of the process of that name" [ $? = 0 ]
	check "where in the process of that name" codectl_is 0 where contend \
		"$(address take)"
	check "where in itself" codectl_is 1 where self 10
	check "no process of that name" fails_with 1 'no process is called contend2' \
		list contend2
	"$here/contend" 2 1000000000 1000 > "$out/other" &
	other=$!
	eventually grep -q contend "/proc/$other/comm"
	check "two processes of that name" fails_with 1 '2 processes are called contend' \
		where contend 10
	check "which it does not record, either" fails_with 1 'give the id of one' \
		record -p contend
	kill -KILL $other
	wait $other 2> /dev/null
}

# where_is FUNCTION REGEX - is it in the output for an address two bytes inside FUNCTION?
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
	check "where shows the stack as memory" where_memory \
		"$(sed -n 's/-.*\[stack\]$//p' /proc/$load/maps)" ', \[stack\]'
	check "and what has no name as well" where_memory \
		"$(sed '1,/\[heap\]/d' /proc/$load/maps |
		   sed -n '/ 00:00 0 *$/s/-.*//p' | head -n 1)" ''
	stop_load
}

# where_memory ADDRESS TEXT - is it in the output for the mapping that starts there?
where_memory()
{
	codectl_is 0 where "$load" "$1" && grep -q "^0x$1: no name$" "$out/stdout" &&
		grep -q "memory  *$1-[0-9a-f]*$2$" "$out/stdout" &&
		grep -q '^	not registered$' "$out/stdout"
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

# Users can only make perf maps of their own processes.
test_where_user()
{
	start_load su -s /bin/sh nobody -c "exec $here/contend 2 1000000000 1000"
	at=$(sed -n '/\[heap\]/s/-.*//p' /proc/$load/maps)
	echo "$at 10 made by nobody" > /tmp/perf-$load.map
	chown nobody /tmp/perf-$load.map
	check "where believes the user of the process" codectl_is 0 where $load "$at"
	check "and has the name" grep -q ': made by nobody+0x0$' "$out/stdout"
	su -s /bin/sh nobody -c "codectl where $load $at" > "$out/stdout" 2> "$out/stderr"
	check "so has that user" grep -q ': made by nobody+0x0$' "$out/stdout"
	rm -f /tmp/perf-$load.map
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
	! said 'are truncated\|lost' && ! grep -q 'truncated\|unknown\|\[' "$out/folded"
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
	awk '/^[0-9]/ { if (nr++ && $1 > last) exit 1; last = $1 } END { exit nr < 2 }' "$out/stdout"
}

# --duration ends before the command does.
test_record_command()
{
	cp "$here/contend" "$out/co n	\\tend"
	check "record of a command, for a time" codectl_is 0 record --duration $seconds \
		--event sys_enter_getppid --event syscalls:sys_enter_getppid \
		--folded "$out/folded" -- "$out/co n	\\tend" 2 1000000000 1000
	! grep -q '/co n.*tend' /proc/[0-9]*/cmdline 2> /dev/null
	check "ends the command" [ $? = 0 ]
	check "names are found whatever the path" folded some \
		syscalls:sys_enter_getppid 'worker;turn;tell;syscall'
	check "which is shown on one line" grep -q \
		"^	tell+0x[0-9a-f]* ($out/co n\\\\011\\\\134tend+0x" \
		"$out/stdout"
}

test_record_signal()
{
	check "record of a signal handler" codectl_is 0 record --folded "$out/folded" \
		--event syscalls:sys_enter_getppid -- "$here/signalled" 7
	check "what was interrupted has its own name, at its first byte" folded 7 \
		syscalls:sys_enter_getppid 'main;interrupted;[^;]*;handler;syscall'
}

recorder_ends()
{
	eventually has_ended "$recorder" && wait "$recorder"
}

test_record_pid()
{
	start_load "$here/contend" 3 1000000000 1000
	check "record -p NAME" codectl_is 0 record --event sys_enter_getppid -p contend \
		--duration $seconds --folded "$out/folded"
	check "its threads have their stacks" folded some syscalls:sys_enter_getppid \
		'worker;turn;tell;syscall'
	check "record -p PID" codectl_is 0 record --event sys_enter_getppid -p $load \
		--duration $seconds --folded "$out/folded"
	check "its threads have their stacks" folded some syscalls:sys_enter_getppid \
		'worker;turn;tell;syscall'
	check "it goes on" kill -0 $load
	# Not a child of this shell, which would keep it as a zombie.
	soon=$(sh -c "$here/contend 2 1000000000 10000 > /dev/null & echo \$!")
	start_recorder --event sys_enter_getppid -p "$soon"
	kill "$soon"
	check "it ends with the process" recorder_ends
	check "record of all, for a time" codectl_is 0 record --event sys_enter_getppid \
		--duration $seconds --folded "$out/folded"
	check "has it as well" folded some syscalls:sys_enter_getppid \
		'worker;turn;tell;syscall'
	stop_load
}

# Each event must have its own stack.
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

# The record that explains an id comes with the first stack, and gets lost.
test_record_unexplained()
{
	cp "$here/contend" "$out/new"
	start_load "$here/contend" 2 1000000000
	start_recorder --buffer 4 --futex --event sys_enter_getppid --duration 4
	"$out/new" 2 1000000000 > /dev/null &
	new=$!
	wait $recorder
	check "record of a file that is first used while records are lost" [ $? = 0 ]
	check "has its name" grep -q " ($out/new+0x" "$out/stdout"
	check "each id is known" check_ids_known
	kill -KILL $new
	wait $new 2> /dev/null
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

# Programs come and go, and reuse the addresses of others: with the names that addresses have at
# the end, a stack would mix functions of several programs.
# names_told KIND [OPTION] - checks the names of jit-demo
names_told()
{
	kind=$1
	shift
	check "record --names of compiled code$kind" codectl_is 0 record --names \
		--event sched:sched_switch --event sys_enter_writev --folded "$out/folded" -- \
		"$jit/jit-demo" "$@" -r -t 4 -n $((rounds / 40 + 1)) "$jit/programs/fib.jd" \
		"$jit/programs/queens.jd" "$jit/programs/tree.jd"
	awk -F ';' '/jit:/ {
			stacks++
			name = ""
			for (i = 1; i <= NF; i++) {
				if ($i ~ /unknown/)
					unknown++
				# The shared stubs have names like jit:enter.
				if ($i !~ /^jit:.*\./)
					continue
				# The stub of a function that is not compiled yet.
				sub(/^jit:stub:/, "jit:", $i)
				sub(/\..*/, "", $i)
				mixed += name != "" && $i != name
				name = $i
			}
			if (name != "")
				seen[name] = 1
		}
		END {
			print "# stacks " stacks ", unknown " unknown + 0 ", mixed " mixed + 0 ", programs " length(seen)
			exit !(stacks > 20 && !unknown && !mixed && length(seen) > 2)
		}' "$out/folded"
	check "... each stack of one program$kind" [ $? = 0 ]
	! grep 'names lost' "$out/stderr"
	check "... and none was lost$kind" [ $? = 0 ]
}

test_record_names()
{
	names_told ""
	names_told ", in granule maps" -g
}

# interrupted_by SIGNAL - sends it while codectl records
interrupted_by()
{
	start_recorder --event sys_enter_getppid -p $load
	kill "-$1" $recorder
	wait $recorder 2> /dev/null
	recorded=$?
}

test_interrupt()
{
	start_load "$here/contend" 2 1000000000 1000
	for signal in INT TERM; do
		# A shell without job control starts background commands with INT ignored.
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

# reports TEXT ARG... - of the recording, on standard output
reports()
{
	text=$1
	shift
	codectl_is 0 report "$@" "$out/recording" && grep -q -- "$text" "$out/stdout"
}

test_report()
{
	# Run for a second: the cgroups of threads are read from /proc while they run.
	check "record -o" codectl_is 0 record --event sys_enter_getppid -o "$out/recording" \
		--folded "$out/folded" -- "$here/contend" 2 $rounds $((1000000 / rounds))
	! grep -q '^[0-9]' "$out/stdout" && [ "$(stat -c %a "$out/recording")" = 600 ]
	check "prints no stacks, and keeps them from others" [ $? = 0 ]
	tail -n 1 "$out/recording" | grep -q '^{"end":{}}$'
	check "a recording has its end" [ $? = 0 ]
	codectl_is 0 report --folded - "$out/recording" && cmp "$out/folded" "$out/stdout"
	check "report has the stacks that record has" [ $? = 0 ]
	check "by thread" reports '^contend;pid [0-9]*;tid [0-9]*;.*;tell;syscall ' \
		--by comm,pid,tid --folded -
	check "each of them its share" by_thread
	# Without a mounted cgroup file system, cgroups are unknown.
	cgroup=$(sed -n 's/^0:://p' /proc/self/cgroup)
	check "by cgroup" reports "^${cgroup:-.unknown.};__clone3;.*;tell;syscall " \
		--by cgroup --folded -
	check "files and offsets" reports "^	tell+0x[0-9a-f]* ($here/contend+0x" --stacks
	check "a table" reports "^ *0.00% 100.00% .* contend  *tell$" --by none
	check "all of it came in time" reports "worker;turn;tell;syscall $((2 * rounds))$" \
		--by none --time 0,1000 --folded -
	grep -q "\"build-id\":\"$(cat "$here/contend.build-id")\"" "$out/recording"
	check "build-ids" [ $? = 0 ]
}

# Both threads call tell() equally often.
by_thread()
{
	awk -v want="$rounds" '/;tell;syscall / { nr++; wrong += $NF != want }
		END { exit nr != 2 || wrong }' "$out/stdout"
}

hold_tracepoints
test_calls
test_list
test_where
test_where_jit
test_where_user
test_record
test_record_command
test_record_signal
test_record_pid
test_record_lost
test_record_unexplained
test_interrupt
test_record_jit
test_record_names
test_flamegraph
test_report
finish
