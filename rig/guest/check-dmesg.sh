#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-dmesg.sh LOG
#
# Exit status: 0 the kernel log is clean; 1 it contains a splat, which is printed;
# 2 unknown, because the log is missing, empty or not one of a guest that came up,
# or because a list of patterns is unusable.

set -u

here=$(cd "$(dirname "$0")" && pwd)
deny=${DMESG_DENY:-$here/dmesg-deny.list}
allow=${DMESG_ALLOW:-$here/dmesg-allow.list}

no_telling()
{
	echo "check-dmesg: $*"
	exit 2
}

# Sets patterns to those of the list.
read_patterns()
{
	[ -r "$1" ] || no_telling "no such list: $1"
	patterns=$(grep -v -e '^#' -e '^$' "$1")
	[ -n "$patterns" ] || return
	grep -E -q -e "$patterns" /dev/null
	[ $? -eq 1 ] || no_telling "$1 has a bad pattern"
}

[ $# -eq 1 ] || no_telling "usage: check-dmesg.sh LOG"
[ -s "$1" ] || no_telling "$1 is missing or empty"

read_patterns "$deny"
deny_patterns=$patterns
[ -n "$deny_patterns" ] || no_telling "$deny has no pattern"
read_patterns "$allow"
allow_patterns=$patterns
grep -a -q 'Linux version ' "$1" || no_telling "$1 is not a kernel's log"

splats=$(tr -d '\r' < "$1" | grep -a -n -E -e "$deny_patterns")
if [ -n "$allow_patterns" ] && [ -n "$splats" ]; then
	splats=$(grep -a -v -E -e "$allow_patterns" <<< "$splats")
fi
[ -n "$splats" ] || exit 0

first=${splats%%:*}
echo "check-dmesg: splat in the kernel log:"
tr -d '\r' < "$1" | tail -n "+$first" | head -n 60
exit 1
