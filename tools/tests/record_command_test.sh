#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: CODECTL=PROGRAM record_command_test.sh
#
# Tests codectl record with a stand-in for perf.
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

run "interrupted before the command runs" interrupted_before_the_command_runs
run "interrupted while perf hangs" interrupted_while_perf_hangs
finish
