#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: guest.sh IMAGES PATCHED PLAIN STOCK OUT [SECONDS]
#
# Runs each program of bench/ for SECONDS in the guest of IMAGES, by three LuaJITs, and takes
# their stacks: PATCHED, which build.sh has made with the compiler of the guest
# (CC=codectl-gcc USE_CODECTL=y), PLAIN, made with PATCHES=, and STOCK, Debian's. OUT gets
# what was recorded, and figures.md for scripts/bench/fill-figures.sh. Fails if, with the
# patches, less than 99 % of the stacks are complete, or less than 99.9 % of those in C that
# compiled code has called; if there are fewer than 500 of the latter; or if traces have no
# names.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)

if [ $# -lt 5 ]; then
	echo "usage: guest.sh IMAGES PATCHED PLAIN STOCK OUT [SECONDS]" >&2
	exit 1
fi
images=$1 patched=$2 plain=$3 stock=$4 out=$5 seconds=${6:-10}

commit=$("$here/../../scripts/check/tree-commit.sh" "$here/../..")
mkdir -p "$out"
# An emulated timer may be late on a busy host.
"$here/../../rig/guest/guest.sh" --append no_timer_check --images "$images" \
	--kernel fast --timeout 3600 --out "$out" --log "$out/console" \
	--add "$patched:/opt/patched" --add "$plain:/opt/plain" --add "$stock:/opt/stock" \
	--add "$here/bench:/opt/bench" --add "$here/in-guest.sh:/opt/" -- \
	sh /opt/in-guest.sh "$seconds"
for name in without tables patched; do
	"$here/stacks.awk" "$out/$name.script" > "$out/$name.facts"
done
failed=0
titles="without=Debian's LuaJIT;tables=\`codectl attach\` for it and libgcc"
awk -v titles="$titles" -v strict=patched -v of=called -v least=500 -f "$here/../shares.awk" \
	"$out"/{without,tables,patched}.facts | tee "$out/table.txt" || failed=1
"$here/../../scripts/bench/report.sh" guest engines/luajit/guest.sh "$commit" \
	< "$out/table.txt" > "$out/figures.md"
grep -q -E 'TRACE [0-9]+ .*names\.lua:[0-9]+' "$out/names" || { echo "no names"; failed=1; }
[ $failed = 0 ] || echo "FAILED: see $out"
exit $failed
