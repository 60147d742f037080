#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run in the guest by ../guest.sh: records the same work in Debian 12's qemu-user as it is, with
# tables, and with the preload, and in the patched one. Recordings go to /out. The file
# "settings" has hertz, and seconds, for the last two.

set -eu

# shellcheck source=/dev/null
. /opt/settings
: "${seconds:=90}" "${hertz:=499}"
# shellcheck source=../take.sh
. "${0%/*}/../take.sh"
stock=/usr/bin/qemu-x86_64 patched=/opt/qemu/patched

# objects_of PROGRAM - the program and its libraries, in the root
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
