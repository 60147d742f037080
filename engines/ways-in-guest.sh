#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Run in the guest by ways.sh: measures everything in the file "ways" of the engine.

set -eu

# shellcheck source=take.sh
. /opt/take.sh

mount -t tmpfs tmpfs "$root/tmp"

# way NAME FACTS COMMAND... - measures the command in the root
way()
{
	name=$1 facts=$2
	shift 2
	echo "$name"
	/opt/measure "$name|$facts" /bin/chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin \
		HOME=/tmp LC_ALL=C.UTF-8 "$@" > /tmp/measured 2>&1 || {
		cat /tmp/measured
		return 1
	}
	tail -n 1 /tmp/measured >> /out/ways
}

# shellcheck source=/dev/null
. /opt/engine/ways
