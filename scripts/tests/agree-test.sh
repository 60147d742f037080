#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests the comparison of a whole machine's stacks with those of libdwfl, with recordings that a
# program makes of its own stack. Prints TAP.
#
# Functions called by name look unreachable:
# shellcheck disable=SC2317

set -u

here=$(cd "$(dirname "$0")" && pwd)
agree=$here/../../demo/agree
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

# compile PROGRAM FILE... [OPTION]...
compile()
{
	(cd "$agree" && cc -O2 -D_GNU_SOURCE -Wall -o "$work/$1" "${@:2}")
}

# check STATUS KIND [OPTION]... - runs stackcheck on 100 samples
check()
{
	local expected=$1 status

	"$work/selfdump" "$work/dump" "$2" 100 || return
	"$work/stackcheck" "${@:3}" "$work/dump" > "$work/check"
	status=$?
	cat "$work/check"
	[ "$status" = "$expected" ]
}

# says NUMBER OF - as stackcheck prints it
says()
{
	grep -q -E "^$2 +$1\$" "$work/check"
}

run "the programs compile" compile selfdump selfdump.c
run "... and stackcheck" compile stackcheck stackcheck.c disagree.c recording.c tables.c -ldw -lelf
run "... and stackdump" compile stackdump stackdump.c dump_events.c -Wextra

run "stacks of many processes, told of out of order" check 0 good -a -m 100
run "... all agree" says 100 "samples that agree wholly"
run "fewer than are asked for" check 1 good -a -m 101
run "one frame that is wrong, of a hundred stacks" check 1 wrong -a -m 100
run "... is not explained" says 1 unexplained
run "processes that have mapped what is not there are left out" check 1 gone -a
run "... all of them" says 100 "of files that are not here"
run "... which is a failure where all files have to be there" check 2 gone
# /proc/codectl_files for the files of this program.
list()
{
	ldd "$work/selfdump" | grep -o '/[^ ]*' | xargs realpath
	echo "$work/selfdump"
}
number_lines="{ print \"0x\" NR, \"08:01\", NR, 5, 400, \"attached\", \$0 }"
list | awk "$number_lines" > "$work/all"
head -n 1 "$work/all" > "$work/one"
sed 's/attached/written/' "$work/all" > "$work/written"
run "files that had tables" check 0 good -a -m 100 -t "$work/all"
run "... all of them" says 0 "of files that had no table"
run "processes are left out that have mapped others" check 1 good -a -t "$work/one"
run "... or those whose table was lost" check 1 good -a -t "$work/written"
run "... each of them" says 100 "of files that had no table"
run "no list can be read" check 2 good -a -t "$work/none"
run "what a process has mapped goes as it executes something" check 1 exec -a
run "... all of it" says 100 "of files that are not here"
run "the chain of another process is none" check 1 others -a
run "... of none of them" says 100 "samples without a chain"
run "code without CFI, where a stack ends" check 0 bare -a -m 0
run "... is an explanation" says 100 "explained: no DWARF CFI"
run "... of samples that do not count" check 1 bare -a -m 1
run "a stack that is wrong further on" check 0 past -a -m 0
run "... is explained by that, too" says 100 "explained: past no CFI"
run "... where tables were attached" check 1 past
run "code of no file" check 0 compiled -a -m 0
run "... is as good" says 100 "explained: past compiled code"

run "a chain of the program that execve() starts" check 1 within -a -m 0
run "... is explained" says 100 "explained: within execve"
run "... of a sample in the kernel only" check 1 entry -a -m 0
run "... and else not" says 100 unexplained
run "a chain of what a signal handler returns to" check 1 resumed -a -m 0
run "... is explained" says 100 "explained: within rt_sigreturn"
run "... where the handler's context says so" check 1 handler -a -m 0
run "... and else not" says 100 unexplained

run "a chain that begins in a signal handler" check 1 signalled -a -m 0
run "... is explained" says 100 "explained: before a signal"
run "... by what the sample was taken in" check 1 ahead -a -m 0
run "... and else not" says 100 unexplained

# judged STATUS REGEX KIND SAMPLES - runs agree.sh, which requires 1250 samples
judged()
{
	local status

	rm -rf "$work/results"
	mkdir "$work/results"
	"$work/selfdump" "$work/results/with.agree.dump" "$3" "$4" || return
	cp "$work/all" "$work/results/with.agree.tables"
	[ -z "$failure" ] || echo "$failure" > "$work/results/with.agree.failed"
	"$here/../../machine/agree.sh" "$work/stackcheck" '' "$work/results" 1250 > "$work/judged"
	status=$?
	cat "$work/judged"
	[ "$status" = "$1" ] && grep -q "$2" "$work/judged"
}

failure=''
run "a machine whose stacks agree" judged 0 'of libdwfl:' good 1250
run "... in too few samples" judged 1 'fewer than 1250 samples' good 1249
run "... which have nothing to say" judged 1 'fewer than 1250 samples' bare 2000
run "a machine with one wrong stack" judged 1 '^FAILED:' wrong 2000
failure='perf_event_open: no'
run "a recording that has failed" judged 1 '^FAILED: agree: perf_event_open: no' good 2000
failure=''
rm "$work/results"/*
run "a machine on which nobody asked for it" "$here/../../machine/agree.sh" \
	"$work/stackcheck" '' "$work/results" 1250
finish
