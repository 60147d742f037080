#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: CODECTL=PROGRAM record_command_test.sh
#
# Tests codectl record and top with a stand-in for perf.
#
# The functions are called by run().
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=command.sh
. "$here/command.sh"

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# It answers once there is the file "go".
cat > "$dir/perf" <<END
#!/bin/sh
while [ "\$1" != --control ]; do
	shift
done
: > "$dir/started"
until [ -e "$dir/go" ]; do
	sleep 0.1
done
eval "echo ack >&\${2#*,}"
exec sleep 1000
END
chmod +x "$dir/perf"

# For example by SIGTERM, which the command does not get itself.
interrupted_before_the_command_runs()
{
	PATH=$dir:$PATH "$CODECTL" record --cpu --no-attach -- touch "$dir/ran" 2> "$dir/said" &
	pid=$!
	until [ -e "$dir/started" ] || ! kill -0 "$pid"; do
		sleep 0.1
	done
	kill -TERM "$pid"
	: > "$dir/go"
	wait "$pid"
	[ $? = 1 ] && grep -q 'codectl: interrupted$' "$dir/said" && [ ! -e "$dir/ran" ]
}

# Only SIGKILL ends perf while it waits for a process.
interrupted_while_perf_hangs()
{
	rm -f "$dir/go" "$dir/started"
	sed -i '2s/^/trap "" TERM INT\n/' "$dir/perf"
	PATH=$dir:$PATH timeout -s KILL 60 "$CODECTL" record --cpu --no-attach \
		2> "$dir/said" &
	pid=$!
	until [ -e "$dir/started" ] || ! kill -0 "$pid"; do
		sleep 0.1
	done
	kill -TERM "$pid"
	wait "$pid"
	[ $? = 1 ] && grep -q 'codectl: interrupted$' "$dir/said"
}

# It writes the header of a pipe, an event with the thread and the time, that 7 records are lost,
# and that a round is over.
top_says_what_is_lost()
{
	cat > "$dir/perf" <<END
#!/bin/sh
while [ "\$1" != --control ]; do
	shift
done
printf 'PERFILE2\\020\\0\\0\\0\\0\\0\\0\\0'
printf '\\100\\0\\0\\0\\0\\0\\110\\0\\1\\0\\0\\0\\100\\0\\0\\0'
head -c 16 /dev/zero
printf '\\6'
head -c 39 /dev/zero
printf '\\2\\0\\0\\0\\0\\0\\030\\0'
head -c 8 /dev/zero
printf '\\7\\0\\0\\0\\0\\0\\0\\0\\104\\0\\0\\0\\0\\0\\010\\0'
eval "echo ack >&\${2#*,}"
exec sleep 1000
END
	PATH=$dir:$PATH "$CODECTL" top --no-attach -n 1 -d 0.3 > "$dir/said" &&
		grep -q '^# codectl top: 0\.[0-9] s, 0 samples, 0 without stack, 7 lost$' "$dir/said" &&
		PATH=$dir:$PATH "$CODECTL" top --no-attach -n 1 -d 0.3 --json > "$dir/said" &&
		grep -q '^{"count":7,"text":"samples or records lost"' "$dir/said" &&
		grep -q '"duration":[1-9]' "$dir/said"
}

run "interrupted before the command runs" interrupted_before_the_command_runs
run "interrupted while perf hangs" interrupted_while_perf_hangs
run "top says what is lost, also in JSON" top_says_what_is_lost
finish
