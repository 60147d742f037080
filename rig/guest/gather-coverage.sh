#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: gather-coverage.sh COMMAND...
#
# Runs a command in the guest, and stores in /out the branch counts of its programs, and those of
# the kernel since boot.

# Programs of other users write to the same files, too.
umask 0
mkdir -p /out
chmod 1777 /out
GCOV_PREFIX=/out "$@"
status=$?

# Files there have no size before they are read.
cd /sys/kernel/debug/gcov || exit
find . -name '*.gcda' | while read -r file; do
	mkdir -p "/out/${file%/*}"
	cat "$file" > "/out/$file"
done
exit $status
