#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the guest does for ../guest.sh: Debian 12's qemu-user as it is, with tables, and with the
# preload, and the patched one, all with the same work; what is recorded goes to /out. The
# file "settings" has seconds, for the last two, and hertz.

set -eu

# shellcheck source=/dev/null
. /opt/settings
: "${seconds:=90}" "${hertz:=499}"
# shellcheck source=../take.sh
. "${0%/*}/../take.sh"
stock=/usr/bin/qemu-x86_64 patched=/opt/qemu/patched

# objects_of PROGRAM - it, and what is loaded for it, in the root
objects_of()
{
	echo "$1"
	in_root ldd "$1" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p; s/^[ \t]*\(\/[^ ]*\) .*/\1/p'
}

load=/opt/bench/load.sh

stock_files=$(objects_of $stock)
patched_files=$(objects_of $patched)
take without '' $load $((seconds / 4)) $stock
take tables "$stock_files" $load $((seconds / 4)) $stock
take preload "$stock_files" $load "$seconds" $stock "$preload"
take patched "$patched_files" $load "$seconds" $patched
in_root $load 15 $patched > /out/output &
sleep 10
cat "/proc/$(pidof patched)/codectl" > /out/regions
wait $!
