#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run in the guest by ../guest.sh: records bench/load.py in Debian's Python 3.15 with its
# compiler, as it is, with jitdump, with tables, and with the preload. Recordings go to
# /out. The file "settings" has hertz, and seconds, for the last one.

set -eu

# shellcheck source=/dev/null
. /opt/settings
: "${seconds:=90}" "${hertz:=499}"
# shellcheck source=../take.sh
. "${0%/*}/../take.sh"
python=/usr/bin/python3.15

# The files that are mapped after all imports.
objects()
{
	in_root $python -c 'import functools, json, re, time, zlib
for line in open("/proc/self/maps"):
	if " r-xp " in line and "/" in line:
		print(line.split()[5])'
}

files=$(objects)
take without '' PYTHON_JIT=1 $python /opt/bench/load.py $((seconds / 4))
# The stock solution: unwind information for each function, and copies of the stacks.
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
