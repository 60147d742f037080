#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests the programs that judge the stacks of the Debian machine: which stacks are complete,
# according to the mappings that perf reports, where the others end, and the table. Also how
# its jobs wait for tables. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
machine=$here/../../machine
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

# judged NAME FACTS [OPTION]... FILE...
judged()
{
	"$machine/stacks.py" --ends "$work/ends" --exe '/usr/bin/(prog|other)' \
		"${@:3}" > "$work/facts" 2>&1
	diff <(printf '%s\n' "$2") "$work/facts" | sed 's/^/# /'
	result "${PIPESTATUS[0]}" "$1"
}

# A program at 0x5000, mapped from offset 0x1000 on, and a library.
mapped()
{
	cat <<-END
	perf-exec  7/7  1.000000: PERF_RECORD_COMM exec: prog:7/7
	prog  7/7  1.000100: PERF_RECORD_MMAP2 7/7: [0x5000(0x1000) @ 0x1000 <4e1d0c>]: r-xp /usr/bin/prog
	prog  7/7  1.000200: PERF_RECORD_MMAP2 7/7: [0x9000(0x2000) @ 0 08:01 12 0]: r-xp /usr/lib/libc.so.6
	END
}

# sample PID TIME FRAME...
sample()
{
	printf 'prog name  %s/%s  %s: \n' "$1" "$1" "$2"
	shift 2
	[ $# -eq 0 ] || printf '\t    %s\n' "$@"
	echo
}

printf '%s\n' '1010 1050 /usr/bin/prog' '500 520 /usr/lib/libc.so.6' > "$work/ends"

{
	mapped
	sample 7 2.000000 '5200 f' '5100 main' '9100 [unknown]' '5020 [unknown]'
	sample 7 2.100000 '9800 [unknown]' '9510 [unknown]'
	sample 7 2.200000 'ffffffff81000000 do_it' '5010 _start'
} > "$work/whole"
judged "stacks that end at the entry point, or where a thread starts" \
	"$(printf '%s\n' 'samples 3' 'complete 3' 'none 0' 'gone 0' 'lost 0')" --folded "$work/folded" "$work/whole"
grep -q -x 'prog+0x1020;libc.so.6+0x100;main;f 1' "$work/folded"
result $? "a stack without symbols is drawn by offsets"

{
	mapped
	sample 7 2.000000 '5200 f' '5100 main'
	sample 7 2.100000 '5200 f' '5100 main'
	sample 7 2.200000 '5200 f<int>(char)' '1 [unknown]'
	sample 7 2.300000 '5200 [unknown]'
	sample 7 2.400000 '5020 _start' '5200 f'
	sample 7 2.500000 'ffffffff81000000 do_it'
	sample 7 2.600000
} > "$work/cut"
judged "stacks that end elsewhere, by where" "$(printf '%s\n' 'samples 5' 'complete 0' 'none 2' 'gone 0' 'lost 0' \
	'ends 2 main (prog)' 'ends 1 f (prog), then no code' 'ends 1 0x1200 (prog)' \
	'ends 1 f (prog)')" "$work/cut"

{
	mapped
	sed 's,7/7,8/8,g; s,/usr/bin/prog,/usr/bin/third,' < <(mapped)
	sample 8 2.000000 '5020 _start'
	sample 9 2.000000 '5020 _start'
} > "$work/others"
judged "programs that nobody asked for do not count" \
	"$(printf '%s\n' 'samples 0' 'complete 0' 'none 0' 'gone 0' 'lost 0')" "$work/others"

{
	mapped
	echo 'prog  7/7  3.000000: PERF_RECORD_FORK(8:8):(7:7)'
	sample 8 3.100000 '5020 _start'
	echo 'prog  8/8  3.200000: PERF_RECORD_COMM exec: other:8/8'
	echo 'other  8/8  3.300000: PERF_RECORD_MMAP2 8/8: [0x7000(0x1000) @ 0 <00>]: r-xp /usr/bin/other'
	sample 8 3.400000 '5020 _start'
	sample 7 3.500000 '5020 _start'
} > "$work/forked"
judged "a child has the mappings of its parent until it executes something" \
	"$(printf '%s\n' 'samples 3' 'complete 2' 'none 0' 'gone 0' 'lost 0' 'ends 1 nowhere, then no code')" \
	"$work/forked"

{
	echo 'bash  0/0  0.000000: PERF_RECORD_COMM: bash:6/6'
	echo 'bash  0/0  0.000000: PERF_RECORD_MMAP2 6/6: [0x1000(0x1000) @ 0 <0>]: r-xp /usr/bin/bash'
	echo 'bash  0/0  0.000000: PERF_RECORD_FORK(7:7):(6:6)'
	sed 's/1\.000[0-9]*/0.000000/; s/ exec:/:/' < <(mapped)
	sample 7 2.000000 '5020 _start'
} > "$work/running"
judged "what ran before the recording is not what its parent is" \
	"$(printf '%s\n' 'samples 1' 'complete 1' 'none 0' 'gone 0' 'lost 0')" "$work/running"

{
	mapped
	echo 'prog  7/7  3.000000: PERF_RECORD_MMAP2 7/7: [0x5000(0x1000) @ 0 00:00 0 0]: rwxp //anon'
	sample 7 3.100000 '5020 _start'
} > "$work/over"
judged "what is mapped over the program is not the program" \
	"$(printf '%s\n' 'samples 1' 'complete 0' 'none 0' 'gone 0' 'lost 0' \
	'compiled 1' 'compiled-complete 0' 'ends 1 compiled code, past compiled code')" "$work/over"

{
	mapped
	echo 'prog  7/7  1.500000: PERF_RECORD_MMAP2 7/7: [0x3000(0x1000) @ 0 00:00 0 0]: rwxp //anon'
	sample 7 2.000000 '5200 f' '3100 [unknown]' '3200 [unknown]' '5100 main' '5020 _start'
	sample 7 2.100000 '3100 [unknown]' '5100 main' '5020 _start'
	sample 7 2.200000 '9100 g' '3100 [unknown]' '5180 main' '42 [unknown]'
} > "$work/called"
judged "compiled code, what it has called, and where it returns to" \
	"$(printf '%s\n' 'samples 3' 'complete 2' 'none 0' 'gone 0' 'lost 0' 'compiled 3' \
	'compiled-complete 2' 'called 2' 'called-complete 1' 'caller 2 prog+0x1100' \
	'ends 1 main (prog), then no code, past compiled code')" "$work/called"

mapped > "$work/maps"
cat > "$work/bpftrace" <<-END
	@[7, 
	    5200 f+12 (/usr/bin/prog)
	    5020 0x5020 ([unknown])
	]: 40
	@[7, 
	    5200 f+12 (/usr/bin/prog)
	    42 0x42 ([unknown])
	]: 2
	@[7, ]: 3
	@[9, 
	    5020 0x5020 ([unknown])
	]: 1
END
judged "what bpftrace prints" "$(printf '%s\n' 'samples 42' 'complete 40' 'none 3' 'gone 0' 'lost 0' \
	'ends 2 f (prog), then no code')" "$work/maps" "$work/bpftrace"

cat > "$work/refused" <<-END
	ERROR: failed to look up stack id -17 (pid -1): -2
	@[7, ]: 5
	@[7, 
	    5020 0x5020 ([unknown])
	]: 40
	@ns[7, ]: 5000
END
judged "what the map of bpftrace refused" \
	"$(printf '%s\n' 'samples 40' 'complete 40' 'none 0' 'gone 0' 'lost 5')" "$work/maps" "$work/refused"

{
	mapped
	echo 'prog  7/7  3.000000: PERF_RECORD_COMM exec: third:7/7'
	echo 'third  7/7  3.100000: PERF_RECORD_MMAP2 7/7: [0x7000(0x1000) @ 0 <00>]: r-xp /usr/bin/third'
} > "$work/lives"
cat > "$work/of-lives" <<-END
	@[7, 
	    5020 0x5020 ([unknown])
	]: 3
	@[7, 
	    7100 0x7100 ([unknown])
	    7200 0x7200 ([unknown])
	]: 5
END
judged "a stack is of that program of a process that has its code" \
	"$(printf '%s\n' 'samples 3' 'complete 3' 'none 0' 'gone 0' 'lost 0')" "$work/lives" "$work/of-lives"

mkdir -p "$work/execve/usr/lib"
{ head -c 256 /dev/zero; printf '\xb8\x3b\0\0\0\x0f\x05'; } > "$work/execve/usr/lib/libc.so.6"
printf '@[7, \n    9107 0x9107 ([unknown])\n]: 2\n@[7, \n    9106 0x9106 ([unknown])\n]: 1\n' > "$work/in-execve"
judged "what is in execve, by tools that do not tell" \
	"$(printf '%s\n' 'samples 3' 'complete 0' 'none 0' 'gone 0' 'lost 0' \
	'ends 2 0x107 (libc.so.6), amid exec' 'ends 1 0x106 (libc.so.6)')" \
	--root "$work/execve" "$work/maps" "$work/in-execve"

cat > "$work/bcc" <<-END
	Sampling at 99 Hertz of all threads by user stack for 4 secs.

	    5200 f+0x1c [prog]
	    5020 [unknown]
	    -                prog name (7)
	        30

	    5200 f
	    -                prog name (7)
	        5

	    5200 f
	    -                profile-bpfcc (7)
	        9

END
judged "what bcc prints" "$(printf '%s\n' 'samples 35' 'complete 30' 'none 0' 'gone 0' 'lost 0' 'ends 5 f (prog)')" \
	"$work/maps" "$work/bcc"

{
	mapped
	sample 7 2.000000 '5200 f' '42 [unknown]' '5020 _start'
	echo 'prog  7/7  3.000000: PERF_RECORD_LOST lost 12'
} > "$work/invented"
judged "what is invented on the way, and what was lost" "$(printf '%s\n' 'samples 1' 'complete 0' \
	'none 0' 'gone 0' 'lost 12' 'ends 1 f (prog), then no code')" "$work/invented"

{
	mapped
	# shellcheck disable=SC2046
	sample 7 2.000000 $(yes 5200 | head -n 127)
	# shellcheck disable=SC2046
	sample 7 2.100000 $(yes 5200 | head -n 126)
	# shellcheck disable=SC2046
	sample 7 2.200000 'ffffffff81000000 do_syscall_64' $(yes 5200 | head -n 126)
} > "$work/deep"
judged "what is deeper than a tool keeps" "$(printf '%s\n' 'samples 3' 'complete 0' \
	'none 0' 'gone 0' 'lost 0' 'ends 2 0x1200 (prog), cut at 127 frames' 'ends 1 0x1200 (prog)')" "$work/deep"

{
	mapped
	sample 7 2.000000 'ffffffff81000000 begin_new_exec' 'ffffffff81000010 bprm_execve'
	sample 7 2.100000 'ffffffff81000000 unmap_vmas' 'ffffffff81000010 exit_mmap'
	sample 7 2.200000
	sample 7 2.300000 'ffffffff81000010 bprm_execve' '100 [unknown]'
	sample 7 2.400000 'ffffffff81000010 process_unwind_deferred' '700000001 [unknown]'
} > "$work/amid"
judged "what is amid exec, exit or a walk has no frames, or others'" "$(printf '%s\n' 'samples 2' 'complete 0' \
	'none 1' 'gone 2' 'lost 0' 'ends 1 nowhere, then no code, amid exec' \
	'ends 1 nowhere, then no code, amid walk')" "$work/amid"

cat > "$work/offcpu" <<-END
	@ns[7, 
	    5200 f+12 (/usr/bin/prog)
	    5020 0x5020 ([unknown])
	]: 700000
	@ns[7, ]: 30

	@[7, 
	    5200 f+12 (/usr/bin/prog)
	    5020 0x5020 ([unknown])
	]: 2
	@[7, 
	    5020 0x5020 ([unknown])
	]: 1
	@[7, ]: 3
END
judged "of stacks with times too the numbers count" "$(printf '%s\n' 'samples 3' 'complete 3' 'none 3' \
	'gone 0' 'lost 0')" --folded "$work/folded" "$work/maps" "$work/offcpu"
[ "$(cat "$work/folded")" = 'prog+0x1020;f 700000' ]
result $? "... and the times are drawn"

# A program with a function without CFI, and another one whose CFI SFrame cannot express.
mkdir -p "$work/root/usr/bin"
cat > "$work/cfi.c" <<-END
	int main(void) { return 0; }
	__asm__(".text\n.globl bare\nbare: .fill 64, 1, 0x90\nret");
	/* CFA: a word of the frame, and 8 more; and that word alone. */
	__asm__("saved: .cfi_startproc\n.cfi_escape 0x0f, 5, 0x77, 8, 6, 0x23, 8\n"
		".fill 64, 1, 0x90\n.cfi_endproc");
	__asm__("word: .cfi_startproc\n.cfi_escape 0x0f, 3, 0x77, 8, 6\n"
		".fill 64, 1, 0x90\n.cfi_endproc");
END
cc -fasynchronous-unwind-tables -fno-pie -no-pie -Wl,-z,noseparate-code -o "$work/root/usr/bin/prog" "$work/cfi.c"
file_offset()
{
	nm "$work/root/usr/bin/prog" | awk -v name="$1" '$3 == name { print $1 }' |
		sed 's/^0*40/0x0/' | xargs printf '%d\n'
}
bare=$(printf %x $((0x5000 + $(file_offset bare) + 8)))
covered=$(printf %x $((0x5000 + $(file_offset main) + 1)))
saved=$(printf %x $((0x5000 + $(file_offset saved) + 8)))
word=$(printf %x $((0x5000 + $(file_offset word) + 8)))
{
	mapped | sed '2s/\[0x5000(0x1000) @ 0x1000 /[0x5000(0x3000) @ 0 /'
	sample 7 2.000000 "$covered [unknown]" '1 [unknown]'
	sample 7 2.100000 "$covered main" "$bare bare" '1 [unknown]'
	sample 7 2.200000 "$bare bare" "$covered main"
} > "$work/bare"
judged "code without CFI on the way is told of" "$(printf '%s\n' 'samples 3' 'complete 0' 'none 0' \
	'gone 0' 'lost 0' 'ends 1 main (prog), then no code' \
	'ends 1 bare (prog), then no code, past code without CFI' \
	'ends 1 main (prog), past code without CFI')" --root "$work/root" "$work/bare"

{
	mapped | sed '2s/\[0x5000(0x1000) @ 0x1000 /[0x5000(0x3000) @ 0 /'
	sample 7 2.000000 "$covered main" "$saved saved"
	sample 7 2.100000 "$saved saved" "$covered main"
	sample 7 2.200000 "$covered [unknown]" "$word word"
} > "$work/saved"
judged "a function that SFrame has no form for, where a stack ends" "$(printf '%s\n' 'samples 3' \
	'complete 0' 'none 0' 'gone 0' 'lost 0' 'ends 1 saved (prog), whose CFA cannot be had' \
	'ends 1 main (prog)' 'ends 1 word (prog)')" --root "$work/root" "$work/saved"

# ends.py on a program built here, and on the C library.
cat > "$work/prog.c" <<-END
	int main(void) { return 0; }
END
cc -o "$work/prog" "$work/prog.c"
entry=$(readelf -hW "$work/prog" | sed -n 's/.*Entry point address: *0x//p')
"$machine/ends.py" "$work" /prog > "$work/ends"
grep -q "^$entry [0-9a-f]* /prog$" "$work/ends"
result $? "the entry point of a program is an end"
libc=$(cc -print-file-name=libc.so.6)
[ "$("$machine/ends.py" '' "$(realpath "$libc")" | wc -l)" -ge 2 ]
result $? "... and what clone() and clone3() of the C library leave"

# table NAME STATUS TABLE - for the facts on standard input; prog and other are expected
table()
{
	cat > "$work/table.facts"
	awk -v expected="$work/expected" -f "$machine/table.awk" "$work/table.facts" > "$work/table"
	status=$?
	[ $status = "$2" ] && diff "$work/table" - <<< "$3" > "$work/difference"
	result $? "$1"
	sed 's/^/# /' "$work/difference"
}

# fails NAME REGEX - the failures for the facts on standard input; "": none
fails()
{
	cat > "$work/table.facts"
	awk -v expected="$work/expected" -f "$machine/table.awk" "$work/table.facts" > "$work/table"
	status=$?
	if [ -n "$2" ]; then
		[ $status = 1 ] && [ "$(grep -c FAILED "$work/table")" = 1 ] && grep -q "^FAILED: $2" "$work/table"
	else
		[ $status = 0 ] && ! grep FAILED "$work/table"
	fi
	result $? "$1"
}

# with SAMPLES COMPLETE NONE [END]...
with()
{
	printf 'with prog fp samples %s\nwith prog fp complete %s\nwith prog fp none %s\n' "${@:1:3}"
	[ $# -eq 3 ] || printf 'with prog fp ends %s\n' "${@:4}"
}

printf '%s\n' '# some' 'pr.*	fp|bcc  no-CFI	.*, past code without CFI' 'other	.*	gone	none' > "$work/expected"
table "the table, and what is incomplete" 1 "$(cat <<-END
	% of stacks that are complete, without > with tables

	program     perf fp,defer     perf -g           bcc profile       perf dwarf      
	prog        0.5 > 95.0        - > 90.0          - > few           100.0           

	Incomplete, by where they end, with tables:
	prog, perf fp,defer, with:
	    5.0 %  g (prog), then no code
	prog, perf -g, with:
	    9.5 %  f (prog), past code without CFI
	    0.5 %  g (prog)
	    9.5 %  expected: no-CFI

	Without any frame in user space, or lost, above 1 %, with tables:
	  prog, perf fp,defer: 54 of 254, of these 4 amid exec or exit
	  perf fp,defer: 9 of all programs were lost
	FAILED: prog, perf fp,defer, with: 50 of 250 samples without a frame
	FAILED: prog, perf fp,defer, with: 5.0 % incomplete for no known reason, most of it in g (prog), then no code (5.0 %)
	FAILED: prog, bcc profile, with: fewer than 20 samples
	END
	)" <<-END
	without prog defer samples 200
	without prog defer complete 1
	without prog defer ends 199 f (prog)
	with prog defer samples 200
	with prog defer complete 190
	with prog defer none 50
	with prog defer gone 4
	with prog defer lost 9
	with prog defer ends 10 g (prog), then no code
	without prog fp failed no tool
	with prog fp samples 200
	with prog fp complete 180
	with prog fp ends 19 f (prog), past code without CFI
	with prog fp ends 1 g (prog)
	without prog dwarf samples 100
	without prog dwarf complete 1
	without prog dwarf complete 100
	without prog bcc failed no headers
	with prog bcc samples 19
	with prog bcc complete 19
END
fails "99 % are enough" '' < <(with 1000 990 10 '10 g (prog)')
fails "... and less are not" 'prog, perf -g, with: 1.1 % incomplete' < <(with 1000 989 0 '11 g (prog)')
fails "many places with few each are as bad" 'prog, perf -g, with: 1.2 % incomplete' \
	< <(with 1000 988 0 '6 g (prog)' '6 h (prog)')
fails "what is expected is none" '' < <(with 1000 500 0 '495 f (prog), past code without CFI' '5 g (prog)')
fails "... nor does it hide what is not" 'prog, perf -g, with: 2.0 % incomplete .* in g (prog) (2.0 %)' \
	< <(with 1000 500 0 '480 f (prog), past code without CFI' '20 g (prog)')
fails "nor does it stand for other programs" 'third, perf -g, with: 50.0 % incomplete' \
	< <(with 1000 500 0 '500 f (prog), past code without CFI' | sed 's/ prog / third /')
fails "... or tools" 'prog, perf fp,defer, with: 50.0 % incomplete' \
	< <(with 1000 500 0 '500 f (prog), past code without CFI' | sed 's/ fp / defer /')
fails "samples without a frame, above 1 %" 'prog, perf -g, with: 11 of 1011 samples without a frame' \
	< <(with 1000 1000 11)
fails "... that are expected" '' < <(with 1000 1000 11 | sed 's/ prog / other /')
fails "peers have the shares that they have" '' < <(with 1000 1 0 '999 g (prog)' | sed 's/ fp / dwarf /')
fails "nobody expects anything without tables" '' < <(with 1000 1 0 '999 g (prog)' | sed 's/^with /without /')
fails "a release without deferred stacks" '' < <(echo 'with prog defer failed no such option')
fails "... and without perf" 'prog, perf -g, with: the tool did not run' < <(echo 'with prog fp failed no such option')
! awk -v expected="$work/expected" -f "$machine/table.awk" /dev/null > "$work/table"
result $? "a table of nothing is a failure"
! with 100 100 0 | awk -v expected="$work/none" -f "$machine/table.awk" > "$work/table" 2>&1
result $? "... and so is a list of expectations that is not there"
fails "of the machine's programs nothing else is expected" 'perl, perf -g, with: 50.0 % incomplete' \
	< <(cp "$machine/expected" "$work/expected"
	with 1000 500 0 '500 f (prog), then no code' | sed 's/ prog / perl /')
fails "... but what has no CFI" '' \
	< <(with 1000 500 0 '500 f (musl), then no code, past code without CFI' | sed 's/ prog / musl /')
fails "... or of which SFrame has no form for it" '' \
	< <(with 1000 500 0 '500 f (libcrypto.so.3), whose CFA cannot be had' | sed 's/ prog / perl /')
fails "... and of node what it has compiled" '' < <(with 1000 500 0 \
	'400 compiled code, past compiled code' '100 0x12 (node), past code without CFI' | sed 's/ prog / node /')

{
	printf '            perl    7 [001]  2.000000:   250000 cpu-clock:pppH: \n'
	printf '\tffffffff81000000 do_it+0x10 ([kernel.kallsyms])\n'
	printf '\t    55d0 Perl_av_shift+0x12 (/usr/bin/perl)\n\t    55c0 [unknown] (/usr/bin/perl)\n'
	printf '\t    55b0 f(int; char)+0x1 (/usr/lib/a b.so (deleted))\n\t    42 [unknown] ([unknown])\n\n'
	printf 'a b 1    8 [000]  2.100000:   250000 cpu-clock:pppH: \n\t    55d0 main+0x12 (/usr/bin/perl)\n\n'
	printf 'a b 1    9 [000]  2.200000:   250000 cpu-clock:pppH: \n\t    55d4 main+0x16 (/usr/bin/perl)\n\n'
} > "$work/perf"
awk -f "$machine/matrix/fold.awk" "$work/perf" | sort | diff - <(printf '%s\n' 'a b 1;main 2' \
	'perl;[unknown];f(int: char);[perl];Perl_av_shift;do_it 1') | sed 's/^/# /'
result "${PIPESTATUS[2]}" "what perf script prints, folded"

# tables NAME STATUS REGEX - runs tables.sh with stand-ins for codectl and its oracle
tables()
{
	"$machine/tables.sh" "$work/root" "$work/codectl" "$work/oracle" "$work/results" \
		> "$work/said" 2> "$work/progress"
	[ $? = "$2" ] && grep -q "$3" "$work/said"
	result $? "$1"
}

mkdir -p "$work/results" "$work/root/usr/lib" "$work/root/opt"
echo x > "$work/root/usr/lib/libLLVM.so.19.1"
printf '#!/bin/sh\nsleep 0.1\necho "12 files converted"\necho progress >&2\n' > "$work/codectl"
cat > "$work/oracle" <<-'END'
	#!/bin/sh
	[ "$(wc -l)" = 2 ] || exit 1
	seq -f 'ok %g - table and DWARF agree on a file' 250
	echo '# 10 bytes of tables for 11 of .eh_frame'
	echo 1..250
END
chmod +x "$work/codectl" "$work/oracle"
tables "tables of an image" 0 '^253 passed, 0 failed'
[ "$(grep -c 'files compared' "$work/progress")" = 2 ] && grep -q -x progress "$work/progress"
result $? "... which say how far they are"
grep -q -E '# [1-9][0-9]{2,} ms' "$work/results/sframe-image-time.tap"
result $? "... and how long they take"
WHOLE_SECONDS=0 tables "that take too long" 1 '^FAILED: .*the tables of the image in 0 seconds'
LLVM_SECONDS=0 tables "one of which does" 1 '^FAILED: .*that of /usr/lib/libLLVM.so.19.1 in 0 seconds'
echo 'echo "not ok 251 - larger"; exit 1' >> "$work/oracle"
tables "tables that are wrong" 1 '^FAILED: .*larger'
rm "$work/root/usr/lib/libLLVM.so.19.1"
tables "an image without the largest library" 1 '^FAILED: .*there is a libLLVM'

# shares NAME STATUS SAMPLES COMPLETE CALLED CALLED-COMPLETE - for a recording that is judged
shares()
{
	printf '%s\n' "samples $3" "complete $4" "called $5" "called-complete $6" > "$work/new.facts"
	printf '%s\n' 'samples 10' 'complete 0' > "$work/old.facts"
	awk -v titles='new=now' -v strict=new -v of=called -v least=1000 -f "$here/../../engines/shares.awk" \
		"$work"/{old,new}.facts > "$work/shares"
	[ $? = "$2" ] && grep -q -F '| old | 10 | 0.00 % |' "$work/shares" &&
		grep -q -F "| now | $3 |" "$work/shares"
	result $? "$1"
}

shares "stacks of an engine that are whole enough" 0 2000 1980 1000 999
shares "... one too few" 1 2000 1979 1000 999
shares "... one of those that compiled code has called" 1 2000 1980 1000 998
shares "... too few of these" 1 2000 1980 999 999
shares "... none at all" 1 0 0 0 0

# ways NAME STATUS WAY INSTRUCTIONS - compared with a million for the unprepared engine
ways()
{
	printf '%s\t%d\t%d\t%d\n' 'Engine 1, as it is|-' 1000000 40 5000 "Engine 1, $3|new" "$4" 42 5100 \
		> "$work/ways"
	printf '%s\n' 'samples 400' 'complete 399' 'called 0' > "$work/new.facts"
	awk -v facts="$work" -f "$here/../../engines/ways.awk" "$work/ways" > "$work/ways.md"
	[ $? = "$2" ] && grep -q '^| Engine 1, as it is | 1000000 | 1.0000 | 40 | 5000 | | |$' "$work/ways.md" &&
		grep -q "^| Engine 1, $3 | $4 | .* | 42 | 5100 | 99.75 % |  |$" "$work/ways.md"
	result $? "$1"
}

ways "what one per cent costs" 0 preload 1010000
ways "... what costs more" 1 agent 1010001
ways "... what others cost" 0 'perf map' 2000000

# awaits NAME STATUS TIME LIMIT [COMMAND...] - standard input has the service's CPU time and state,
# a line for each five seconds; the clock stands still except in sleep. Only a failure says something.
awaits()
{
	cat > "$work/states"
	# shellcheck disable=SC2317
	(
		unset SECONDS
		SECONDS=0
		sleep()
		{
			SECONDS=$((SECONDS + $1))
			[ $SECONDS -lt 1000 ] || exit 2
		}
		late() { [ "$SECONDS" -ge 20 ]; }
		systemctl()
		{
			local used state

			IFS=, read -r used state < <(sed -n "$((SECONDS / 5 + 1))p" "$work/states")
			case $* in
			'show -P CPUUsageNSec codectl-attach') echo "$used" ;;
			'-q is-active codectl-attach') [ "$state" = active ] ;;
			*) exit 2 ;;
			esac
		}
		# shellcheck source=../../machine/await_tables.sh
		. "$machine/await_tables.sh"
		await_tables "${@:4}" 2> "$work/said"
		[ "$? $SECONDS $(wc -l < "$work/said")" = "$2 $3 $2" ]
	)
	result $? "$1"
}

awaits "tables are there once the service is ready" 0 20 100 <<-END
	[not set],inactive
	50000000,activating
	60000000,activating
	70000000,activating
	80000000,active
END
awaits "... and it and its children do nothing" 0 15 100 \
	< <(printf '%s,active\n' 4000000000 9000000000 9100000000 9199999999)
awaits "... since it has been restarted" 0 10 100 < <(printf '%s,active\n' 9000000000 100 200)
awaits "... and what else is wanted is there" 0 20 100 late < <(yes 5,active | head -n 9)
awaits "a service that works on is not waited for any longer" 1 30 30 \
	< <(seq -f '%.0f,active' 0 100000000 900000000)
grep -q 'has not made its tables in 30 seconds' "$work/said"
result $? "... which is said"
awaits "... nor is one that does not run" 1 30 30 < <(yes '[not set],failed' | head -n 9)
awaits "... nor what is not there" 1 30 30 false < <(yes 5,active | head -n 9)

# A stand-in for the machine, which prints a given console for each boot.
mkdir -p "$work/paper/machine" "$work/paper/rig" "$work/bin"
ln -s "$(realpath "$here/../../rig/guest")" "$work/paper/rig/guest"
cat > "$work/paper/machine/boot.sh" <<'END'
#!/bin/bash
console=$PAPER/boot.$(wc -l < "$PAPER/boots")
echo "QEMU emulates the machine" >&2
echo >> "$PAPER/boots"
cat "$console"
! grep -q Oops "$console" || exit 1
tar -cf "${@: -1}" -C "$PAPER/left" .
END
cat > "$work/paper/job" <<'END'
machine=$1 dir=$2 out=$2 work=$2/work
die() { echo "$*"; exit 1; }
. "$3"
boot_job
END
printf '#!/bin/sh\necho "QEMU emulator version 7.2.22"\n' > "$work/bin/qemu-system-x86_64"
chmod +x "$work/paper/machine/boot.sh" "$work/bin/qemu-system-x86_64"

# boots NAME STATUS BOOTS CODE - the kernel finds a breakpoint in CODE, twice
boots()
{
	local status

	export PAPER=$work/paper
	: > "$PAPER/boots"
	rm -rf "$work/booted"
	mkdir -p "$PAPER/left" "$work/booted/work"
	echo complete > "$PAPER/left/status"
	printf '[    2.1] %s\r\n' 'Linux version 7.3.4' 'Oops: int3: 0000 [#1] SMP NOPTI' "Code: $4" 'Call Trace:' \
		> "$PAPER/boot.0"
	echo '[    0.0] Linux version 7.3.4' > "$PAPER/boot.1"
	PATH=$work/bin:$PATH bash "$work/paper/job" "$PAPER/machine" "$work/booted" \
		"$here/../../machine/recorded.sh" > "$work/said" 2>&1
	status=$?
	[ $status = "$2" ] && [ "$(wc -l < "$PAPER/boots")" = "$3" ]
	result $? "$1"
}

boots "a machine that QEMU has err boots once more" 0 2 '0f 1f 44 00 00 90 <0f> 1f 44'
grep -q 'booting again' "$work/said" && [ -e "$work/booted/console.erred" ]
result $? "... and says so"
boots "... one whose kernel has died of a breakpoint does not" 1 1 '0f 1f 44 00 00 cc <0f> 1f 44'
finish
