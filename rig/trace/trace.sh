# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2034,SC2154
#
# Shared by the tests of the trace; $here is their directory.

# shellcheck source=../../scripts/check/tap.sh
. "$here/tap.sh"

tracing=/sys/kernel/tracing
scale=${TEST_TIME_SCALE:-1}
work=$(mktemp -d)
of_load='comm == "truth_load" || comm == "exe"'
trap 'rm -rf "$work"' EXIT

# Prints standard input as comments, and fails if there is any.
says_nothing()
{
	! sed 's/^/# /' | grep .
}

# add_instance NAME - makes an instance that records user stacks
add_instance()
{
	mkdir "$tracing/instances/$1" &&
		echo 1 > "$tracing/instances/$1/options/userstacktrace_delay"
}

# set_in INSTANCE FILE VALUE
set_in()
{
	echo "$3" > "$tracing/instances/$1/$2"
}

remove_instance()
{
	set_in "$1" events/enable 0
	# killed processes have to release their files
	for _ in $(seq 100); do
		! rmdir "$tracing/instances/$1" 2> /dev/null || return 0
		usleep 50000
	done
	rmdir "$tracing/instances/$1"
}
