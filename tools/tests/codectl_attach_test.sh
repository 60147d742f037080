#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests codectl attach --all with processes of several users, one of whom has a file system
# that does not answer.  Prints TAP, in the guest.
#
# Functions called by check() look unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"

hangs()
{
	for pid in $(pidof codectl); do
		! grep -q 'fuse' "/proc/$pid/stack" || return 0
	done
	return 1
}

# start USER FILE - a program that runs until it is killed
start()
{
	cp "$here/contend" "$2"
	chmod 755 "$2"
	start-stop-daemon -S -b -c "$1" -x "$2" -- 1 1000000 1000000
	eventually has_process "$2"
}

has_process()
{
	pidof "$(basename "$1")" > "$out/pids"
}

has_table()
{
	grep -q " attached $1$" /proc/codectl_files
}

none_left()
{
	! pidof codectl > /dev/null && ! grep -q . /proc/codectl_files
}

start_silent()
{
	mkdir -m 777 "$out/mount"
	"$here/silent" 1000 "$out/mount" > "$out/silent" &
	eventually grep -q mapped "$out/silent"
}

hold_tracepoints
: > "$out/stdout"
: > "$out/stderr"
chmod 755 "$out"
# Distributions set this mode, too.
chmod 666 /dev/fuse
"$here/owner_test" > "$out/stdout"
check "it is told who answers for a process" [ $? = 0 ]
codectl attach --all --store "$out/store" 2> "$out/stderr" &
tool=$!
check "what runs at the start has tables" eventually grep -q 'files have tables' "$out/stderr"
check "a file that anybody serves is mapped" start_silent
check "who looks at it hangs" eventually hangs
start root "$out/of-root"
check "root's files get tables meanwhile" eventually has_table "$out/of-root"
start nobody "$out/of-user"
check "those of other users, too" eventually has_table "$out/of-user"
kill -HUP $tool
usleep 500000
check "it looks again when it is told to" kill -0 $tool
kill -TERM $tool
check "and ends when it is told to" eventually has_ended $tool
wait $tool
check "... as it should" [ $? = 0 ]
check "what hangs is left, as it cannot be killed" hangs
killall silent
check "with the file system it goes" eventually none_left
killall of-root of-user
eventually none_left
check "a process delays its execve()" start_delayed 1000
codectl attach --all --store "$out/store" 2> "$out/stderr" &
tool=$!
cp "$here/contend" "$out/meanwhile"
"$out/meanwhile" 1 1000000 1000000 > "$out/stdout" &
meanwhile=$!
check "others get tables meanwhile" eventually has_table "$out/meanwhile"
kill -TERM $tool
check "the command ends when it is told to" eventually has_ended $tool
kill -KILL "$server" $tool $meanwhile 2> /dev/null
wait $tool
check "... as it should" [ $? = 0 ]
finish
