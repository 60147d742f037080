#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: run.sh ENGINE DIR PACKAGES OUT [SETTING=VALUE...]
#
# Boots the machine in DIR, which machine/make-image.sh has made, has it run ENGINE, and judges
# the stacks that were taken. ENGINE is a directory, relative to that of this script;
# ENGINE/prepare adds to its job what the machine lacks. OUT gets table.txt, what the machine
# says, a flame graph for each recording, and figures.md, the table for
# scripts/bench/fill-figures.sh. The settings are those of ENGINE/run, and cpus, the number of
# CPUs (2). Threads that write each other's code need QEMU 10 for more than one CPU: 7.2 runs
# them wrongly. Fails if the machine or ENGINE/judge does.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
machine=$here/../machine
# shellcheck source=../machine/recorded.sh
. "$machine/recorded.sh"

die()
{
	echo "run: $*" >&2
	exit 1
}

if [ $# -lt 4 ] || [ ! -x "$here/$1/run" ]; then
	die "usage: run.sh ENGINE DIR PACKAGES OUT [SETTING=VALUE...]"
fi
engine=$1 dir=$(realpath "$2") packages=$3 out=$4
shift 4
commit=$("$here/../scripts/check/tree-commit.sh" "$here/..")
made="make check-engine ENGINE=$engine" name=machine
[ "$engine" != ../machine/peers ] || made="make check-peers" name=peers
[ $# = 0 ] || made+=" SETTINGS='$*'"
rm -rf "$out"
work=$out/work
mkdir -p "$out/flame" "$work/job" "$dir/root/var/tmp/judged"
out=$(realpath "$out") work=$(realpath "$work")
trap 'rm -rf "$dir/root/var/tmp/judged"' EXIT

cp -r "$here/$engine"/* "$machine"/{await_tables,hand_over}.sh \
	"$packages"/codectl_*.deb "$packages"/libcodectl*.deb "$work/job"
if [ -x "$here/$engine/prepare" ]; then
	"$here/$engine/prepare" "$dir" "$packages" "$work/job"
fi
options=(--memory 4G)
for setting; do
	[[ $setting != cpus=* ]] || options+=(--cpus "${setting#*=}")
	[[ $name$setting != machine*recordings=* ]] || name+="-${setting#*=}"
	[[ $setting != sources=* ]] || name+="-$(basename "${setting#*=}")"
	printf '%s=%q\n' "${setting%%=*}" "${setting#*=}"
done > "$work/job/settings"
tar -cf "$work/job.tar" -C "$work/job" .
boot_job "${options[@]}"
export machine dir work out
status=0
"$here/$engine/judge" | tee "$out/table.txt" || status=$?
"$here/../scripts/bench/report.sh" "$name" "$made" "$commit" < "$out/table.txt" > "$out/figures.md"
exit $status
