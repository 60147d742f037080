#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Checks that a test that is missing in the guest fails, and that list-tests.sh is
# complete. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"

printf '#!/bin/sh\necho ok 1 x\necho 1..1\n' > "$work/here_test"
chmod +x "$work/here_test"
cp "$work/here_test" "$work/there_test"
printf '%s\n' 'ok 1 suite' '1..1' > "$work/results"

# expect NAME STATUS LAST-LINE PATTERN, with the list on standard input
expect()
{
	local output status

	cat > "$work/list"
	sh "$here/run-tests.sh" "$work/list" 10 "$4" > "$work/tap"
	output=$(awk -f "$top/scripts/check/tap-summary.awk" "$work/tap")
	status=$?
	echo "# status $status: ${output//$'\n'/; }"
	[ "$status $(tail -n 1 <<< "$output")" = "$2 $3" ]
	result $? "$1"
}

expect "all are there" 0 '3 passed, 0 failed' '' <<EOF
here_test $work/here_test
there_test $work/there_test
kunit-suite $work/results
EOF
expect "a program is missing" 1 '1 passed, 1 failed' '' <<EOF
here_test $work/here_test
gone_test $work/gone_test
EOF
expect "a directory is missing" 1 '1 passed, 1 failed' '' <<EOF
here_test $work/here_test
glibc $work/gone/run-tests.sh
EOF
expect "a KUnit suite is missing" 1 '1 passed, 1 failed' '' <<EOF
here_test $work/here_test
kunit-gone $work/gone/results
EOF
expect "what was not asked for is not run" 0 '1 passed, 0 failed' 'here*' <<EOF
here_test $work/here_test
gone_test $work/gone_test
EOF
expect "what one of two patterns matches is run, once" 0 '2 passed, 0 failed' 'there* *e_test' <<EOF
here_test $work/here_test
there_test $work/there_test
gone_tes $work/gone_test
EOF
expect "nothing has the name that was asked for" 1 '0 passed, 1 failed' 'nothing' <<EOF
here_test $work/here_test
EOF
expect "no list" 1 '0 passed, 1 failed' '' < /dev/null

cat > "$work/leaving_test" <<EOF
#!/bin/sh
setsid sleep 1000 &
echo \$! > "$work/left"
until grep -q '^sleep' /proc/\$!/cmdline; do :; done
echo ok 1 x
echo 1..1
EOF
chmod +x "$work/leaving_test"
expect "a test leaves a process" 0 '1 passed, 0 failed' '' <<EOF
leaving_test $work/leaving_test
EOF
# The process ends a little after it is killed, and may stay a zombie here.
lives()
{
	grep -s '^State:' "/proc/$(cat "$work/left")/status" | grep -v -q '[ZX] ('
}
for _ in {1..100}; do
	lives || break
	sleep 0.1
done
grep -q '^# left: sleep 1000 $' "$work/tap" && ! lives
result $? "which ends with it"

for kernel in fast debug coverage; do
	"$here/list-tests.sh" $kernel > "$work/$kernel"
	result $? "the list for the $kernel kernel"
done
"$here/list-tests.sh" other > /dev/null 2>&1
[ $? -eq 1 ]
result $? "there is no other kernel"
[ -z "$(cut -d' ' -f1 "$work/coverage" | sort | uniq -d)" ]
result $? "no name is there twice"

# Finds the sources of tests in a different way than list-tests.sh. Other tests of commands run on
# the host.
sources_of_tests()
{
	(cd "$top" && find selftests -name '*_test.c' ! -name codectl_test.c
	 cd "$top" && find libcodectl/tests rig/trace rig/guest jit-demo/tests tools/tests \
		\( -path 'libcodectl/*_test.c' -o -name '*_test.sh' ! -path 'libcodectl/*' \) \
		! -name '*_command_test.sh')
}
missing=''
for file in $(sources_of_tests); do
	name=$(basename "$file" .c)
	grep -q "/$name\$" "$work/coverage" || missing="$missing $name"
done
echo "# missing:${missing:- none}"
[ -z "$missing" ]
result $? "every source of a test is listed"
[ "$(grep -c '^kunit-' "$work/coverage")" = \
  "$(cat "$top"/kernel/src/kernel/unwind/tests/*.c | grep -c '^kunit_test_suite(')" ]
result $? "every KUnit suite is listed"
[ "$(grep -c '_static_\(pie_\)\?test ' "$work/coverage")" = 10 ]
result $? "so are the programs that are linked in other ways"
! grep -q -e '^fault_' -e '^kunit-' "$work/fast" && grep -q '^kunit-' "$work/debug" &&
	grep -q '^fault_test ' "$work/debug" && ! grep -q '^codectl_error' "$work/debug"
result $? "each kernel has what it can run"

# matches NAME PATTERN...
matches()
{
	local name=$1 pattern

	shift
	for pattern; do
		# shellcheck disable=SC2053
		[[ $name != $pattern ]] || return 0
	done
	return 1
}

# Does each pattern of check match a test, and which tests does none match?
set -f

# of_tests KERNEL PATTERN...
of_tests()
{
	local kernel=$1 pattern name empty=''

	shift
	for pattern in "${@:-none}"; do
		while read -r name _; do
			matches "$name" "$pattern" && continue 2
		done < "$work/$kernel"
		empty="$empty $pattern"
	done
	echo "# empty:${empty:- none}"
	[ -z "$empty" ]
}

debug_tests='' rest_tests='' fast_tests=''
eval "$(sed -n '/^debug_tests="/,/glibc"$/p' "$top/quickstart")"
# shellcheck disable=SC2086
of_tests debug $debug_tests $rest_tests
result $? "each pattern of what check runs on the debug kernel is of a test"
# shellcheck disable=SC2086
of_tests fast $fast_tests
result $? "each pattern of what check runs on the fast kernel is of a test"
# shellcheck disable=SC2086
left=$(while read -r name _; do
	matches "$name" $debug_tests $rest_tests || echo "$name"
done < "$work/debug" | xargs)
echo "# left out: $left"
[ "$left" = "codectl_test.sh codectl_wait_test.sh" ]
result $? "check leaves out two tests of the debug kernel"
finish
