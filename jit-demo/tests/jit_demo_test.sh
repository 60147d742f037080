#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests of jit-demo, as TAP: what its programs print, the rows of each instruction
# and, if the kernel unwinds them, names and stacks.
#
# DEMO is the directory with stackdump and markcheck.  Without EXPECT_ALL_FEATURES, tests that
# need codectl(2) are skipped if the kernel lacks it.

here=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=../../scripts/check/tap.sh
. "$here/tests/tap.sh"

demo=${DEMO:-$here/../demo}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
programs=$(echo "$here"/programs/*.jd)
# Tests on a slow kernel take more samples per round, and have less time.
rounds=20 steps=150000 seconds=60
[ "${TEST_TIME_SCALE:-1}" = 1 ] || rounds=8 steps=50000 seconds=300

jit_demo()
{
	# shellcheck disable=SC2086
	"$here/jit-demo" -l "$out/log" "$@" $programs
}

# prints WHAT OPTION... - each way to run the programs prints the same
prints()
{
	what=$1
	shift
	jit_demo "$@" > "$out/printed" && cmp "$out/expected" "$out/printed"
	result $? "the programs print what they have to, $what"
}

# sum KEY - adds the values after it in the log
sum()
{
	awk -v key="$1" '
		{ for (i = 1; i < NF; i++) if ($i == key) sum += $(i + 1) }
		END { print sum + 0 }' "$out/log"
}

# at_least KEY NUMBER
at_least()
{
	[ "$(sum "$1")" -ge "$2" ]
	result $? "$1: $(sum "$1"), at least $2"
}

# log_names - prints the names in the log as a perf map
log_names()
{
	awk '$1 == "code" { printf "%s %x %s\n", substr($3, 3), $4, $8 }' \
		"$out/log" | sort
}

# shellcheck disable=SC2086
for program in $programs; do
	name=$(basename "$program" .jd)
	echo "$name:"
	sed -n 's/^#= //p' "$program"
done > "$out/expected"

prints "by one thread"
prints "by two threads, and compiled again and again" -t 2 -n 20
at_least tier2 200
at_least retired 1000
at_least reused 200
at_least flushed 1
at_least tables 8
prints "with all that is compiled kept" -k -t 2 -n 3
prints "with code that grows down" -d -t 2 -n 3
prints "with addresses used again at once" -r -t 2 -n 6
prints "with granule maps" -g -r -t 2 -n 6
at_least reused 200

sed 's/^#= 649$/#= 648/' "$here/programs/collatz.jd" > "$out/wrong.jd"
! "$here/jit-demo" "$out/wrong.jd" > /dev/null 2> "$out/error" &&
	grep -q 'wrong printed something else' "$out/error"
result $? "it fails where a program prints something else"

# Every executed instruction, compared with the frames that calls have made.
programs="$here/programs/fib.jd $here/programs/tree.jd"
jit_demo -s $steps > /dev/null && [ "$(sum wrong)" = 0 ]
result $? "rows are right at each instruction"
at_least checked $((steps / 15))
jit_demo -d -s $steps > /dev/null && [ "$(sum wrong)" = 0 ]
result $? "rows are right at each instruction, with code that grows down"
programs=$(echo "$here"/programs/*.jd)

# perf's file has each piece of code that was published, and its name.
# shellcheck disable=SC2086
"$here/jit-demo" -m -l "$out/log" $programs > /dev/null &
pid=$!
wait $pid
log_names > "$out/names"
sort "/tmp/perf-$pid.map" > "$out/map" && [ -s "$out/map" ] &&
	cmp "$out/names" "$out/map"
result $? "the perf map has the names and addresses of all code"
rm -f "/tmp/perf-$pid.map"

# Names for tracers, which a loop that compiles nothing reports as well.
# The kernel removes the event some time after the last process that uses it has ended.
tracefs=/sys/kernel/tracing
event=$tracefs/events/user_events/codectl_name
instance=$tracefs/instances/jit-demo-test
cat > "$out/loop.jd" <<END
fn count(n)
{
	var i = 0;
	while (i < n) {
		i = i + 1;
	}
	return i;
}

fn main()
{
	print(count(1000000000000000));
}
END

# eventually COMMAND... - waits until it succeeds, for a minute or more
eventually()
{
	tries=$((600 * ${TEST_TIME_SCALE:-1}))
	until "$@" 2> /dev/null; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		sleep 0.1
	done
}

# told FILE - prints the names of the first replay as a perf map
told()
{
	awk -v pid=$pid '
		function field(key) {
			match($0, " " key "=[0-9a-fx]+")
			return substr($0, RSTART + length(key) + 2,
				      RLENGTH - length(key) - 2)
		}
		!/: codectl_name: / || !index($0, sprintf(" pid=0x%x ", pid)) { next }
		{ action = field("action") }
		action == "0x2" { delete names; begun = 1 }
		action == "0x3" && begun { exit }
		action == "0x0" {
			start = field("start")
			names[start] = substr(start, 3) " " \
				substr(field("len"), 3) " " $NF
			sub(/name=/, "", names[start])
		}
		END { for (start in names) print names[start] }' "$1" | sort
}

# shellcheck disable=SC2317
has_ended()
{
	grep -q 'action=0x3' "$instance/trace"
}

# Starts an engine in an endless loop.
start_loop()
{
	eventually [ ! -e "$event" ]
	mkdir "$instance" || return
	"$here/jit-demo" -m "$out/loop.jd" > /dev/null &
	pid=$!
	eventually grep -q 'loop.count@1' "/tmp/perf-$pid.map"
}

stop_loop()
{
	kill -KILL $pid
	wait $pid
	sort "/tmp/perf-$pid.map" > "$out/map"
	rm -f "/tmp/perf-$pid.map"
	# The trace has to be read before the event, and with it its format, is removed.
	told "$instance/trace" > "$out/told"
	rmdir "$instance"
}

trace_loop()
{
	start_loop &&
		echo 1 > "$instance/events/user_events/codectl_name/enable" &&
		eventually has_ended
	result $? "a loop tells names to who comes"
	stop_loop
	[ -s "$out/told" ] && cmp "$out/map" "$out/told"
	result $? "they are the names and addresses of all code"
}

trace_start()
{
	start_loop
	echo 1 > "$instance/events/user_events/codectl_name/enable"
	# shellcheck disable=SC2086
	"$here/jit-demo" -k -l "$out/log" $programs > /dev/null &
	loop=$pid
	pid=$!
	wait $pid
	grep 'action=0x0 ' "$instance/trace" > "$out/added"
	told "$out/added" > "$out/told"
	pid=$loop
	log_names > "$out/names"
	[ -s "$out/told" ] && cmp "$out/names" "$out/told"
	result $? "a tracer that is there first gets each name as it comes"
	stop_loop
}

# perf_control COMMAND - waits for the answer of perf
perf_control()
{
	timeout $seconds sh -c "echo $1 > '$out/control'" &&
		timeout $seconds head -n 1 "$out/ack" > "$out/answer"
}

# perf attaches to a running process, and ftrace requests all names as well.
perf_names()
{
	start_loop
	mkfifo "$out/control" "$out/ack"
	perf record -q -e user_events:codectl_name -p $pid -o "$out/data" \
		--control "fifo:$out/control,$out/ack" &
	perf=$!
	perf_control ping &&
		echo 1 > "$instance/events/user_events/codectl_name/enable" &&
		eventually has_ended
	result $? "ftrace gets names beside perf"
	perf_control stop
	wait $perf
	stop_loop
	perf script -i "$out/data" -F trace > "$out/script"
	grep -o 'name=jit:.*' "$out/script" | sort -u > "$out/names"
	sed 's/.* /name=/' "$out/map" | sort -u > "$out/all"
	[ -s "$out/names" ] && cmp "$out/names" "$out/all"
	result $? "perf records them all"
}

if [ -e $tracefs/user_events_data ] || [ -n "${EXPECT_ALL_FEATURES:-}" ]; then
	trace_loop
	trace_start
	perf_names
else
	echo "# this kernel has no user events"
fi

if [ "$(sum registered)" = 0 ] && [ -z "${EXPECT_ALL_FEATURES:-}" ]; then
	echo "# this kernel has no codectl(2)"
	finish
fi
[ "$(sum registered)" = 1 ]
result $? "the kernel knows the region"

# mark_check WHAT PERCENT INTERRUPTED OPTION... - at most PERCENT of the stacks may end early, and
# at least INTERRUPTED samples must be in a signal handler
mark_check()
{
	what=$1 percent=$2 interrupted=$3
	shift 3
	: > "$out/checked"
	# shellcheck disable=SC2086
	"$demo/stackdump" -F 1000 -o "$out/dump" -- "$here/jit-demo" \
		-l "$out/log" "$@" $programs > "$out/printed" 2> "$out/error" &&
		cmp "$out/expected" "$out/printed" &&
		"$demo/markcheck" -m 100 -i "$interrupted" -t "$percent" \
			-l "$out/log" "$out/dump" > "$out/checked"
	result $? "the kernel's frames are those that left marks, $what"
	sed 's/^/# /' "$out/checked" "$out/error"
}

mark_check "code that is kept" 0 0 -k -t 2 -n $((2 * rounds))
mark_check "code that grows up" 0 0 -t 2 -n $rounds
mark_check "interrupted by signals" 0 10 -i -t 2 -n $rounds
mark_check "code that grows down" 0 0 -d -t 2 -n $rounds
# if rows are rewritten under compiled code, a stack may end early
mark_check "addresses used again at once" 10 0 -r -t 2 -n $rounds

# The functions of each program have names, and no frame of theirs lacks one.
# shellcheck disable=SC2086
perf record -q -e cpu-clock -F 1000 --call-graph fp,defer -o "$out/data" -- \
	"$here/jit-demo" -m -k -n $((2 * rounds)) $programs > "$out/printed" &&
	perf script -i "$out/data" --no-inline --max-stack 512 \
		-F comm,tid,time,ip,sym,dso > "$out/script"
result $? "perf records and reads it"
names=$(grep -o 'jit:[a-z]*\.[a-z_]*@[12]' "$out/script" | sort -u | wc -l)
[ "$names" -ge 20 ]
result $? "perf has names of $names functions, at least 20"
[ -s "$out/script" ] &&
	! grep -q '\[unknown\] (/tmp/perf-\|\[unknown\] (//anon' "$out/script"
result $? "each frame of compiled code has a name"

finish
