#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the guest does for ../guest.sh: Debian's Python 3.15 with its compiler, as it is, with
# jitdump, with tables, and with the preload, at work on bench/load.py; what is recorded
# goes to /out. The file "settings" has seconds, for the last, and hertz.

set -eu

# shellcheck source=/dev/null
. /opt/settings
: "${seconds:=90}" "${hertz:=499}"
# shellcheck source=../take.sh
. "${0%/*}/../take.sh"
python=/usr/bin/python3.15

# The files that are mapped once everything is imported.
objects()
{
	in_root $python -c 'import functools, json, re, time, zlib
for line in open("/proc/self/maps"):
	if " r-xp " in line and "/" in line:
		print(line.split()[5])'
}

files=$(objects)
take without '' PYTHON_JIT=1 $python /opt/bench/load.py $((seconds / 4))
# What its users have: unwinding information for each function, of stacks that are kept.
mount -t tmpfs tmpfs $root/tmp
mount --bind $root/tmp /tmp
how='-k 1 --call-graph dwarf,16384' then='perf inject --jit' read="--symfs $root"
take jitdump '' PYTHON_JIT=1 $python -X perf_jit /opt/bench/load.py $((seconds / 4))
how='--call-graph fp,defer' then='' read=''
take tables "$files" PYTHON_JIT=1 $python /opt/bench/load.py $((seconds / 4))
take preload "$files" LD_PRELOAD=$preload PYTHON_JIT=1 $python /opt/bench/load.py "$seconds"
in_root LD_PRELOAD=$preload PYTHON_JIT=1 $python /opt/bench/load.py 20 > /out/output &
sleep 15
cat "/proc/$(pidof python3.15)/codectl" > /out/regions
wait $!
