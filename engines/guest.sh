#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: guest.sh ENGINE IMAGES DIR PACKAGES OUT [SETTING=VALUE...]
#
# Boots the guest of IMAGES with DIR/root, files of Debian that ENGINE/make-root.sh has
# made, as /opt/root, and the libraries of PACKAGES in it; has it run ENGINE/in-guest.sh,
# and ENGINE/judge look at the stacks that were taken. OUT gets what was recorded, as text,
# table.txt, and figures.md for scripts/bench/fill-figures.sh. Fails if the guest does, or
# the judge.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
machine=$here/../machine

die()
{
	echo "guest: $*" >&2
	exit 1
}

if [ $# -lt 5 ] || [ ! -e "$here/$1/in-guest.sh" ]; then
	die "usage: guest.sh ENGINE IMAGES DIR PACKAGES OUT [SETTING=VALUE...]"
fi
engine=$1 images=$2 dir=$(realpath "$3") packages=$4 out=$5
shift 5
commit=$("$here/../scripts/check/tree-commit.sh" "$here/..")
made="engines/guest.sh $engine${*:+ $*}"
rm -rf "$out"
mkdir -p "$out/work" "$out/flame"
out=$(realpath "$out") work=$out/work

for setting; do
	printf '%s=%q\n' "${setting%%=*}" "${setting#*=}"
done > "$work/settings"
dpkg-deb -x "$packages"/libcodectl0_*.deb "$work/library"
# An emulated timer may be late on a busy host.
"$here/../rig/guest/guest.sh" --append no_timer_check --images "$images" --kernel fast \
	--timeout 3600 --out "$work/results" --log "$out/console" \
	--add "$dir/root:/opt/root" --add "$work/library/usr/lib:/opt/root/usr/lib" \
	--add "$here/$engine:/opt/engine" --add "$here/$engine/bench:/opt/root/opt/bench" \
	--add "$here/take.sh:/opt/" --add "$work/settings:/opt/" -- sh /opt/engine/in-guest.sh
find "$work/results" -maxdepth 1 -type f ! -name '*.script' -exec cp {} "$out" ';'
export machine dir work out
status=0
"$here/$engine/judge" | tee "$out/table.txt" || status=$?
"$here/../scripts/bench/report.sh" guest "$made" "$commit" < "$out/table.txt" > "$out/figures.md"
exit $status
