#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: in-guest.sh SECONDS
#
# Run in the guest by guest.sh; recordings go to /out.

# Words of commands are to be split:
# shellcheck disable=SC2046,SC2086
set -eu

seconds=$1
programs="nbody spectral fannkuch trees mandelbrot recursion strings calls coroutines flush"

# take NAME COMMAND... - takes stacks while the command runs
take()
{
	name=$1
	shift
	"$@" > "/out/$name.times"
	perf script -i /tmp/data --no-inline --max-stack 512 -F comm,tid,ip,sym,dso \
		> "/out/$name.script"
	rm /tmp/data
}

# record LUAJIT - prints a command that records LUAJIT at work
record()
{
	echo "perf record -q -e cpu-clock -F 1997 --call-graph fp,defer -o /tmp/data --" \
		"/opt/$1 /opt/bench/run.lua $seconds $programs"
}

# count LUAJIT - counts system calls, page faults and time of the same work
count()
{
	perf stat -e raw_syscalls:sys_enter,page-faults,task-clock -o "/out/$1.stat" \
		"/opt/$1" /opt/bench/run.lua x3 $programs > "/out/$1.counted"
}

count plain
count patched
take patched $(record patched)
take without $(record stock)
take tables codectl attach /opt/stock /usr/lib64/libgcc_s.so.1 -- $(record stock) \
	2> /out/attach
/opt/patched /opt/bench/run.lua 30 fannkuch &
sleep 3
cat "/proc/$!/codectl" > /out/regions
kill $!
codectl record --names --event syscalls:sys_enter_getppid -- \
	/opt/patched /opt/bench/names.lua > /out/names
