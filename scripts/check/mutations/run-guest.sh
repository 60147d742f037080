#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: run-guest.sh TOP WORKDIR TEST
#
# Runs one of the guest's tests on the kernel of WORKDIR/images.  Fails if the test fails, if the
# kernel's log contains a splat, or if the guest does not answer.

set -u

top=$1 work=$2 test=$3
# shellcheck source=../../../rig/guest/accel.sh
. "$top/rig/guest/accel.sh"

# attempt [OPTION] - does not wait for a task that died with a lock held
attempt()
{
	timeout 900 "$top/rig/guest/guest.sh" --images "$work/images" --timeout 600 \
		--log "$work/console.log" --append oops=panic ${1:+"$1"} \
		--add "$top/rig/guest/run-tests.sh:/run-tests.sh" \
		--add "$work/tests.list:/tests.list" \
		-- env EXPECT_ALL_FEATURES=1 sh /run-tests.sh /tests.list 300 "$test" \
		> "$work/guest.tap" 2> "$work/guest.said"
}

# The list for the coverage kernel: like this kernel, that is a fast one with KUnit.
"$top/rig/guest/list-tests.sh" coverage > "$work/tests.list" || exit
attempt
status=$?
# Errors of QEMU's emulated CPU threads say nothing about the kernel.
if [ $status -ne 0 ] && was_emulated "$work/console.log" &&
   grep -q -a 'Oops: int3: 0000' "$work/console.log"; then
	attempt --in-turn
	status=$?
fi
cat "$work/guest.tap" "$work/guest.said"
awk -f "$top/scripts/check/tap-summary.awk" "$work/guest.tap" || status=1
exit $status
