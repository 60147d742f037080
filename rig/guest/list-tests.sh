#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: list-tests.sh fast|debug|coverage
#
# Lists the tests that run-tests.sh has to run on a kernel, one line each: NAME PATH. The list
# comes from the sources, so that tests that are missing in the image or the kernel fail.

set -eu -o pipefail

kernel=$1
top=$(cd "$(dirname "$0")/../.." && pwd)
guest=/usr/lib/codectl

die()
{
	echo "list-tests.sh: $*" >&2
	exit 1
}

# Without the kernel's lib.mk, which adds no test.
list_selftests()
{
	local stub name

	stub=$(mktemp -d)
	: > "$stub/lib.mk"
	# shellcheck disable=SC2016
	MAKEFLAGS='' make -s -C "$top/selftests" KSELFTEST="$stub" O='' OUTPUT='' \
		--eval='list: ; @printf "%s\n" $(TEST_GEN_PROGS) $(TEST_PROGS)' list |
		while read -r name; do
			echo "$name $guest/selftests/$name"
		done
	rm -r "$stub"
}

# list_files PREFIX GUESTDIR FILE...
list_files()
{
	local prefix=$1 dir=$2 file

	shift 2
	for file; do
		[ -e "$file" ] || die "no such file: $file"
		file=$(basename "$file" .c)
		echo "$prefix$file $guest/$dir/$file"
	done
}

list_kunit()
{
	sed -n 's/^\t\.name = "\(.*\)",$/\1/p' "$top"/kernel/src/kernel/unwind/tests/*_kunit.c |
		while read -r name; do
			echo "kunit-$name /sys/kernel/debug/kunit/$name/results"
		done
}

list_all()
{
	list_selftests
	list_files '' kselftest "$top"/rig/guest/kselftest_test.sh
	list_files libcodectl- libcodectl "$top"/libcodectl/tests/*_test.c
	list_files '' jit-demo/tests "$top"/jit-demo/tests/*_test.sh
	list_files '' trace "$top"/rig/trace/*_test.sh
	# Others run on the host.
	# shellcheck disable=SC2046
	list_files '' tools $(sed -n 's/^SCRIPTS[[:space:]]*:= //p' "$top/tools/Makefile" |
		xargs -n 1 | sed "s,^,$top/tools/tests/,")
	echo "glibc $guest/glibc-tests/run-tests.sh"
	list_kunit
}

# Only kernels for tests have fault injection, test NMIs and KUnit. codectl_error_test.sh,
# codectl_names_test.sh and stock_test.sh test user space, codectl_cpu_test.sh perf as well: the
# slowest kernel need not run these.
case $kernel in
fast) without='^(fault_|kunit-|nmi_)' ;;
debug) without='^(codectl_cpu|codectl_error|codectl_names|stock)_test.sh ' ;;
coverage) without='^$' ;;
*) die "no such kernel: $kernel" ;;
esac
list_all | grep -v -E "$without"
