# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
#
# Sourced by in-guest.sh of an engine, which sets hertz: takes stacks of programs in /opt/root.

# These are for scripts that source this:
# shellcheck disable=SC2034
root=/opt/root preload=/usr/lib/x86_64-linux-gnu/codectl/libcodectl-preload.so

mount -t proc proc $root/proc
mount --bind /dev $root/dev
mkdir -p /out

# in_root COMMAND...
in_root()
{
	chroot $root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
}

# How perf records, processes and reads its data.
how='--call-graph fp,defer' then='' read=''

# take NAME FILES COMMAND... - takes stacks of the command in the root, with tables attached to
# FILES there, a list separated by blanks
take()
{
	taken=$1 tables=$2
	shift 2
	# shellcheck disable=SC2086
	set -- perf record -q -e cpu-clock -F "$hertz" $how -o /tmp/data -- \
		chroot $root env -i PATH=/usr/bin HOME=/root LC_ALL=C.UTF-8 "$@"
	if [ -n "$tables" ]; then
		set -- -- "$@"
		for file in $tables; do
			set -- "$root$file" "$@"
		done
		set -- codectl attach "$@"
	fi
	"$@" > "/out/$taken.output" 2> "/out/$taken.errors" || {
		cat "/out/$taken.errors" >&2
		return 1
	}
	if [ -n "$then" ]; then
		$then -i /tmp/data -o /tmp/data.new 2>> "/out/$taken.errors" &&
			mv /tmp/data.new /tmp/data || return
	fi
	# shellcheck disable=SC2086
	perf script -i /tmp/data $read --no-inline --max-stack 512 -F comm,pid,tid,time,ip,sym \
		--show-mmap-events --show-task-events --show-lost-events \
		> "/out/$taken.script" 2>> "/out/$taken.errors"
	rm /tmp/data
}
