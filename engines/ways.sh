#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: ways.sh ENGINE IMAGES DIR PACKAGES OUT [FACTS]
#
# Counts, in the guest of IMAGES, what ENGINE's programs in DIR/root cost while nobody samples,
# prepared for sampling in each of the ways that the file ENGINE/ways lists: instructions,
# including the kernel's, system calls and memory. The libraries are those of PACKAGES. FACTS
# is where guest.sh or run.sh has left the shares of complete stacks. OUT gets ways.md, and
# figures.md for scripts/bench/fill-figures.sh. Fails if a way of this project costs more than
# 1 % of the instructions.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 5 ] || [ ! -e "$here/$1/ways" ]; then
	echo "usage: ways.sh ENGINE IMAGES DIR PACKAGES OUT [FACTS]" >&2
	exit 1
fi
engine=$1 images=$2 dir=$(realpath "$3") packages=$4 out=$5 facts=${6:-}
commit=$("$here/../scripts/check/tree-commit.sh" "$here/..")
rm -rf "$out"
mkdir -p "$out/bench"
out=$(realpath "$out")

dpkg-deb -x "$packages"/libcodectl0_*.deb "$out/library"
gcc -O2 -static -o "$out/measure" "$here/measure.c"
bench=$here/$engine/bench
[ -e "$bench" ] || bench=$out/bench
"$here/../rig/guest/guest.sh" --icount --images "$images" --kernel fast --timeout 3600 \
	--out "$out" --log "$out/console" \
	--add "$dir/root:/opt/root" --add "$out/library/usr/lib:/opt/root/usr/lib" \
	--add "$here/$engine:/opt/engine" --add "$bench:/opt/root/opt/bench" \
	--add "$here/take.sh:/opt/" --add "$here/ways-in-guest.sh:/opt/" --add "$out/measure:/opt/" -- \
	sh /opt/ways-in-guest.sh
status=0
awk -v facts="$facts" -f "$here/ways.awk" "$out/ways" | tee "$out/ways.md" || status=$?
"$here/../scripts/bench/report.sh" "ways-$engine" "engines/ways.sh $engine" "$commit" \
	< "$out/ways.md" > "$out/figures.md"
exit $status
