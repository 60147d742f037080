#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: coverage.sh BUILDDIR CC
#
# Runs the tests on builds that count their branches, in the guest and on the host, and reports
# what they reached in BUILDDIR/coverage, as HTML, as text, and as a table for fill-figures.sh.
# Fails if it is less than scripts/check/coverage.list allows.

set -u

build=$1 cc=$2
top=$(cd "$(dirname "$0")/../.." && pwd)
linux=$(realpath "$build/linux")
out=$build/coverage
failed=0

die()
{
	echo "coverage: $*" >&2
	exit 1
}

forget()
{
	rm -rf "$out"
	mkdir -p "$out"
	find "$build"/obj/{linux-coverage,coverage/libcodectl,coverage/tools} -name '*.gcda' -delete
}

run_tests()
{
	"$top/scripts/check/check-guest.sh" "$build" coverage || failed=1
	[ -d "$out/guest$build" ] || die "nothing came back from the guest"
	cp -R "$out/guest$build/." "$build/"
	rm -rf "$out/guest"
	make -s --no-print-directory -f "$top/tools/Makefile" check \
		O="$build/obj/coverage/tools" HOSTCC="$cc" SFRAME="$build/tools" \
		TEST_FLAGS='-O1 -g --coverage' \
		> "$build/results/tool-coverage.tap" || failed=1
}

# Run each in its own directory: clang puts the counts into the current directory.
fuzz_files()
{
	for fuzzer in elf_names sframe_elf sframe_rows; do
		dir=$build/obj/coverage/fuzz/$fuzzer
		rm -rf "$dir"
		mkdir -p "$dir"
		make -s --no-print-directory -C "$dir" -f "$top/tools/Makefile" check-fuzz \
			O="$dir" HOSTCC="$cc" SFRAME="$build/tools" FUZZED= \
			NAMES=${fuzzer##sframe_*} CONVERTS=${fuzzer#elf_names} \
			FUZZ_FLAGS='-O1 -g -fsanitize=fuzzer --coverage' \
			> "$build/results/$fuzzer-coverage.tap" || failed=1
	done
}

# count SET ROOT FILTER GCOV DIR - the coverage of a set of sources
count()
{
	gcovr -r "$2" -f "$3" --gcov-executable "$4" --json "$out/$1.json" \
		--html-details "$out/$1.html" "$5" > "$out/$1.log" 2>&1 ||
		die "gcovr failed: $(tail -n 1 "$out/$1.log")"
	found+=("$2:$out/$1.json")
}

# The sums, as a table.
table()
{
	echo '| | lines | branches | lines outside the list | branches outside the list |'
	echo '|---|---|---|---|---|'
	awk '
		$1 == "all" { printf "| %s | %s %% of %d | %s %% of %d ", $3 == "tools" ? "codectl (1)" : $3, $7, $6, $12, $11 }
		$1 == "beside" { printf "| %s %% | %s %% |\n", $8, $13 }' "$out/coverage.txt"
}

[ $# -eq 2 ] || die "usage: coverage.sh BUILDDIR CC"
commit=$("$top/scripts/check/tree-commit.sh" "$top")
forget
run_tests
fuzz_files
found=()
in_tree='(kernel/unwind/[^/]*|fs/proc/codectl|kernel/trace/trace_user_unwind|arch/x86/kernel/unwind_user)'
objects=$build/obj/coverage
count kernel "$linux" "$linux/$in_tree\.[ch]$" gcov "$build/obj/linux-coverage"
count libcodectl "$top" "$top/(libcodectl/src|kernel/src/.*)/[^/]*$" gcov "$objects/libcodectl/libcodectl"
count tools "$top" "$top/tools/((sframe|attach)/)?[^/]*$" gcov "$objects/tools"
count fuzzed "$top" "$top/tools/(elf_[a-z]+|sframe/(expression|frames|object|padding|table))\.c" 'llvm-cov gcov' "$objects/fuzz"
count readers "$top" "$top/kernel/src/" 'llvm-cov gcov' "$objects/readers"
"$top/scripts/check/coverage-report.py" "$top/scripts/check/coverage.list" \
	"$top/kernel/patches" "${found[@]}" \
	> "$out/coverage.txt" || failed=1
cat "$out/coverage.txt"
table | "$top/scripts/bench/report.sh" coverage './quickstart coverage' "$commit" > "$out/figures.md"
exit $failed
