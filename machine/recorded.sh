# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# What perf has recorded in the machine, for who has set dir, the machine, and work, whose
# results have kallsyms.

# For who sources this:
# shellcheck disable=SC2034
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl

# script_of DATA - as text, for stacks.py; with the perf that has recorded it, the files that
# it has recorded, and that kernel's symbols
script_of()
{
	local judged=/var/tmp/judged

	cp "$1" "$dir/root$judged/data"
	cp "$work/results/kallsyms" "$dir/root$judged/kallsyms"
	chroot "$dir/root" env -i PATH=/usr/sbin:/usr/bin HOME=/root LC_ALL=C.UTF-8 \
		perf script -i $judged/data --kallsyms $judged/kallsyms --no-inline --max-stack 512 \
		-F comm,pid,tid,time,ip,sym --show-mmap-events --show-task-events \
		--show-lost-events 2> "$work/script.errors"
}

# ends_of FILE... - where stacks end that are complete: of these programs, and of threads
ends_of()
{
	"$machine/ends.py" "$dir/root" "$@" \
		/usr/lib/x86_64-linux-gnu/{libc.so.6,ld-linux-x86-64.so.2}
}
