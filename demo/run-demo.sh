#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The main job: programs without frame pointers under perf record, on a kernel
# with codectl=off and with codectl on, side by side.  The exit status is 0 only
# if all checks pass.

set -u

usage()
{
	cat <<-END
	usage: run-demo.sh --images DIR --sysroot DIR --demo DIR --jit DIR
	                   --perf FILE --stock DIR --out DIR

	  --images DIR    the guest's kernel and root image
	  --sysroot DIR   the C library the programs were linked against
	  --demo DIR      what the Makefile here built
	  --jit DIR       what that of jit-demo built
	  --perf FILE     perf of this kernel
	  --stock DIR     a program of a distribution, with its libraries
	  --out DIR       where recordings and reports go
	END
	exit 2
}

die()
{
	echo "demo: $*" >&2
	exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
images='' sysroot='' demo='' jit='' perf='' stock='' out=''
elf_programs='chain plugin-host sqlite3 lua5.4'
jit_programs='jit-demo jit-churn'
programs="$elf_programs $jit_programs"
guest_demo=/usr/lib/codectl/demo
guest_jit=/usr/lib/codectl/jit-demo
guest_stock=/usr/lib/codectl/stock
# Brendan Gregg's; Debian has it in libdevel-nytprof-perl
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl

while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || usage
	case $1 in
	--images) images=$2 ;;
	--sysroot) sysroot=$2 ;;
	--demo) demo=$2 ;;
	--jit) jit=$2 ;;
	--perf) perf=$2 ;;
	--stock) stock=$2 ;;
	--out) out=$2 ;;
	*) usage ;;
	esac
	shift 2
done
for value in "$images" "$sysroot" "$demo" "$jit" "$perf" "$stock" "$out"; do
	[ -n "$value" ] || usage
done

# in_guest KERNELARGS COMMAND
in_guest()
{
	"$here/../rig/guest/guest.sh" --images "$images" --append "$1" \
		--out "$out" --timeout 1800 -- sh -ec "$2"
}

# Links the guest's files to where perf and libdwfl look for them on the host.
make_symfs()
{
	local file

	mkdir -p "$out/symfs/usr/lib64" "$out/symfs/usr/lib/codectl"
	ln -s usr/lib64 "$out/symfs/lib64"
	ln -s "$(realpath "$demo/guest")" "$out/symfs$guest_demo"
	ln -s "$(realpath "$jit/guest")" "$out/symfs$guest_jit"
	ln -s "$(realpath "$stock")" "$out/symfs$guest_stock"
	for file in "$sysroot"/lib64/*.so.* "$sysroot"/usr/lib/*.so.*; do
		[ ! -e "$file" ] || ln -sf "$(realpath "$file")" \
			"$out/symfs/usr/lib64/$(basename "$file")"
	done
}

record()
{
	echo "== codectl=off: recording with --call-graph fp,defer and dwarf"
	in_guest codectl=off "$guest_demo/record.sh /out/off fp,defer compiled
		$guest_demo/record.sh /out/dwarf dwarf
		$guest_demo/stackdump -o /out/off/chain.dump -- \
			$guest_demo/chain 200 > /dev/null
		$guest_demo/stackdump -o /out/off/jit-demo.dump -- \
			$guest_jit/jit-demo -n 40 -l /out/off/jit-demo.codes \
			$guest_jit/programs/*.jd > /dev/null" ||
		die "the guest with codectl=off failed"
	echo "== codectl on: recording with --call-graph fp,defer, then stack dumps"
	in_guest codectl=on "$guest_demo/record.sh /out/on fp,defer compiled called
		$guest_demo/dump.sh /out/dump" ||
		die "the guest with codectl on failed"
}

# The functions in which a program spends its time, for stacks.awk.
hot()
{
	case $1 in
	chain) echo '^compare$' ;;
	plugin-host) echo '^compare_load_[123]$' ;;
	jit-*) echo '^rt_spin$' ;;
	esac
}

# script MODE PROGRAM - the text of a recording, unless the guest has made it
script()
{
	local dir=$out/$1

	[ ! -e "$dir/$2.script" ] || return 0
	"$perf" script -i "$dir/$2.data" --symfs "$out/symfs" --no-inline \
		--no-demangle --max-stack 512 -F comm,tid,time,ip,sym,dso \
		> "$dir/$2.script" 2> "$dir/$2.err" ||
		die "perf script failed: $(cat "$dir/$2.err")"
}

# One fact per line: mode program key value...
facts()
{
	local mode program dir

	for mode in off on dwarf; do
		for program in $programs; do
			dir=$out/$mode
			script "$mode" "$program"
			{
				echo "bytes $(stat -L -c %s "$dir/$program.data")"
				awk -v want="$(hot "$program")" \
					-v unnamed="$([ "$program" != jit-churn ] || echo 1)" \
					-v folded="$dir/$program.folded" \
					-f "$here/stacks.awk" "$dir/$program.script"
			} | sed "s/^/$mode $program /"
		done
	done
}

# Tracing must not change the output of the programs.
check_output()
{
	local mode program

	for program in chain sqlite3 lua5.4 $jit_programs; do
		[ -s "$out/off/$program.log" ] || die "$program printed nothing"
		for mode in on dwarf dump; do
			cmp -s "$out/off/$program.log" "$out/$mode/$program.log" ||
				die "$program printed something else under $mode"
		done
	done
}

# expect_lines FILE NUMBER REGEX
expect_lines()
{
	[ "$(grep -c -E "$3" "$1")" = "$2" ] && return
	echo "FAILED: $1 has not $2 lines '$3':"
	cat "$1"
	return 1
}

# What the plugin's host saw in the registry: EEXIST if the plugin's text is registered, 0
# after dlclose() if nothing is left behind.
check_registry()
{
	local mode failed=0

	for mode in on dump; do
		expect_lines "$out/$mode/plugin-host.log" 3 \
			'^load [123]: .* loaded EEXIST closed 0$' || failed=1
	done
	for mode in off dwarf; do
		expect_lines "$out/$mode/plugin-host.log" 3 \
			'^load [123]: .* loaded ENOSYS closed ENOSYS$' || failed=1
	done
	expect_lines "$out/on/plugin-host.log" 1 '^second load: same' || failed=1
	expect_lines "$out/on/plugin-host.log" 1 '^third load: another' || failed=1
	return $failed
}

# Without codectl the stacks are wrong, and the comparison must detect that.
check_stacks()
{
	"$demo/stackcheck" -r "$out/symfs" "$out/off/chain.dump" \
		> "$out/off/chain.check"
	if [ $? != 1 ] || ! grep -q UNEXPLAINED "$out/off/chain.check"; then
		echo "FAILED: stackcheck finds nothing with codectl=off"
		return 1
	fi
	# A wrong chain is not explained just because its sample was taken in the kernel.
	python3 "$here/agree/doctor.py" 100 < "$out/dump/chain.dump" \
		> "$out/dump/doctored" || return 1
	"$demo/stackcheck" -r "$out/symfs" "$out/dump/doctored" \
		> "$out/dump/doctored.check"
	if ! grep -q -E '^unexplained +1[0-9][0-9]$' "$out/dump/doctored.check"; then
		echo "FAILED: stackcheck takes chains that begin elsewhere"
		return 1
	fi
	# shellcheck disable=SC2046,SC2086
	"$demo/stackcheck" -r "$out/symfs" -m 10000 \
		$(printf "$out/dump/%s.dump " $elf_programs) || return 1
	echo "a stock program, by attached tables, at once:"
	"$demo/stackcheck" -a -r "$out/symfs" -m 2500 "$out/dump/stock-perl.dump"
}

# The last run tests the other direction in which code grows, and signals.
check_marks()
{
	local run interrupted compared=0 failed=0

	"$demo/markcheck" -l "$out/off/jit-demo.codes" \
		"$out/off/jit-demo.dump" > "$out/off/jit-demo.check"
	if [ $? != 1 ] || ! grep -q TRUNCATED "$out/off/jit-demo.check"; then
		echo "FAILED: markcheck finds nothing with codectl=off"
		return 1
	fi
	for run in $jit_programs jit-churn-down; do
		echo "$run:"
		grep -h -E '^(region|compiled|retired)' "$out/dump/$run.codes"
		interrupted=0
		[ "$run" != jit-churn-down ] || interrupted=100
		if ! "$demo/markcheck" -m 2000 -i $interrupted -l "$out/dump/$run.codes" \
			"$out/dump/$run.dump" > "$out/dump/$run.check"; then
			echo "FAILED: marks of $run"
			failed=1
		fi
		cat "$out/dump/$run.check"
		compared=$((compared + $(awk '/^samples with compiled/ { print $NF }' "$out/dump/$run.check")))
	done
	# On a busy machine, the threads of jit-churn wait longer for each other to write the
	# perf map, and fewer samples have compiled frames.
	if [ $compared -lt 10000 ]; then
		echo "FAILED: fewer than 10000 samples with compiled frames"
		failed=1
	fi
	return $failed
}

# Draws all stacks of compiled code with codectl on, with the names of its functions.
draw_flames()
{
	local svg=$out/jit-demo.svg names

	"$flamegraph" --hash --title "jit-demo, codectl on" \
		"$out/on/jit-demo.folded" > "$svg" 2> "$out/on/flames.err" ||
		die "no flame graph: $(tail -n 1 "$out/on/flames.err");" \
		    "apt-get install libdevel-nytprof-perl"
	"$here/picture.py" "Linux as it is" "$out/off/jit-demo.folded" \
		"with codectl" "$out/on/jit-demo.folded" > "$out/stacks.svg" || die "no picture"
	names=$(grep -o -E 'jit:[a-z]+\.[a-z_]+@[12]' "$svg" | sort -u | wc -l)
	echo "$svg has names of $names compiled functions"
	[ "$names" -ge 20 ]
}

fail()
{
	echo "FAILED: $1"
	failed=1
}

rm -rf "$out"
mkdir -p "$out" || die "cannot make $out"
make_symfs
record
check_output
facts > "$out/facts" || exit 1

failed=0
awk -v programs="$programs" -f "$here/report.awk" "$out/facts" || fail "the samples"

echo "== The plugin's text in the registry, at each load and after dlclose()"
cat "$out/on/plugin-host.log"
check_registry || fail "what the registry held"

echo
echo "== The kernel's stacks against libdwfl's unwind of registers and stack dumps"
check_stacks || fail "the kernel's stacks and libdwfl's"

echo
echo "== The kernel's frames of compiled code against the marks these left"
check_marks || fail "the frames of compiled code and their marks"

echo
echo "== Flame graph"
draw_flames || fail "the flame graph"

echo
if [ "$failed" = 0 ]; then
	echo "demo: all checks passed"
else
	echo "demo: FAILED"
fi
exit "$failed"
