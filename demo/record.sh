#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs in the guest: the main job under perf.
#
# usage: record.sh OUTDIR CALLGRAPH
#
# CALLGRAPH is the argument of perf record --call-graph.  For each program, leaves
# PROGRAM.data and PROGRAM.log, the output of the program, in OUTDIR.  The names of compiled
# code are only known here, so PROGRAM.script, the output of perf script, is left there for
# the programs that have any.
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

# At least 2,000 samples of each kind are needed, and each kind is at least a quarter.
has_few() {
	[ -e "$out/$1.script" ] &&
		[ "$(grep -c '^[^[:space:]]' "$out/$1.script")" -lt 8000 ]
}

base_hertz=1009 jit_hertz=1009
# shellcheck source=/dev/null
. "$here/jobs.sh"
