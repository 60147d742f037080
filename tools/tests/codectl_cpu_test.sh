#!/bin/sh
# SPDX-License-Identifier: MIT
#
# codectl record --cpu and top in the guest: the shares that they report match the
# program's own clock, by function, line, thread and cgroup.  Prints TAP.
#
# Functions called by check() look unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"

# With 3000 independent samples, a measured share of 20 % is within 2 points in 99 of 100 cases, and
# samples at intervals differ less.  An emulated CPU takes fewer samples than requested.
hertz=997 enough=3000
cgroups=$out/cgroups
# Other work on the host takes CPUs away from the emulated ones, often in the middle of
# a function: then shares differ by more.
slack=${TEST_SLACK:-5}

# make_json OPTION... - converts the recording to JSON
make_json()
{
	codectl report --json "$out/json" "$@" "$out/recording" > "$out/stdout" 2> "$out/stderr"
}

# rows LIST - prints the rows of "functions", "lines" or "samples" of the last JSON
rows()
{
	awk -v want="\"$1\":[" '
		/^"/ { on = index($0, want) == 1; next }
		on' "$out/json"
}

# share LIST KEY TEXT... - adds the shares of all rows that have all texts
share()
{
	key=$2 list=$1
	shift 2
	rows "$list" > "$out/rows"
	for text; do
		grep -F "$text" "$out/rows" > "$out/fewer"
		mv "$out/fewer" "$out/rows"
	done
	sed "s/.*\"$key\":\([-0-9.e]*\).*/\1/" "$out/rows" |
		awk '{ sum += $1 } END { printf "%.6f\n", sum }'
}

# near ONE OTHER BY - do two numbers differ by at most BY, times the slack?
near()
{
	echo "# $1, wanted $2" >> "$out/stdout"
	awk -v a="$1" -v b="$2" -v by="$3" -v slack="$slack" 'BEGIN {
		by *= slack
		exit !(a - b <= by && b - a <= by && b > 0) }'
}

# truth NAME FIELD - the program's own figure: field 2 is the share, 3 the line
truth()
{
	awk -v name="$1" -v field="$2" '$1 == name { print $field }' "$out/truth"
}

record_shares()
{
	for seconds in 8 16 32 64; do
		codectl record --cpu -F "$hertz" -o "$out/recording" -- \
			"$here/shares" "$seconds" > "$out/truth" 2> "$out/stderr" &&
			make_json || return
		events=$(share samples events '"events"')
		events=${events%.*}
		echo "# $events samples"
		[ "$events" -lt "$enough" ] || return 0
	done
	return 1
}

# The kernel does not report the callers of samples taken after the program has ended.
nearly_all_have_stacks()
{
	lost=$(sed -n 's/.*"count":\([0-9]*\).*/\1/p' "$out/json" |
		awk '{ sum += $1 } END { print sum + 0 }')
	[ "$lost" -le $((events / 100)) ]
}

test_shares()
{
	check "it samples a program, often enough for what follows" record_shares
	for name in first second third; do
		check "$name takes 20 % by the program's own clock" near \
			"$(truth $name 2)" 20 5
		check "and by the report what that says, within 2 points" near \
			"$(share functions self_share "\"name\":\"$name\"" shares)" \
			"$(truth $name 2)" 2
		check "by the line of code that takes it" near \
			"$(share lines self_share "\"name\":\"$name\"" \
				"shares.c\",\"line\":$(truth $name 3),")" "$(truth $name 2)" 2
	done
	check "main has called all of it" near \
		"$(share functions total_share '"name":"main"')" 100 1
	check "so has _start: stacks are whole" near \
		"$(share functions total_share '"name":"_start"')" 100 1
	check "all has a time" grep -q '^"unit":"ns"' "$out/json"
	check "a sample stands for the time between two" near \
		"$(share samples ns '"events"')" $((events * (1000000000 / hertz))) $((events * 10000))
	check "nearly all have their stack, and nothing is lost" nearly_all_have_stacks
	grep -q "\"build-id\":\"$(cat "$here/shares.build-id")\"" "$out/recording"
	check "the recording has the program's build-id" [ $? = 0 ]
	check "no function is the kernel's" [ "$(share functions total '"kernel":true')" = 0.000000 ]
}

# The table agrees with the JSON.
table_agrees()
{
	codectl report "$out/recording" > "$out/stdout"
	near "$(awk '$NF == "first" { print $1 + 0 }' "$out/stdout")" \
		"$(share functions self_share '"name":"first"')" 0.006 &&
		near "$(awk '$NF == "first" { print $3 }' "$out/stdout")" \
			"$(share functions self '"name":"first"' |
			   awk '{ printf "%.3f", $1 / 1e6 }')" 0.001
}

# The program's name would clear the screen, and end the line.
test_hostile_name()
{
	name=$(printf 'a\n\033[2J;b "')
	codectl record --cpu -F "$hertz" -o "$out/recording" -- \
		"$here/shares" 1 "$name" > "$out/stdout" 2> "$out/stderr"
	make_json --by comm
	check "a name with control characters is shown escaped" near \
		"$(share functions self_share 'a\\012\\033[2J;b \"')" 60 40
	check "and chosen by" codectl_is 0 report --by comm --comm 'a\012\033[2J;b "' \
		"$out/recording"
	check "the table has it" grep -q -F 'a\012\033[2J;b' "$out/stdout"
	check "no control character comes out" no_control
}

no_control()
{
	! tr -d '\n' < "$out/stdout" | grep -q '[[:cntrl:]]'
}

# start_in CGROUP - on the first CPU, until its cgroup is killed
start_in()
{
	sh -c "echo \$\$ > $cgroups/$1/cgroup.procs
		exec taskset 1 $here/shares 600" > "$out/load" 2>&1 &
}

# One program in one cgroup and two in another share a CPU, so that periods with fewer samples,
# which an emulated CPU has, affect all of them.
test_cgroups()
{
	mkdir "$cgroups" && mount -t cgroup2 cgroup2 "$cgroups" &&
		mkdir "$cgroups/one" "$cgroups/two"
	check "there are two cgroups" [ $? = 0 ]
	start_in one
	start_in two
	start_in two
	check "it samples what runs in them" codectl_is 0 record --cpu -F "$hertz" --duration 15 \
		-o "$out/recording"
	echo 1 > "$cgroups/one/cgroup.kill"
	echo 1 > "$cgroups/two/cgroup.kill"
	wait
	make_json --by cgroup --cgroup /one --cgroup /two
	check "a cgroup has the share of what runs in it" near \
		"$(share functions self_share '"groups":["/one"]')" 33.3 6
	check "so has another one" near \
		"$(share functions self_share '"groups":["/two"]')" 66.7 6
	make_json --cgroup /one
	check "of one alone, its functions are shown" near \
		"$(share functions self_share '"name":"first"')" 20 6
	all=$(share samples ns '"events"')
	check "and nothing else" near "$(share samples ns '"cgroup":"/one"')" "$all" 1
	tid=$(rows samples | sed -n 's/.*"tid":\([0-9]*\).*"cgroup":"\/one".*/\1/p' | head -n 1)
	make_json --tid "$tid"
	check "a thread can be chosen" near "$(share samples ns "\"tid\":$tid,")" "$all" 1
	rmdir "$cgroups/one" "$cgroups/two" && umount "$cgroups"
}

test_kernel()
{
	codectl record --cpu --kernel -F "$hertz" -o "$out/recording" -- \
		dd if=/dev/zero of=/dev/null bs=1M count=3000 > "$out/stdout" 2> "$out/stderr"
	make_json
	kernel=$(share functions self_share '"kernel":true')
	check "functions of the kernel take most of the time of dd" near "$kernel" 80 20
	check "they have names" grep -q '"name":"[a-z_].*"kernel":true' "$out/json"
	check "what calls them is the program" near \
		"$(share functions total_share '"name":"[busybox]"')" 80 20
	codectl record --cpu -F "$hertz" -o "$out/recording" -- \
		dd if=/dev/zero of=/dev/null bs=1M count=1000 > "$out/stdout" 2> "$out/stderr"
	make_json
	check "without --kernel there is none of them" \
		[ "$(share functions total '"kernel":true')" = 0.000000 ]
	check "but the time is the program's" near \
		"$(share functions total_share '"name":"[busybox]"')" 80 20
}

test_whole_machine()
{
	"$here/shares" 600 > "$out/load" &
	load=$!
	check "it samples the whole machine" codectl_is 0 record --cpu -F "$hertz" --duration 4 \
		-o "$out/recording"
	make_json --comm shares
	check "and finds what runs there" near \
		"$(share functions self_share '"name":"rest"')" 40 4
	check "it samples a process that runs" codectl_is 0 record --cpu -p "$load" \
		--duration 2 -o "$out/recording"
	make_json
	check "and nothing else" near \
		"$(share samples ns '"comm":"shares"')" "$(share samples ns '"tid":')" 1
	check "until it gets a signal" interrupted
	stop_load
}

perf_has_events()
{
	for perf in $(pidof perf); do
		ls -l "/proc/$perf/fd"
	done | grep -q perf_event
}

interrupted()
{
	codectl record --cpu -p "$load" -o "$out/recording" > "$out/stdout" 2> "$out/stderr" &
	recorder=$!
	eventually perf_has_events
	sleep 5
	kill -INT "$recorder"
	wait "$recorder" && make_json &&
		near "$(share functions self_share '"name":"rest"')" 40 8
}

# on_terminal STEP... - runs codectl top in a terminal
on_terminal()
{
	"$here/terminal" "$@" -- codectl top -p "$load" --by comm > "$out/stdout" 2> "$out/stderr" &&
		grep -q '^status 0$' "$out/stdout" &&
		grep -q '^terminal restored$' "$out/stdout"
}

# If it were not escaped, the name of the thread would clear the screen.
shows_no_control()
{
	clear=$(printf '\033[2J')
	home=$(printf '\033[H# codectl top:')
	grep -q -F "$home" "$out/stdout" && grep -q -F 'a\033[2Jb' "$out/stdout" &&
		! grep -q -F "$clear" "$out/stdout"
}

without_terminal()
{
	"$here/terminal" "=rest" "!" -- codectl top -p "$load" > "$out/stdout" 2> "$out/stderr" &&
		grep -q '^status 0$' "$out/stdout"
}

two_tables()
{
	codectl_is 0 top -p "$load" -n 2 -d 3 &&
		[ "$(grep -c '^# codectl top: ' "$out/stdout")" = 2 ] &&
		[ "$(grep -c ' rest$' "$out/stdout")" = 2 ]
}

test_top()
{
	"$here/shares" 600 "$(printf 'a\033[2Jb')" > "$out/load" &
	load=$!
	check "top prints a table each period" two_tables
	codectl top -p "$load" -n 1 -d 10 --json > "$out/json" 2> "$out/stderr"
	check "with the shares of that time" near \
		"$(share functions self_share '"name":"rest"')" 40 8
	check "on a terminal it takes keys, and gives it back" on_terminal =rest t =rest g \
		"=# pid: pid $load" q
	check "names that control terminals are shown" on_terminal '=# comm: a' q
	check "but do not" shows_no_control
	check "SIGTERM ends it as well" on_terminal =rest @15
	check "so does SIGINT" on_terminal =rest @2
	check "and the end of its terminal" without_terminal
	stop_load
	for call in 'top x' 'top -d 0' 'top --by x' 'top --sort x' 'top -n 0' 'top --what'; do
		# shellcheck disable=SC2086
		check "exit status 2: codectl $call" fails_with 2 . $call
	done
	check "top leaves no perf" eventually none_left
}

test_errors()
{
	for call in 'record --cpu --futex' 'record --cpu --event a' 'record -F 10' \
		    'record --cpu -F 0' 'record --cpu --names' \
		    'report --tid x' 'report --tid 0'; do
		# shellcheck disable=SC2086
		check "exit status 2: codectl $call" fails_with 2 . $call
	done
	check "who has no perf is told" no_perf
	check "a command that is not there" fails_with 1 'cannot run /nonexistent' \
		record --cpu -- /nonexistent
	check "no perf is left" eventually none_left
}

no_perf()
{
	codectl=$(command -v codectl)
	PATH=/nonexistent "$codectl" record --cpu -- /bin/true > "$out/stdout" 2> "$out/stderr"
	[ $? = 1 ] && one_line 1 'perf record fails: it cannot be run: No such file'
}

none_left()
{
	! pidof perf > /dev/null
}

hold_tracepoints
: > "$out/stdout"
: > "$out/stderr"
test_shares
check "tables have the same figures" table_agrees
test_hostile_name
test_cgroups
test_kernel
test_whole_machine
test_top
test_errors
finish
