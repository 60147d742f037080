#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests the plugin of libtraceevent with stock trace-cmd.  Prints TAP, in the guest.
#
# Functions called by check() look unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"

hold_tracepoints
rounds=50
# A thread does not wait if it already has the turn.
waits=$((rounds / 10))

# record PROGRAM - its trace is in trace.dat
record()
{
	trace-cmd record -q -o "$out/trace.dat" -e syscalls:sys_enter_futex \
		-O userstacktrace_delay "$1" 2 "$rounds" > "$out/stdout" 2> "$out/stderr"
}

# report [OPTION]... - prints trace.dat by trace-cmd with the plugin
report()
{
	TRACEEVENT_PLUGIN_DIR=$here/plugins trace-cmd report -i "$out/trace.dat" "$@" \
		> "$out/report" 2> "$out/stderr" && ! grep -v '^cpus=' "$out/stderr"
}

# stacks INNERMOST... - counts stacks with these innermost frames, extended regular expressions
stacks()
{
	printf '%s\n' "$@" | awk '
		NR == FNR { want[++wanted] = $0; next }
		/user_unwind_stack:/ { all += at == wanted; at = 0; next }
		/^ => / { if (at >= 0 && at < wanted) at = $0 ~ "^ => " want[at + 1] ? at + 1 : -1; next }
		{ all += at == wanted; at = 0 }
		END { print all + (at == wanted) }' - "$out/report"
}

# has COUNT INNERMOST... - are there at least COUNT such stacks?
has()
{
	want=$1
	shift
	[ "$(stacks "$@")" -ge "$want" ]
}

# has_no INNERMOST
has_no()
{
	[ "$(stacks "$1")" = 0 ]
}

# no_control_characters FILE
no_control_characters()
{
	! tr -d '\n\t' < "$1" | LC_ALL=C grep -q '[[:cntrl:]]'
}

hexadecimal='0x[0-9a-f]+'
libc="\\(/usr/lib64/libc.so.6\\+$hexadecimal\\)"
program="\\($here/contend\\+$hexadecimal\\)"

check "trace-cmd records" record "$here/contend"
check "trace-cmd prints the trace with the plugin" report
check "stacks have the functions of C library and program" has "$waits" \
	"syscall\\+$hexadecimal $libc" "take\\+$hexadecimal $program" \
	"turn\\+$hexadecimal $program" "worker\\+$hexadecimal $program" "start_thread\\+"
check "both of the program's that make the call" has "$waits" "syscall\\+" "give\\+" "turn\\+"
check "the cookie has the name of its event" \
	grep -q 'user_unwind: *cookie=[0-9a-f]* of sys_enter_futex$' "$out/report"
check "a file has its path and build-id" \
	grep -q "file_map: *id=0x[0-9a-f]* $here/contend, build-id $(cat "$here/contend.build-id")$" \
	"$out/report"

check "functions can be done without" report -O codectl:functions=0
check "a frame is a file and an offset then" has "$waits" \
	"/usr/lib64/libc.so.6\\+$hexadecimal$" "$here/contend\\+$hexadecimal$"

cp "$here/contend" "$out/program"
check "a program of one's own is recorded" record "$out/program"
check "it is printed" report
check "its functions have names" has 1 "syscall\\+" "(take|give)\\+$hexadecimal \\($out/program"
cp "$here/silent" "$out/program"
check "printed when another program has its path" report
check "no function of that is named" has_no "[^ ]+ \\($out/program"
check "functions of the C library are" has 1 "syscall\\+" "$out/program\\+$hexadecimal$"
rm "$out/program"
mkfifo "$out/program"
check "a pipe at its path is not waited for" report
check "nor is it a name" has 1 "syscall\\+" "$out/program\\+$hexadecimal$"
rm "$out/program"

# Neither the path nor a name may command a terminal or look like more frames; trace-cmd itself
# prints the name of the task.
escape=$(printf '\033')
harmful="$out/a${escape}[2J
 => b"
mkdir "$harmful"
sed "s/worker/wor${escape}er/g" "$here/contend" > "$harmful/contend"
chmod +x "$harmful/contend"
check "a program is recorded whose names have control characters" record "$harmful/contend"
check "it is printed" report
check "a path has them escaped" \
	grep -qF "$out/a\\033[2J\\012 => b/contend, build-id " "$out/report"
check "functions do, too" has "$waits" "syscall\\+" "take\\+" "turn\\+" \
	'wor\\033er\+0x[0-9a-f]+ \(.*\\012 => b/contend\+'
check "a path is no frame" has_no 'b'
check "nothing else controls a terminal" no_control_characters "$out/report"

trace-cmd report -i "$out/trace.dat" > "$out/report" 2> "$out/stderr"
check "without the plugin, the trace is as its format says" \
	grep -q 'user_unwind_stack: *cookie=.* frames=' "$out/report"
finish
