#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests codectl record --wait: compares the waits that a program reports itself with the recorded
# ones.  Prints TAP, in the guest.
#
# Functions called by check() look unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"

rounds=10
[ "${TEST_TIME_SCALE:-1}" = 1 ] || rounds=20

# Other work on the host takes CPUs away from the emulated ones.
slack=${TEST_SLACK:-3}

# total LIST NAME [LINE] - adds the nanoseconds of that row of the JSON in all groups
total()
{
	awk -v list="$1" -v name="$2" -v line="$3" '
		/^"[a-z]*":\[/ { here = index($0, "\"" list "\":[") == 1 }
		here && index($0, "{\"name\":\"" name "\",") == 1 &&
		(line == "" || index($0, ",\"line\":" line ",")) &&
		match($0, /"total":[0-9]+/) {
			sum += substr($0, RSTART + 8, RLENGTH - 8)
		}
		END { printf "%.0f\n", sum }' "$out/json"
}

# told NAME - prints the program's own nanoseconds and line
told()
{
	sed -n "s/^$1 //p" "$out/told"
}

# agrees NS TOLD - do they differ by at most 2 percent of the program's time, times the slack?
agrees()
{
	awk -v ns="$1" -v told="$2" -v all="$(told all | cut -d ' ' -f 1)" \
		-v by="$((2 * slack))" 'BEGIN {
		share = 100 * ns / all
		want = 100 * told / all
		printf "# %.2f percent, and %.2f by the program\n", share, want
		exit !(all && want > 5 && share > want - by && share < want + by)
	}'
}

# report_json OPTION... - to $out/json
report_json()
{
	codectl report --json "$out/json" "$@" "$out/recording" 2> "$out/stderr" > "$out/stdout"
}

# Lines are those of the C source, by the debugging information of the program.
shares_agree()
{
	for name in take_lock take_byte; do
		# shellcheck disable=SC2046
		set -- $(told $name)
		agrees "$(total functions $name)" "$1"
		check "$name has its share" [ $? = 0 ]
		agrees "$(total lines $name "$2")" "$1"
		check "$name has it on the line that waits" [ $? = 0 ]
	done
}

# of_kind EVENT NAME - does NAME only have waits of this kind?
of_kind()
{
	report_json --event "$1" --by none
	is=$(total functions "$2")
	report_json --by none
	[ "$is" -gt 0 ] && [ "$is" = "$(total functions "$2")" ]
}

min_us_is()
{
	[ "$(cat "$tracing/code_wait_min_us")" = "$1" ]
}

# record OPTION... - the output of the program goes to $out/told
record()
{
	codectl record --wait --no-attach -o "$out/recording" "$@" > "$out/told" 2> "$out/stderr"
}

test_shares()
{
	check "record --wait" record -- "$here/waiting" $rounds
	cp "$out/stderr" "$out/summary"
	check "a recording of time" report_json --by none
	check "which is its unit" grep -q '"unit":"ns"' "$out/json"
	shares_agree
	check "a mutex is a futex" of_kind wait:futex take_lock
	check "a read is input" of_kind wait:io take_byte
	check "a sleep is one" of_kind wait:sleep let_others_wait
	report_json --by tid
	check "threads can be told apart" \
		grep -q "^{\"name\":\"take_lock\",.*\"groups\":\[\"tid $(told tid)\"\]" "$out/json"
	! grep 'records lost\|left out\|without a stack: lost' "$out/summary"
	check "nothing is lost" [ $? = 0 ]
	report_json --by none --event wait:io
	check "the program's start is none of its waits" [ "$(total functions child_prepare)" = 0 ]
	check "what it has set is as it was" min_us_is 0
}

# is_in FUNCTION WHOM - does FUNCTION have the time that the first thread spends in WHOM?
is_in()
{
	# shellcheck disable=SC2046
	set -- "$1" $(told "$2")
	agrees "$(total functions "$1")" "$2"
}

# The callers of unlock and write that end the waits of the first thread.
test_wakers()
{
	check "record --wakers" record --wakers -- "$here/waiting" $rounds
	report_json --by none --event woken:futex --tid "$(told tid)"
	is_in hold take_lock
	check "who has the mutex ends the wait for it" [ $? = 0 ]
	check "by its name" is_in '\[woken by waiting\]' take_lock
	report_json --by none --event woken:io --tid "$(told tid)"
	is_in feed take_byte
	check "who writes ends the read" [ $? = 0 ]
	report_json --by none --event woken:sleep
	check "a timer is nobody" [ "$(total functions '[woken by waiting]')" = 0 ]
	report_json --by none
	shares_agree
	! grep 'records lost\|left out\|without a stack: lost' "$out/stderr"
	check "nothing is lost" [ $? = 0 ]
	check "of waits alone" fails_with 2 'need --wait' record --wakers --futex
}

# User frames are the callers of kernel frames.
test_kernel()
{
	check "record --wait --kernel" record --kernel -- "$here/waiting" $rounds
	report_json --by none --tid "$(told tid)" --event wait:io
	is_in do_syscall_64 take_byte
	check "a read is in the kernel" [ $? = 0 ]
	check "what schedules is left out" [ "$(total functions __schedule)" = 0 ]
	report_json --by none --tid "$(told tid)" --event wait:futex
	is_in futex_wait take_lock
	check "a mutex is in its futex" [ $? = 0 ]
	check "a recording as folded stacks" report_json --event wait:futex --folded "$out/folded"
	check "with the function that waits" grep -q 'take_lock;.*;futex_wait_\[k\];' "$out/folded"
}

test_short()
{
	check "record --min-wait" record --min-wait 1000000 -- "$here/waiting" 2
	check "shorter waits are not there" said '^codectl: 0 events'
	check "a wait has to be as long as a number" fails_with 2 'not a number' \
		record --wait --min-wait x
	check "of waits alone" fails_with 2 'need --wait' record --min-wait 5 --futex
	check "waits and events are not recorded together" fails_with 2 'not both' \
		record --wait --futex
}

test_lost()
{
	check "record --wait with a tiny buffer" record --min-wait 1 --buffer 4 --duration 3 \
		-- "$here/contend" 3 1000000000
	check "says that records were lost" said 'records lost'
	report_json --by none
	check "no wait is longer than the recording" no_longer
}

# Each of four threads waits for at most 3 seconds, plus the time that it takes to end.
no_longer()
{
	awk -F '"ns":' '/"ns":[0-9]/ { sub(/,.*/, "", $2); sum += $2 }
		END { exit !(sum < 4 * 6e9) }' "$out/json"
}

# blocked FUNCTION THREADS - are THREADS threads in it, waiting for a futex?
blocked()
{
	report_json --event blocked:futex --by tid
	[ "$(grep -c "^{\"name\":\"$1\"," "$out/json")" = "$2" ] ||
		[ "$(grep "^{\"name\":\"$1\"," "$out/json" | grep -o '"tid [0-9]*"' | sort -u |
			wc -l)" = "$2" ]
}

test_deadlock()
{
	start_load "$here/waiting" deadlock
	eventually [ "$(wc -l < "$out/load")" = 3 ]
	sleep 1
	check "a deadlock is recorded" record --duration 1 -p "$load"
	check "three threads are in it" said '^codectl: 3 threads in a deadlock wait: '
	one=$(address one) two=$(address two) three=$(address three)
	check "the first waits for the second's lock" said " $one (waiting) for lock_b, which $two holds"
	check "the second for one without a name" \
		said " $two (waiting) for 0x[0-9a-f]*[^,]*, which $three holds"
	check "the third for the first's" said " $three (waiting) for lock_a, which $one holds"
	check "their stacks are in the recording" blocked take_second 3
	report_json
	check "and so is that" grep -q "threads in a deadlock wait: .* for lock_a" "$out/json"
	check "they wait still" [ -e "/proc/$load" ]
	stop_load
}

# state_is STATE - of the program
state_is()
{
	grep -q "^State:.$1" "/proc/$load/status"
}

poll_is_blocked()
{
	report_json --event blocked:poll --by none
	[ "$(total functions poll_forever)" -gt 0 ] && [ "$(total functions poll_for_long)" = 0 ]
}

# is_blocked EVENT FUNCTION
is_blocked()
{
	report_json --event "blocked:$1" --by none
	[ "$(total functions "$2")" -gt 0 ]
}

# Its last wait takes less than its timeout, as the recording ended first.
ends_with_recording()
{
	is_blocked poll poll_often && [ "$(total functions poll_often)" -lt 700000000 ]
}

test_idle()
{
	start_load "$here/waiting" idle
	sleep 1
	check "a program that waits for events is recorded" record --duration 1 -p "$load"
	check "who has a timeout is left alone" said '^codectl: 1 threads still wait (epoll_wait): '
	check "who waits without a timeout has its stack" poll_is_blocked
	check "and who waits for a connection" is_blocked net accept_forever
	check "and who waits until there is room in a pipe" is_blocked io write_forever
	check "and who has a short timeout, until the end" ends_with_recording
	check "all wait still" state_is S
	stop_load
}

# The recorder of everybody's waits, until it is killed.
test_killed()
{
	codectl record --wait -o "$out/other" > /dev/null 2> "$out/stderr" &
	recorder=$!
	eventually is_recording
	check "the shortest wait is set meanwhile" min_us_is 100
	kill -KILL $recorder
	wait $recorder 2> /dev/null
	check "and set back, whatever happens" eventually min_us_is 0
	check "no instance is left" no_instance
}

hold_tracepoints
test_shares
test_wakers
test_kernel
test_short
test_lost
test_deadlock
test_idle
test_killed
finish
