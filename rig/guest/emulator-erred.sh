#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: emulator-erred.sh LOG
#
# Succeeds if, by its LOG, the kernel died of an error of the emulator: QEMU before 8.1 may
# keep executing the breakpoint by which the kernel patched its code after the breakpoint is
# gone (docs/testing.md). It is this error only if QEMU emulated the machine, an oops for a
# breakpoint is the first splat, and memory has no breakpoint before that address.

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=accel.sh
. "$here/accel.sh"
if [ $# -ne 1 ]; then
	echo "usage: emulator-erred.sh LOG" >&2
	exit 2
fi

was_emulated "$1" &&
qemu-system-x86_64 --version | awk '
	/version/ { sub(/.*version /, ""); split($0, v, "."); old = v[1] * 100 + v[2] < 801 }
	END { exit !old }' &&
"$here/check-dmesg.sh" "$1" | awk '
	NR == 2 { oops = /Oops: int3: 0000/ }
	oops && !code && sub(/.* Code: /, "") {
		code = $0
		sub(/ <.*/, "", code)
		gone = code ~ /[0-9a-f][0-9a-f]$/ && code !~ /cc$/
	}
	END { exit !gone }'
