#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-demands.sh TOP
#
# Checks that docs/demands.md has a row for each demand, that each row names a test or says why
# there is none, and that all tests named there or in docs/testing.md exist. Prints errors.

set -u -o pipefail

cd "$1" || exit 1
page=docs/demands.md promises=docs/testing.md
nr_demands=34
wrong=0

complain()
{
	echo "$page: $*"
	wrong=1
}

# Finds the source of a program with tests.
source_of()
{
	local file

	case $1 in
	libcodectl-*.sh) file=libcodectl/tests/${1#libcodectl-} ;;
	libcodectl-*) file=libcodectl/tests/${1#libcodectl-}.c ;;
	*_kunit) file=kernel/src/kernel/unwind/tests/$1.c ;;
	*.sh) file=$(ls rig/{trace,guest}/"$1" jit-demo/tests/"$1" tools/tests/"$1" 2> /dev/null) ;;
	check-dmesg-test) file=rig/guest/$1.sh ;;
	# Programs that are linked in other ways.
	*_now_test) file=$(ls selftests/*/"${1%_now_test}_test.c" 2> /dev/null) ;;
	*_attached_test) file=$(ls selftests/*/"${1%_attached_test}_test.c" 2> /dev/null) ;;
	*) file=$(ls {selftests/*,tools/tests}/"$1".c 2> /dev/null) ;;
	esac
	[ -e "$file" ] && echo "$file"
}

# Does the source have a test case or a variant of a fixture of that name?  It is the first or
# second word in the parentheses of a macro at the start of a line.
has_case()
{
	grep -q -E "^[[:space:]]*[A-Z][A-Z_0-9]*\(([a-z_0-9]+, *)?$2[,)]" "$1"
}

exists()
{
	local file dir target

	case $1 in
	"make -C "*)
		read -r _ _ dir target <<< "$1"
		grep -q "^$target:" "$dir/Makefile"
		;;
	"make "*) grep -q "^${1#make }:" Makefile.am stages.am ;;
	tst-*) grep -q "^+++ b/.*/$1\.c$" glibc-patches/*.patch ;;
	kunit-*) grep -q "\.name = \"${1#kunit-}\",$" kernel/src/kernel/unwind/tests/*_kunit.c ;;
	*:*) file=$(source_of "${1%:*}") && has_case "$file" "${1#*:}" ;;
	*) source_of "$1" > /dev/null ;;
	esac
}

rows()
{
	grep -E '^\|' "$page" | grep -v -E '^\| (#|system) |^\|-'
}

check_row()
{
	local shown name names

	shown=$(awk -F'|' '{ print $(NF - 1) }' <<< "$1")
	names=$(grep -o "\`[^\`]*\`" <<< "$shown" | tr -d "\`")
	[ -n "$names" ] || [[ $shown == *"no test: "* ]] ||
		complain "no test and no reason: ${1:0:60}"
	[ -z "$names" ] || while read -r name; do
		exists "$name" || complain "there is no $name"
	done <<< "$names"
}

# That page lists the library's tests without its name.
check_promises()
{
	local name

	while read -r name; do
		exists "$name" || exists "libcodectl-$name" ||
			complain "$promises has $name, which there is not"
	done < <(grep -o -E '\b([a-z][a-z_0-9-]*_test(\.sh)?(:[a-z_0-9]+)?|kunit-[a-z_0-9]+)\b' "$promises" |
		sort -u)
}

while read -r row; do
	check_row "$row"
done < <(rows)
check_promises
cmp -s <(rows | sed -n 's/^| \([0-9]*\) .*/\1/p') <(seq $nr_demands) ||
	complain "the rows are not 1 to $nr_demands"
exit $wrong
