#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: run.sh [--judge] DIR PACKAGES AGREE OUT [SETTING=VALUE...]
#
# Boots the machine in DIR, which takes the matrix and installs and removes the packages in
# PACKAGES, and judges the stacks. OUT gets table.txt, facts, agree.txt, packages.tap, the
# commit of this tree, and a flame graph for each program and tool. After a failure, the
# recordings stay in OUT/work, and --judge judges them again. AGREE has stackdump and
# stackcheck. The settings are those of matrix/run: seconds, agree_seconds, hertz, programs,
# tools. Fails if the machine or a test of the packages fails, or if the stacks of a tool are
# too few, incomplete or wrong.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
machine=$here
# shellcheck source=recorded.sh
. "$here/recorded.sh"

die()
{
	echo "run: $*" >&2
	exit 1
}

again=0
if [ "${1:-}" = --judge ]; then
	again=1
	shift
fi
[ $# -ge 4 ] || die "usage: run.sh [--judge] DIR PACKAGES AGREE OUT [SETTING=VALUE...]"
dir=$(realpath "$1") packages=$2 agree=$3 out=$4
shift 4
[ $again = 1 ] || rm -rf "$out"
work=$out/work
mkdir -p "$out/flame" "$work" "$dir/root/var/tmp/judged"
trap 'rm -rf "$dir/root/var/tmp/judged"' EXIT
all_tools="defer fp bpftrace offcpu bcc dwarf bpfdwarf"
all_programs=$(sed -n 's/^\([^#[:space:]]*\)[[:space:]].*/\1/p' "$here/matrix/programs" | xargs)

programs=$all_programs

# check_setting NAME=VALUE
check_setting()
{
	local word known

	case $1 in
	programs=*) known=$all_programs programs=${1#*=} ;;
	tools=*) known="$all_tools agree" ;;
	seconds=[1-9]* | agree_seconds=[1-9]* | hertz=[1-9]*) return ;;
	*) die "no such setting: $1" ;;
	esac
	for word in ${1#*=}; do
		[[ " $known " = *" $word "* ]] || die "no such name in $1: $word (there are: $known)"
	done
}

# The kernel package is installed in the image already.
make_job()
{
	local setting

	mkdir "$work/job"
	cp "$here"/matrix/* "$here"/{await_tables,hand_over}.sh "$here/../scripts/check/tap.sh" \
		"$agree/stackdump" "$work/job"
	cp "$packages"/linux-image-*.deb "$packages"/codectl_*.deb "$packages"/libcodectl*.deb \
		"$work/job" || die "packages are missing in $packages"
	for setting; do
		check_setting "$setting"
		printf '%s=%q\n' "${setting%%=*}" "${setting#*=}"
	done > "$work/job/settings"
	tar -cf "$work/job.tar" -C "$work/job" .
}

# Where complete stacks of the programs of the matrix and of their threads end.
find_ends()
{
	local regex
	local -a files

	regex=$(sed -n 's/^[^#[:space:]]*[[:space:]]\{1,\}//p' "$here/matrix/programs" | paste -s -d '|')
	mapfile -t files < <(cd "$dir/root" && find ./usr ./opt -type f -perm /111 | sed 's/^\.//' |
		grep -x -E -e "$regex")
	ends_of "${files[@]}" > "$out/ends"
}

# judge PHASE TOOL PROGRAM
judge()
{
	local phase=$1 tool=$2 program=$3 exe name=$1.$3.$2 stacks=()

	exe=$(awk -v program="$program" '$1 == program { print $2 }' "$here/matrix/programs")
	[ ! -e "$work/results/$phase.$tool.txt" ] || stacks=("$work/results/$phase.$tool.txt")
	if ! "$here/stacks.py" --root "$dir/root" --ends "$out/ends" --exe "$exe" \
		--folded "$work/$name.folded" "$work/script" "${stacks[@]}" \
		> "$work/$name.facts" 2> "$work/$name.errors"; then
		echo "failed $(tail -n 1 "$work/$name.errors")" > "$work/$name.facts"
		return
	fi
	[ ! -s "$work/$name.folded" ] ||
		"$flamegraph" --hash --title "$program, $tool, $phase tables" \
			"$work/$name.folded" > "$out/flame/$name.svg"
}

# judge_tool PHASE TOOL
judge_tool()
{
	local name=$1.$2 program failure='' told=''

	if [ -e "$work/results/$name.failed" ]; then
		failure=$(head -n 1 "$work/results/$name.failed")
	elif ! script_of "$work/results/$name.data" > "$work/script"; then
		failure=$(tail -n 1 "$work/script.errors" | grep .) || failure="perf script failed"
	fi
	for program in $programs; do
		if [ -n "$failure" ]; then
			echo "failed $failure" > "$work/$1.$program.$2.facts"
		else
			judge "$1" "$2" "$program" &
			[ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n || :
		fi
	done
	wait
	# It is unknown which program lost samples belong to.
	for program in $programs; do
		sed -e "s/^/$1 $program $2 /" -e "$told" "$work/$1.$program.$2.facts"
		told='/ lost [0-9]*$/d'
	done
}

judge_all()
{
	local phase tool name

	for phase in without with; do
		for tool in $all_tools; do
			name=$work/results/$phase.$tool
			if [ -e "$name.data" ] || [ -e "$name.failed" ]; then
				judge_tool "$phase" "$tool"
			fi
		done
	done
}

# The recording that a new user has made with one command while perl ran: its outermost functions
# are found only by tables.
draw_user()
{
	local svg=$out/flame/user.svg name

	"$flamegraph" --hash --title "perf record -a -g, under codectl attach -a" \
		"$work/results/user.folded" > "$svg" || return
	for name in perl main perl_run; do
		grep -q "<title>$name " "$svg" || return
	done
}

if [ $again = 0 ]; then
	"$here/../scripts/check/tree-commit.sh" "$here/.." > "$out/commit"
	make_job "$@"
	boot_job --memory 6G
fi
find_ends
judge_all > "$out/facts"
failed=0
awk -v expected="$here/expected" -f "$here/table.awk" "$out/facts" | tee "$out/table.txt" || failed=1
[ ! -s "$work/results/user.folded" ] || draw_user || {
	echo "FAILED: the flame graph of a new user does not name perl: see $out/flame/user.svg"
	failed=1
}
"$here/agree.sh" "$agree/stackcheck" "$dir/root" "$work/results" \
	$((625 * $(wc -w <<< "$programs"))) | tee "$out/agree.txt" || failed=1
awk -f "$here/../scripts/check/tap-summary.awk" "$out/packages.tap" || failed=1
[ "$failed" = 1 ] || rm -rf "$work"
exit "$failed"
