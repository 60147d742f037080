#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: run-tests.sh [NAME...]
#
# Runs the tests that install-tests.sh has put beside this script, or those that
# are named, and reports in TAP. A test that is not supported fails: this is for
# kernels with codectl.

dir=$(cd "$(dirname "$0")" && pwd) || exit 1
failed=0 number=0

# Emulation is slow.
TIMEOUTFACTOR=${TIMEOUTFACTOR:-20}
export TIMEOUTFACTOR

run()
{
	case $1 in
	tst-codectl-audit)
		LD_AUDIT=$dir/tst-codectl-auditmod.so LD_LIBRARY_PATH=$dir "$dir/$1" ;;
	tst-trampoline-audit)
		LD_AUDIT=$dir/tst-trampoline-auditmod.so LD_LIBRARY_PATH=$dir "$dir/$1" ;;
	tst-codectl-preload)
		LD_PRELOAD=$dir/tst-codectl-graphmod1.so LD_LIBRARY_PATH=$dir "$dir/$1" ;;
	tst-codectl-disable)
		GLIBC_TUNABLES=glibc.rtld.codectl=0 LD_LIBRARY_PATH=$dir "$dir/$1" ;;
	"tst-codectl by ld.so")
		/lib64/ld-linux-x86-64.so.2 --library-path "$dir" "$dir/tst-codectl" ;;
	*)
		LD_LIBRARY_PATH=$dir "$dir/$1" ;;
	esac
}

# What was installed, be it there or not.
# shellcheck disable=SC2046
[ $# -gt 0 ] || set -- $(cat "$dir/tests.list") "tst-codectl by ld.so"

echo "TAP version 13"
echo "1..$#"
[ $# -gt 0 ] || exit 1
for name; do
	number=$((number + 1))
	output=$(run "$name" 2>&1)
	status=$?
	if [ "$status" -eq 0 ]; then
		echo "ok $number $name"
	else
		failed=1
		echo "$output" | sed 's/^/# /'
		echo "not ok $number $name # exit status $status"
	fi
done
exit $failed
