#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: suites.sh BUILDDIR [SUITE]...
#
# Runs upstream tests before and after the patches: the kernel's selftests in the guest, on the
# kernel without and with them; glibc's tests on this machine, and those of its elf and dlfcn
# tests that are a single command in the guest as well. Prints TAP, a line for each suite,
# which is "not ok" if a test fails only after the patches or a guest died, and then a table.
# Tests that failed or differed are run once more on both sides; those that still differ are
# repeated up to REPEATS times (default 5).
#
# TEST_SECONDS is the time limit of a test in the guest (default 900).

set -u
shopt -s extglob

build=$1
shift
top=$(cd "$(dirname "$0")/../.." && pwd)
obj=$build/obj/suites
work=$build/results/suites
table=$build/results/suites.md
each=${TEST_SECONDS:-900}
repeats=${REPEATS:-5}
suites=("$@")
[ $# -gt 0 ] || suites=(kselftest-{clone3,proc,rseq,perf_events,user_events,mm}
			glibc-{setjmp,dlfcn,elf,nptl} guest-glibc)
# shellcheck source=tap.sh
. "$top/scripts/check/tap.sh"

# in_guest SUITE SIDE N [OPTION]... -- COMMAND...
in_guest()
{
	local log=$work/$1.$2.$3.log kernel=fast clean=PASS

	[ "$2" = after ] || kernel=stock
	shift 3
	"$top/rig/guest/guest.sh" --images "$obj/images" --kernel "$kernel" \
		--timeout 7200 --append panic_on_warn=0 --log "$log.console" \
		--add "$top/rig/guest/run-suite.sh:/run-suite.sh" "$@" > "$log" 2>&1
	! grep -q '^check-dmesg:' "$log" || clean=FAIL
	echo "$clean: the-kernel-log" >> "$log"
}

# run_KIND SUITE SIDE N [TEST]... - runs a suite, or some tests of it; the output is in its log
run_kselftest()
{
	in_guest "$1" "$2" "$3" -- sh /run-suite.sh kselftest "$each" \
		"${1#kselftest-}" "${@:4}"
}

# The test programs with their modules and libraries, at their original paths, and the commands.
run_guest_glibc()
{
	local side=$2 tree=$obj/glibc-guest from

	from=$(realpath "$obj/glibc-$side")
	rm -rf "$tree"
	mkdir -p "$tree"
	rsync -a -m --exclude='testroot.*' --exclude='*.o' --exclude='*.o[sS]' --exclude='*.a' \
		--exclude='*.d' --exclude='*.dt' --exclude='*.map' --exclude='*.out' \
		--exclude='*.h' --exclude='*.test-result' --exclude='*.command' \
		--exclude='nptl/tst-*' "$from/" "$tree/"
	cp "$(gcc -print-file-name=libgcc_s.so.1)" "$(gcc -print-file-name=libstdc++.so.6)" "$tree/"
	(cd "$from" && awk 'FNR == 1 { name = FILENAME; sub(/.command$/, "", name) }
		{ line[name] = $0; nr[name]++ }
		END { for (name in nr) if (nr[name] == 1) print name, line[name] }' \
		elf/*.command dlfcn/*.command) | sort > "$work/commands-$side"
	in_guest "$1" "$2" "$3" --add "$tree:$from" \
		--add "$work/commands-$side:/commands" -- \
		sh /run-suite.sh glibc "$each" /commands "${@:4}"
	rm -rf "$tree"
}

run_glibc()
{
	local dir=${1#glibc-} tree=$obj/glibc-$2 log=$work/$1.$2.$3.log tests=() status

	tree=$(realpath "$tree")
	tests=("${@:4}")
	tests=("${tests[@]/#/$tree/}")
	if [ $# -eq 3 ]; then
		find "$tree/$dir" '(' -name '*.out' -o -name '*.test-result' \
			-o -name '*.command' ')' -delete
		glibc_make "$tree" "$dir" check > "$log.make" 2>&1
		status=$?
		cat "$tree/$dir"/*.test-result > "$log"
	else
		rm -f "${tests[@]/%/.out}" "${tests[@]/%/.command}" "${tests[@]/%/.test-result}"
		glibc_make "$tree" "$dir" "${tests[@]/%/.out}" > "$log.make" 2>&1
		status=$?
		cat "${tests[@]/%/.test-result}" > "$log" 2>/dev/null
	fi
	[ $status -eq 124 ] || echo "PASS: the-run" >> "$log"
}

# Only in this directory: a full check would install glibc for the tests that run in a container,
# and Debian's source lacks the manual for that.
glibc_make()
{
	local source

	source=$(cd "$1" && cd "$(sed -n 's/^srcdir = //p' Makefile)" && pwd)
	TIMEOUTFACTOR=4 timeout 7200 make -s -r -k -j"${JOBS:-$(nproc)}" -C "$source/$2" \
		objdir="$1" test-wrapper="$top/scripts/check/record-command.sh" "${@:3}"
}

# once SUITE N [TEST]... - on both sides
once()
{
	local side log

	for side in before after; do
		log=$work/$1.$side.$2.log
		case $1 in
		kselftest-*) run_kselftest "$1" "$side" "${@:2}" ;;
		glibc-*) run_glibc "$1" "$side" "${@:2}" ;;
		guest-glibc) run_guest_glibc "$1" "$side" "${@:2}" ;;
		esac
		grep -q '^PASS: the-run' "$log" || echo "FAIL: the-run" >> "$log"
		awk -f "$top/scripts/check/suite-results.awk" "$log" > "$work/$1.$side.$2"
	done
}

# compare SUITE VARIABLE=VALUE - compares all runs so far
compare()
{
	awk -v suite="$1" -v "$2" -f "$top/scripts/check/compare-suites.awk" \
		"$work/$1".{before,after}.+([0-9])
}

run_suite()
{
	local n tests wanted=doubtful

	rm -f "$work/$1".{before,after}.*
	once "$1" 1
	for ((n = 2; n <= repeats + 1; n++)); do
		mapfile -t tests < <(compare "$1" list="$wanted")
		[ ${#tests[@]} -gt 0 ] || break
		once "$1" "$n" "${tests[@]}"
		wanted=unsettled
	done
	compare "$1" table="$table"
}

mkdir -p "$work"
{
	echo "| suite | before: pass / fail / skip | after | fail alike | unstable | newly failing |"
	echo "|---|---|---|---|---|---|"
} > "$table"
for suite in "${suites[@]}"; do
	run_suite "$suite"
	result $? "$suite: nothing fails only after our patches"
done
sed 's/^/# /' "$table"
finish
