#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests the events of the code map with stock clients.  Prints TAP.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=trace.sh
. "$here/trace.sh"

program=$here/futex_load

# busybox has neither tables nor frame pointers.
perf record -q -e codectl:unwind_stop -o "$work/stop.data" -- \
	perf record -q -e cpu-clock -F 997 --call-graph fp,defer -o "$work/clock.data" -- \
	gzip -c /usr/bin/busybox > /dev/null 2> "$work/stop.said"
result $? "perf records codectl:unwind_stop"
perf script -i "$work/stop.data" > "$work/stop" 2> "$work/stop.said"
tail -n 3 "$work/stop" | sed 's/^/# /'
grep -q 'codectl:unwind_stop: ip=0x[0-9a-f]* sp=0x[0-9a-f]* frames=[0-9]* reason=' "$work/stop"
result $? "a walk that is cut short says why"

# trace_cmd NAME COMMAND... - traces the command, to NAME
#
# Not with "trace-cmd record": if the command ends before the processes that read the buffers can
# handle a signal, the trace is empty.
trace_cmd()
{
	trace=$work/$1
	shift
	{
		trace-cmd start -e codectl && "$@" && trace-cmd stop &&
			trace-cmd extract -o "$trace.dat"
	} > "$trace.said" 2>&1
	status=$?
	sed 's/^/# /' "$trace.said"
	trace-cmd reset
	trace-cmd report -i "$trace.dat" > "$trace" 2> "$trace.errors" && return $status
}

# The child of perf has perf's objects until it executes the program.
trace_cmd map perf stat -o "$work/stat" -- "$program" 2 2
result $? "trace-cmd records the events of codectl"
grep -v '^cpus=' "$work/map.errors" | says_nothing
result $? "trace-cmd has nothing to complain of"
for path in "$program" /usr/lib64/libc.so.6; do
	build_id=$(readelf -n "$path" | awk '/Build ID:/ { print $3 }')
	grep -q "code_register: .*names=verified build_id=$build_id path=$path\$" "$work/map"
	result $? "code_register of $path"
done
grep -q 'code_unregister: .*reason=exec' "$work/map" &&
	grep -q 'code_unregister: .*reason=exit' "$work/map"
result $? "code_unregister, and why"

# Another process exists before tracing starts.
"$program" 1 1000000 &
load=$!
# Once it has a second thread, ld.so has registered all its objects.
for _ in $(seq 1000); do
	[ "$(find "/proc/$load/task" -mindepth 1 -maxdepth 1 | wc -l)" -lt 2 ] || break
	usleep 10000
done
trace_cmd replay sh -c "echo 1 > $tracing/code_replay"
kill $load
sed 's/^/# /' "$work/replay"
grep -q "^ *sh-.*code_register: *pid=$load .*path=$program\$" "$work/replay"
result $? "code_replay tells what is registered elsewhere"
finish
