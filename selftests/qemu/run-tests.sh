#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-tests.sh SECONDS [PATTERN]
#
# Runs in the guest every test program, or those whose names match, and gives
# their TAP one after the other, framed by lines that tap-summary.awk reads:
#
#	# plan PROGRAM...
#	# begin PROGRAM
#	# end PROGRAM STATUS
#
# Those named in TESTS_DONE are left out.

seconds=$1 only=${2:-*}
tests=/usr/lib/codectl

programs=''
for path in "$tests"/selftests/*_test "$tests"/selftests/*_test.sh \
	    "$tests"/libcodectl/*_test "$tests"/jit-demo/tests/*_test.sh \
	    "$tests"/trace/*_test.sh "$tests"/tools/*_test.sh \
	    "$tests/glibc-tests/run-tests.sh" /sys/kernel/debug/kunit/*codectl* \
	    /sys/kernel/debug/kunit/*sframe*; do
	[ -e "$path" ] || continue
	# Faults can be injected on the debug kernel only.
	case $path in
	*/fault_*test) [ -d /sys/kernel/debug/failslab ] || continue ;;
	esac
	# What goes wrong there is in user space: the slowest kernel need not do it.
	case $path in
	*/codectl_error_test.sh) [ "${TEST_TIME_SCALE:-1}" -lt 10 ] || continue ;;
	esac
	case $path in
	*/glibc-tests/*) name=glibc ;;
	*/libcodectl/*) name=libcodectl-${path##*/} ;;
	/sys/*) name=kunit-${path##*/} ;;
	*) name=${path##*/} ;;
	esac
	case " ${TESTS_DONE:-} " in
	*" $name "*) continue ;;
	esac
	# shellcheck disable=SC2254
	case $name in
	$only) programs="$programs $name=$path" ;;
	esac
done

printf '# plan'
for program in $programs; do
	printf ' %s' "${program%%=*}"
done
echo

TEST_TIME_SCALE=${TEST_TIME_SCALE:-1}
export TEST_TIME_SCALE

for program in $programs; do
	name=${program%%=*} path=${program#*=}
	echo "# begin $name"
	echo "codectl-guest: test $name" > /dev/kmsg
	case $name in
	kunit-*)
		cat "$path/results" ;;
	*)
		cd "${path%/*}" && timeout -s KILL "$seconds" "$path" 2>&1 ;;
	esac
	echo "# end $name $?"
done
