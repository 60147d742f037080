#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs in the guest: the main job under perf.
#
# usage: record.sh OUTDIR CALLGRAPH
#
# CALLGRAPH is what perf record --call-graph takes.  Leaves PROGRAM.data and
# PROGRAM.log, what the program printed, in OUTDIR for each program.

set -eu

out=$1
callgraph=$2
cd "$(dirname "$0")"
here=$(pwd)
mkdir -p "$out"

job() {
	name=$1
	shift
	perf record -q -e cpu-clock -F 499 --call-graph "$callgraph" \
		-o "$out/$name.data" -- "$@" > "$out/$name.log"
}

# shellcheck source=/dev/null
. "$here/jobs.sh"
