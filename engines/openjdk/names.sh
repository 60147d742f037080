#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: names.sh IMAGES DIR PACKAGES OUT
#
# Takes stacks of Java by codectl record --names in the guest of IMAGES, with DIR/root, which
# make-root.sh has made, and the libraries of PACKAGES. The code cache is so small that methods
# reuse the addresses of others. Fails if a name is wrong, or if no method was unloaded.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -ne 4 ]; then
	echo "usage: names.sh IMAGES DIR PACKAGES OUT" >&2
	exit 1
fi
images=$1 root=$(realpath "$2")/root packages=$3 out=$4
rm -rf "$out"
mkdir -p "$out"
out=$(realpath "$out")
dpkg-deb -x "$packages"/libcodectl0_*.deb "$out/library"

# The script for the guest; names are reported only if tracefs is mounted.
cat > "$out/job" <<'END'
set -eu
. /opt/take.sh
mount -t tmpfs tmpfs "$root/tmp"
mount --bind /sys "$root/sys"
mount --bind /sys/kernel/tracing "$root/sys/kernel/tracing"
codectl record --names --buffer 16384 --event sched:sched_switch --folded /out/folded -- \
	/bin/chroot "$root" /usr/bin/env -i PATH=/usr/bin HOME=/tmp LC_ALL=C.UTF-8 /usr/bin/java -Xmx512m \
	-XX:ReservedCodeCacheSize=8m -agentpath:/opt/jvm/libcodectl-jvm.so=statistics \
	-cp /opt/jvm/classes Churn 60 > /out/listing 2> /out/errors
END
"$here/../../rig/guest/guest.sh" --images "$images" --kernel fast --timeout 900 \
	--out "$out" --log "$out/console" --add "$root:/opt/root" \
	--add "$out/library/usr/lib:/opt/root/usr/lib" --add "$here/../take.sh:/opt/" \
	--add "$out/job:/opt/" -- sh /opt/job
cat "$out/errors"
if ! grep -q -E ' methods, [1-9][0-9]* unloaded' "$out/errors"; then
	echo "FAILED: no method was unloaded"
	exit 1
fi
awk -f "$here/names.awk" "$out/folded" || {
	echo "FAILED: see $out/folded"
	exit 1
}
