#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs in the guest: the main job under perf.
#
# usage: record.sh OUTDIR CALLGRAPH [KIND...]
#
# CALLGRAPH is the argument of perf record --call-graph.  Each recording of compiled code
# needs 2,000 samples of each KIND: "compiled" for those in compiled code, "called" for
# those in C that it calls.  For each program, leaves
# PROGRAM.data and PROGRAM.log, the output of the program, in OUTDIR.  The names of compiled
# code are only known here, so PROGRAM.script, the output of perf script, is left there for
# the programs that have any.
#
# shellcheck disable=SC2034,SC2154

set -eu

out=$1
callgraph=$2
shift 2
kinds=$*
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

has_few() {
	[ -e "$out/$1.script" ] || return
	awk -v kinds="$kinds" '
		/^[^ \t]/ { nr[kind]++; kind = ""; frame = 0; next }
		++frame == 1 { kernel = $1 ~ /^ffff/ }
		!kind && !kernel && /perf-[0-9]+\.map\)$/ {
			kind = frame == 1 ? "compiled" : "called"
		}
		END {
			nr[kind]++
			for (i = split(kinds, needed); i; i--)
				few += nr[needed[i]] < 2000
			exit !few
		}' "$out/$1.script"
}

base_hertz=1009 jit_hertz=1009
# shellcheck source=/dev/null
. "$here/jobs.sh"
