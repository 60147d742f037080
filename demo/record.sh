#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs in the guest: the main job under perf.
#
# usage: record.sh OUTDIR CALLGRAPH
#
# CALLGRAPH is what perf record --call-graph takes.  Leaves PROGRAM.data and
# PROGRAM.log, what the program printed, in OUTDIR for each program.  Names of
# compiled code are known here only, so that what perf makes of such a recording
# is left there too, as PROGRAM.script.
#
# shellcheck disable=SC2034,SC2154

set -eu

out=$1
callgraph=$2
cd "$(dirname "$0")"
here=$(pwd)
mkdir -p "$out"

job() {
	name=$1
	shift
	perf record -q -e cpu-clock -F "$hertz" -m 8M \
		--call-graph "$callgraph" -o "$out/$name.data" \
		-- "$@" > "$out/$name.log"
	case $name-$callgraph in
	jit-*-fp,defer)
		perf script -i "$out/$name.data" --no-inline --max-stack 512 \
			-F comm,tid,time,ip,sym,dso > "$out/$name.script" ;;
	esac
}

# A quarter of them and more are of each kind that 2,000 are wanted of.
has_few() {
	[ -e "$out/$1.script" ] &&
		[ "$(grep -c '^[^[:space:]]' "$out/$1.script")" -lt 8000 ]
}

base_hertz=1009 jit_hertz=1009
# shellcheck source=/dev/null
. "$here/jobs.sh"
