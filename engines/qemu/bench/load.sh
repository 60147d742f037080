#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: load.sh SECONDS QEMU [LIBRARY]
#
# Runs sqlite3 in QEMU for SECONDS. LIBRARY is preloaded into QEMU, but not into sqlite3.

set -eu

end=$(($(date +%s) + $1)) qemu=$2 library=${3-}
while left=$((end - $(date +%s))) && [ $left -gt 0 ]; do
	LD_PRELOAD=$library timeout "$left" "$qemu" -U LD_PRELOAD /usr/bin/sqlite3 :memory: \
		< "${0%.sh}.sql" || [ $? = 124 ]
done
