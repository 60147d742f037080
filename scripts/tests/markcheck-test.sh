#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that markcheck knows which frames of a recording were interrupted and which have return
# addresses, with constructed stacks of one function of compiled code, [0x10000, 0x10040), which
# has its mark from 0x10010 to 0x10030. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
agree=$here/../../demo/agree
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

cat > "$work/log" <<'END'
restorer 0x7f0000
region 0x10000 0x20000 registered 1 descending 0
code 0 0xff00 256 24 16 240 before
code 1 0x10000 64 24 16 48 it
code 2 0x10040 64 24 16 48 after
END

# Record types, sizes and fields as in stackdump.h.
cat > "$work/record.py" <<'END'
import struct, sys

SP, MAGIC = 0x7ffe0000, 0x6b72616d2d74696a

def record(type, *words):
    body = struct.pack("<%dQ" % len(words), *words)
    return struct.pack("<IIQQ", type, 24 + len(body), 0, 1) + body

path, ips, marks, user, nr = sys.argv[1:6]
ips = [int(ip, 16) for ip in ips.split(",")]
words = [0] * 64
for mark in marks.split(",") if marks else []:
    at, code, ret = (int(n, 16) for n in mark.split(":"))
    # CFA - 24: the mark's two words, then the return address
    words[at] = (SP + 8 * at + 24) ^ MAGIC
    words[at + 1] = code
    words[at + 2] = ret
regs = [0] * 17
regs[7], regs[16] = SP, ips[0]
with open(path, "wb") as out:
    # Samples whose chain does not come.
    out.write(record(2, 4, int(user), *regs, 0) * int(nr))
    out.write(record(2, 5, 1, *regs, 8 * len(words), *words))
    out.write(record(3, 5, len(ips), *ips))
    out.write(record(5, 0, 0))
END

${CC:-cc} -O1 -D_GNU_SOURCE -o "$work/markcheck" "$agree/markcheck.c" "$agree/recording.c" ||
	exit 1

# More samples, without chains.
user=0 nr=0

# expect NAME STATUS SAID IPS MARKS [OPTION]... - each mark is WORD:CODE:RETURN
expect()
{
	local name=$1 want=$2 said=$3

	python3 "$work/record.py" "$work/dump" "$4" "$5" "$user" "$nr" ||
		exit 1
	shift 5
	"$work/markcheck" "$@" -l "$work/log" "$work/dump" > "$work/said" 2>&1
	[ $? = "$want" ] && grep -q -E -e "$said" "$work/said"
	result $? "$name"
}

agrees='agree wholly +1$'
disagrees='^disagree +1$'
c=401000 handler=402000 restorer=7f0000

expect "a frame with its mark" 0 "$agrees" 10020,$c 4:1:$c
expect "sampled before the mark" 0 "$agrees" 10008,$c ''
expect "sampled after it" 0 "$agrees" 10034,$c ''
expect "sampled where the mark must be" 1 "$disagrees" 10020,$c ''
expect "a caller with its mark" 0 "$agrees" $c,10020,$c 4:1:$c
expect "a caller without one" 1 "$disagrees" $c,10020,$c ''
expect "a caller before its mark" 1 "$disagrees" $c,10008,$c ''
expect "a caller whose call is its last instruction" 0 "$agrees" $c,10040,$c 4:1:$c
expect "a mark without a frame" 1 'fewer frames than marks +1$' $c 4:1:$c
expect "... of which some are expected" 0 '' $c 4:1:$c -t 100
expect "the mark of other code" 1 "$disagrees" 10020,$c 4:2:$c
expect "another return address" 1 "$disagrees" 10020,$c 4:1:401001

expect "interrupted before the mark" 0 "$agrees" $handler,$restorer,10008,$c ''
expect "... at the first instruction" 0 "$agrees" $handler,$restorer,10000,$c ''
expect "... of which there has to be a sample" 0 'signal handlers +1$' \
	$handler,$restorer,10008,$c '' -i 1
expect "... or two" 1 'fewer than 2 samples in a signal' $handler,$restorer,10008,$c '' -i 2
expect "interrupted after the mark" 0 "$agrees" $handler,$restorer,10034,$c ''
expect "interrupted with the mark" 0 "$agrees" $handler,$restorer,10020,$c 4:1:$c
expect "interrupted where the mark must be" 1 "$disagrees" $handler,$restorer,10020,$c ''
expect "sampled in the restorer" 0 "$agrees" 7f0007,10008,$c ''
expect "a callee interrupted at its first instruction" 0 "$agrees" \
	$handler,$restorer,10000,10020,$c 4:1:$c
expect "the handler's caller is no caller's caller" 1 "$disagrees" \
	$handler,$restorer,$c,10008,$c ''
expect "code beside the restorer is not it" 1 "$disagrees" $handler,7f000a,10008,$c ''
expect "no sample" 1 'fewer than 1 samples' $c ''
nr=1000
expect "after samples of the kernel, taken amid walks" 0 "$agrees" 10008,$c ''
user=1 nr=2
expect "few samples whose chain is missing" 0 'without a chain +2$' 10008,$c ''
nr=3
expect "more of them" 1 '0 without a cookie, 3 without their chain, 0 records lost' 10008,$c ''
finish
