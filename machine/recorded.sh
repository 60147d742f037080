# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# Runs jobs in the machine, and reads recordings of perf, for scripts that set dir (the
# directory of the machine), out and work, and define die.

# This is for scripts that source this:
# shellcheck disable=SC2034
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl

# boot_once [OPTION]...
boot_once()
{
	rm -f "$work/result"
	truncate -s 8G "$work/result"
	"$machine/boot.sh" "$dir" "$@" --job "$work/job.tar" --result "$work/result" \
		> "$out/console" 2>&1
}

# boot_job [OPTION]... - runs work/job.tar in the machine; the results go to work/results, and
# short ones to out as well
boot_job()
{
	if ! boot_once "$@"; then
		"$machine/../rig/guest/emulator-erred.sh" "$out/console" ||
			die "see $out/console: $(tail -n 1 "$out/console")"
		mv "$out/console" "$out/console.erred"
		echo "QEMU executed a breakpoint that was gone ($out/console.erred): booting again" >&2
		boot_once "$@" || die "see $out/console: $(tail -n 1 "$out/console")"
	fi
	mkdir "$work/results"
	tar -xf "$work/result" -C "$work/results" 2> /dev/null ||
		die "the machine has left no results: see $out/console"
	find "$work/results" -maxdepth 1 -type f ! -name '*.data' ! -name '*.dump' ! -name kallsyms \
		-size -4M -exec cp {} "$out" ';'
	[ "$(cat "$work/results/status" 2> /dev/null)" = complete ] ||
		die "the machine did not come to its end: see $out/console and $out/errors"
}

# script_of DATA - prints a recording as text for stacks.py, by the machine's perf and files, and
# with the symbols of its kernel
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

# ends_of FILE... - prints where complete stacks of these programs, and of threads, end
ends_of()
{
	"$machine/ends.py" "$dir/root" "$@" \
		/usr/lib/x86_64-linux-gnu/{libc.so.6,ld-linux-x86-64.so.2}
}
