#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tests the gain for an unmodified program of the build machine's distribution, with its own C
# library, under unmodified perf record -g.  Prints TAP, in the guest.
#
# Functions called by check() look unreachable:
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=common.sh
. "$here/common.sh"

stock=${STOCK:-$here/../stock}
stock=$(cd "$stock" && pwd)
perl=$stock/bin/perl
# The dynamic linker is also the distribution's.
linker=$stock/lib/ld-linux-x86-64.so.2
run="$linker --library-path $stock/lib $perl"
# shellcheck disable=SC2016
script='sub f { my $n = shift; return $n ? f($n - 1) + 1 : 0 }
	my $end = time + $ARGV[0]; f(20) while time < $end;'
seconds=$((4 * ${TEST_TIME_SCALE:-1}))
store=$out/store
samples=200

export LC_ALL=C

# entry_offset FILE - prints the offset of its entry point
entry_offset()
{
	entry=$(readelf -hW "$1" | sed -n 's/.*Entry point address: *//p')
	readelf -lW "$1" | while read -r type offset vaddr _ size _; do
		[ "$type" = LOAD ] || continue
		[ $((entry)) -ge $((vaddr)) ] && [ $((entry)) -lt $((vaddr + size)) ] &&
			echo $((entry - vaddr + offset))
	done
}

# count_whole FILE - sets nr, the number of samples, and whole, the number of those that reach the
# entry point of perl or, while perl is loaded, of the dynamic linker
count_whole()
{
	perf script -i "$1" -F ip,sym,dso,dsoff > "$out/script" 2> "$out/stderr"
	# shellcheck disable=SC2046
	set -- $(awk -v perl="$(entry_offset "$perl")" -v linker="$(entry_offset "$linker")" '
		function hex(text,  i, n) {
			for (i = 1; i <= length(text); i++)
				n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return n
		}
		function end() {
			if (last == "")
				return
			nr++
			off = last ~ /\/perl\+0x/ ? -perl : last ~ /\/ld-linux.*\+0x/ ? -linker : ""
			sub(/.*\+0x/, "", last)
			sub(/\).*/, "", last)
			off = off == "" ? 0 : off + hex(last)
			whole += off > 0 && off < 64
			last = ""
		}
		/^$/ { end(); next }
		{ last = $0 }
		END { end(); print nr + 0, whole + 0 }' "$out/script")
	nr=$1 whole=$2
	echo "# $whole of $nr stacks complete"
}

# at_least PERCENT - are there enough samples, and PERCENT of them whole?
at_least()
{
	[ "$nr" -ge "$samples" ] && [ $((whole * 100)) -ge $((nr * $1)) ]
}

at_most()
{
	[ "$nr" -ge "$samples" ] && [ $((whole * 100)) -le $((nr * $1)) ]
}

# record FILE COMMAND...
record()
{
	file=$1
	shift
	perf record -q -g -e cpu-clock:u -F 499 -o "$file" -- "$@" \
		> "$out/stdout" 2> "$out/stderr"
}

test_without()
{
	# shellcheck disable=SC2086
	record "$out/without.data" $run -e "$script" "$seconds"
	check "perf record -g of perl" [ $? = 0 ]
	count_whole "$out/without.data"
	check "next to no stack is complete without a table" at_most 5
}

# count_recorded FILE - as count_whole, for a recording of codectl record
count_recorded()
{
	codectl report --json "$out/json" "$1" > /dev/null 2> "$out/stderr"
	# shellcheck disable=SC2046
	set -- $(awk -v perl="$(entry_offset "$perl")" -v linker="$(entry_offset "$linker")" '
		function hex(text,  i, n) {
			for (i = 3; i <= length(text); i++)
				n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return n
		}
		function value(key) {
			return match($0, "\"" key "\":\"[^\"]*\"") ?
			       substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5) : ""
		}
		/^"[a-z]*":\[/ { list = $0; sub(/^"/, "", list); sub(/".*/, "", list); frames = 0 }
		!/^[{]/ { next }
		list == "frames" {
			file = value("file")
			off = hex(value("offset"))
			off -= file ~ /\/perl$/ ? perl : file ~ /\/ld-linux/ ? linker : off
			entry[frames++] = off > 0 && off < 64
		}
		list == "samples" && match($0, /"events":[0-9]+/) {
			events = substr($0, RSTART + 9, RLENGTH - 9)
			nr += events
			sub(/\].*/, "")
			sub(/.*[[,]/, "")
			outermost[$0] += events
		}
		END {
			for (i in outermost)
				whole += entry[i] ? outermost[i] : 0
			print nr + 0, whole + 0
		}' "$out/json")
	nr=$1 whole=$2
	echo "# $whole of $nr stacks complete"
}

# record_running FILE OPTION... - records by codectl while the program runs
record_running()
{
	file=$1
	shift
	# shellcheck disable=SC2086
	$run -e "$script" 1000 &
	load=$!
	sleep 1
	codectl record --cpu -p "$load" --duration "$seconds" -o "$file" "$@" \
		> "$out/stdout" 2> "$out/stderr"
	status=$?
	stop_load
	return $status
}

# The first run makes the tables, which may take longer than codectl waits.
test_record()
{
	record_running "$out/bare" --no-attach
	check "codectl record --no-attach" [ $? = 0 ]
	count_recorded "$out/bare"
	check "next to no stack is complete without tables" at_most 5
	check "none is made" eval '! grep -q . /proc/codectl_files'
	record_running "$out/first"
	record_running "$out/recording"
	check "codectl record alone" [ $? = 0 ]
	count_recorded "$out/recording"
	check "99 % of the stacks are complete" at_least 99
	# shellcheck disable=SC2086
	codectl record --cpu -o "$out/command" -- $run -e "$script" "$seconds" \
		> "$out/stdout" 2> "$out/stderr"
	check "codectl record of a command" [ $? = 0 ]
	count_recorded "$out/command"
	check "what it maps gets tables within a second" at_least 75
	check "the tables are there no longer" eventually eval '! grep -q . /proc/codectl_files'
	check "they are kept for the next one" [ -d /var/cache/codectl/sframe ]
	rm -rf /var/cache/codectl
}

test_files()
{
	# shellcheck disable=SC2086
	codectl_is 0 attach --store "$store" "$perl" "$stock"/lib/* -- \
		perf record -q -g -e cpu-clock:u -F 499 -o "$out/files.data" -- \
		$run -e "$script" "$seconds"
	check "codectl attach FILE... -- perf record -g" [ $? = 0 ]
	check "it says what it has attached" grep -q 'files have tables now' "$out/stderr"
	count_whole "$out/files.data"
	check "99 % of the stacks are complete" at_least 99
	check "nothing is attached any more" eval '! grep -q . /proc/codectl_files'
}

# preloaded STORE FILE - run by an unprivileged user; root records once the program runs, since
# nothing is known before, in the dynamic linker
preloaded()
{
	chmod 755 "$out" "$out"/store "$out"/store/*
	su -s /bin/sh nobody -c "CODECTL_SFRAME=$1 exec $linker \
		--preload $stock/lib/libcodectl-preload.so \
		--library-path $stock/lib $perl -e 'print \"runs\"; close STDOUT; $script' 1000" \
		> "$out/runs" 2> "$out/stderr" &
	load=$!
	eventually grep -q runs "$out/runs" || return
	perf record -q --call-graph fp,defer -e cpu-clock:u -F 499 -o "$2" -p $load -- \
		sleep "$seconds" > "$out/stdout" 2>> "$out/stderr"
	status=$?
	stop_load
	return $status
}

test_preload()
{
	preloaded "$out" "$out/none.data"
	check "with the preload, and without tables" [ $? = 0 ]
	count_whole "$out/none.data"
	check "next to no stack is complete" at_most 5
	preloaded "$store" "$out/preload.data"
	check "with the tables of a store" [ $? = 0 ]
	count_whole "$out/preload.data"
	check "99 % of the stacks are complete without privilege" at_least 99
}

test_running()
{
	# shellcheck disable=SC2086
	$run -e "$script" 1000 &
	load=$!
	sleep 1
	codectl_is 0 attach --store "$store" -p $load -- \
		perf record -q -g -e cpu-clock:u -F 499 -o "$out/running.data" -p $load -- \
		sleep "$seconds"
	check "codectl attach -p PID of a process that runs" [ $? = 0 ]
	stop_load
	count_whole "$out/running.data"
	check "99 % of its stacks are complete" at_least 99
}

# In a user namespace anybody may be root, and make files with the build-id of any other.
test_namespace()
{
	# shellcheck disable=SC2086
	unshare -m $run -e "$script" 1000 &
	load=$!
	sleep 1
	codectl_is 0 attach --store "$out/other" -p $load -- true
	check "codectl attach -p PID of a process with mounts of its own" [ $? = 0 ]
	stop_load
	check "its files have tables by their contents alone" \
		[ "$(ls "$out/other")" = sha256 ]
}

has_table()
{
	grep -q " attached $perl$" /proc/codectl_files
}

has_line()
{
	grep -q "$1" /proc/codectl_files
}

has_another()
{
	has_line " attached $out/perl$" && ! has_line "^$1 "
}

has_none()
{
	! has_line "$out/perl"
}

# While codectl attach follows all processes.
test_stale()
{
	cp "$perl" "$out/perl"
	# shellcheck disable=SC2086
	"$linker" --library-path "$stock/lib" "$out/perl" -e "$script" 1000 &
	load=$!
	check "a copy has a table" eventually has_line " attached $out/perl$"
	id=$(sed -n "s, .* attached $out/perl$,,p" /proc/codectl_files)
	printf x >> "$out/perl"
	check "which is not used once it is written to" has_line "$id .* written $out/perl$"
	kill -HUP $tool
	check "it gets another one" eventually has_another "$id"
	rm "$out/perl"
	kill -HUP $tool
	sleep 1
	check "it keeps that while it runs, deleted" has_line "$out/perl"
	stop_load
	kill -HUP $tool
	check "and no longer" eventually has_none
	check "nor does anything else keep one that does not run" eventually eval '! has_table'
}

test_follow()
{
	codectl attach --all --store "$store" 2> "$out/tool" &
	tool=$!
	until grep -q 'files have tables' "$out/tool" || ! kill -0 $tool; do
		usleep 100000
	done
	check "what does not run has no table" eval '! has_table'
	# shellcheck disable=SC2086
	$run -e "$script" 1000 &
	load=$!
	check "what was started later has one" eventually has_table
	perf record -q -g -e cpu-clock:u -F 499 -o "$out/follow.data" -p $load -- \
		sleep "$seconds" > "$out/stdout" 2> "$out/stderr"
	stop_load
	count_whole "$out/follow.data"
	check "99 % of its stacks are complete, too" at_least 99
	test_stale
	kill -TERM $tool
	wait $tool
	check "it ends when it is told to" [ $? = 0 ]
	check "and nothing is attached any more" eval '! grep -q . /proc/codectl_files'
}

test_errors()
{
	check "a file that is not there" fails_with 1 'cannot open' attach /nothing
	check "a directory" fails_with 1 'not a regular file' attach /tmp -- true
	echo text > "$out/text"
	codectl_is 0 attach --store "$store" "$out/text" -- true && said 'text: not an ELF program'
	check "a file that can have none is named" [ $? = 0 ]
	check "no command after --" fails_with 2 'no command' attach "$perl" --
	codectl_is 1 attach --store "$store" "$perl" -- /nothing && said 'cannot run /nothing'
	check "a command that is not there" [ $? = 0 ]
	codectl_is 3 attach --store "$store" "$perl" -- sh -c 'exit 3'
	check "the exit status is that of the command" [ $? = 0 ]
	cp "$perl" "$out/damaged"
	dd if=/dev/zero of="$out/damaged" bs=4096 seek=1 conv=notrunc 2> /dev/null
	check "a file that is damaged does no harm" \
		codectl_is 0 attach --store "$store" "$out/damaged" -- true
}

# While several processes make tables.
test_killed()
{
	codectl attach --store "$out/killed" "$stock"/lib/* -- true 2> /dev/null &
	tool=$!
	until [ "$(pidof codectl | wc -w)" -ge 3 ] || ! kill -0 $tool; do
		usleep 10000
	done
	check "tables are made by others" kill -0 $tool
	kill -KILL $tool
	wait $tool
	check "... who end with who asked for them" eventually eval '! pidof codectl'
}

# A service has its own mount namespace, and sees init's files unchanged.
test_service()
{
	# shellcheck disable=SC2086
	$run -e "$script" 1000 &
	load=$!
	sleep 1
	unshare -m codectl attach --store "$out/service" -p $load -- true \
		> "$out/stdout" 2> "$out/stderr"
	check "codectl attach from mounts of its own" [ $? = 0 ]
	stop_load
	check "what init has mounted has tables by build-id" \
		[ "$(find "$out/service" -name '*.sframe' ! -path '*/sha256/*' | wc -l)" -ge 2 ]
}

hold_tracepoints
test_without
test_record
test_files
test_preload
test_running
test_namespace
test_service
test_follow
test_killed
test_errors
finish
