#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: pprof_viewer.sh CODECTL
#
# Tests what Go's pprof reads from a recording.  PPROF names another pprof.
#
# The functions are called by run().
# shellcheck disable=SC2317

# shellcheck source=../../scripts/check/tap.sh
. "$(dirname "$0")/../../scripts/check/tap.sh"

codectl=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# Keep pprof's copies here, and do not let it search for programs.
export PPROF_TMPDIR="$dir" PPROF_BINARY_PATH="$dir" HOME="$dir"

cat > "$dir/recording" <<'EOF'
{"codectl-recording":1,"start":1764288000000000000,"duration":2000000000}
{"event":{"name":"a:wait","timed":true}}
{"task":{"comm":"one","pid":1,"tid":1}}
{"task":{"comm":"two","pid":2,"tid":3}}
{"frame":{"function":"main","file":"/bin/demo","build-id":"00ff","offset":"0x10","source":"/s/main.c","line":3}}
{"frame":{"function":"outer","file":"/bin/demo","build-id":"00ff","offset":"0x20","source":"/s/a.c","line":9}}
{"frame":{"function":"inner","file":"/bin/demo","build-id":"00ff","offset":"0x20","source":"/s/a.h","line":7,"inlined":true}}
{"frame":{"file":"/lib/stripped.so","offset":"0x30"}}
{"frame":{"function":"entry","offset":"0xffffffff81000000","kernel":true}}
{"stack":{"frame":0}}
{"stack":{"caller":0,"frame":1}}
{"stack":{"caller":1,"frame":2}}
{"stack":{"caller":0,"frame":3}}
{"stack":{"caller":3,"frame":4}}
{"sample":{"stack":2,"task":0,"event":0,"time":0,"events":6,"ns":6000000}}
{"sample":{"stack":1,"task":0,"event":0,"time":0,"events":1,"ns":1000000}}
{"sample":{"stack":4,"task":1,"event":0,"time":0,"events":2,"ns":3000000}}
{"end":{}}
EOF

# shows REGEX OPTION...
shows()
{
	wanted=$1
	shift
	# shellcheck disable=SC2086
	said=$(${PPROF:-go tool pprof} "$@" "$dir/profile" 2>&1)
	echo "$said"
	echo "$said" | grep -q -E -- "$wanted"
}

run "a profile is written" "$codectl" report --pprof "$dir/profile" "$dir/recording"
run "its time is what counts" shows 'Type: time' -top
run "it has all of it" shows 'Total samples = 10ms' -top
run "it began when the recording did" shows 'Nov 28, 2025' -top
run "self and total of a function" shows '^ +1ms 10.00% .* 7ms 70.00% +outer$' -top
run "an inlined function" shows '^ +6ms 60.00% .* inner( \(inline\))?$' -top
run "its source lines" shows '6ms .* inner /s/a.h:7 \(inline\)' -top -lines
run "a function of the kernel" shows '^ +3ms 30.00% .* entry$' -top
run "a file without names" shows '3ms 30.00% +\[stripped.so\]$' -top
run "events" shows '^ +2 22.22% .* entry$' -top -sample_index=events
run "names of threads are tags" shows ' 3.0ms \(30.00%\): two$' -tags
run "which select" shows 'accounting for 3ms, 30.00% of 10ms' -top -tagfocus=comm=two
run "build-ids" shows '/bin/demo 00ff' -raw
finish
