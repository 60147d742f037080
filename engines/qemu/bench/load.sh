#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: load.sh SECONDS QEMU [LIBRARY]
#
# Has sqlite3 work in QEMU, which has LIBRARY preloaded, for so long. What it runs has not.

set -eu

end=$(($(date +%s) + $1)) qemu=$2 library=${3-}
while left=$((end - $(date +%s))) && [ $left -gt 0 ]; do
	LD_PRELOAD=$library timeout "$left" "$qemu" -U LD_PRELOAD /usr/bin/sqlite3 :memory: \
		< "${0%.sh}.sql" || [ $? = 124 ]
done
