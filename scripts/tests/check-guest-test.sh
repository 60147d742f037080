#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that check-guest.sh continues after one kind of oops only, and only once, and reports it.
# The guest is a stand-in: its first boot leaves the console and the results of a test case, the
# second boot those of a clean run. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

mkdir -p "$work/top/scripts/check" "$work/top/rig" "$work/bin"
cp "$here/../check/check-guest.sh" "$here/../check/tap-summary.awk" "$work/top/scripts/check"
cp -R "$here/../../rig/guest" "$work/top/rig"
cat > "$work/top/rig/guest/guest.sh" <<'END'
#!/bin/bash
in_turn=no
while [ "$1" != -- ]; do
	[ "$1" != --log ] || log=$2
	[ "$1" != --in-turn ] || in_turn=yes
	shift
done
echo "$in_turn" >> "$GUEST/boots"
{ printf '%s\n' "$RUNS" "[    0.000000] Linux version 7.3.4"; [ $in_turn = yes ] || cat "$GUEST/splat"; } > "$log"
if [ $in_turn = no ] && [ -s "$GUEST/splat" ]; then
	printf '%s\n' '# plan a b' '# begin a' 'ok 1 x' '1..1' '# end a 0' '# begin b' 'ok 1 y'
	exit 125
fi
printf '%s\n' '# plan b' '# begin b' 'ok 1 y' 'ok 2 z' '1..2' '# end b 0'
END
cat > "$work/bin/qemu-system-x86_64" <<'END'
#!/bin/sh
echo "QEMU emulator version $QEMU_VERSION (Debian 1:$QEMU_VERSION+dfsg-7)"
END
printf '#!/bin/sh\necho a /a\necho b /b\n' > "$work/top/rig/guest/list-tests.sh"
chmod +x "$work/top/rig/guest/guest.sh" "$work/bin/qemu-system-x86_64"
export PATH=$work/bin:$PATH GUEST=$work QEMU_VERSION=7.2.22 RUNS="QEMU emulates the machine"

# oops KIND CODE - prints the kernel's messages for it
oops()
{
	printf '[   61.2] %s\r\n' "Oops: $1: 0000 [#1] SMP NOPTI" \
		'CPU: 1 UID: 0 PID: 99 Comm: trace_race_test Not tainted 7.3.4 #1' \
		'RIP: 0010:do_futex+0x5b/0x180' "Code: $2" 'Call Trace:' ' <TASK>'
}

# boot [RESULT] - with the splat on standard input
boot()
{
	cat > "$work/splat"
	rm -f "$work/boots"
	mkdir -p "$work/results"
	"$work/top/scripts/check/check-guest.sh" "$work" fast '' "${1:-guest-fast}" > "$work/said" 2>&1
	status=$?
	boots=$(wc -l < "$work/boots")
	echo "# status $status, $boots boots: $(tail -n 1 "$work/said")"
}

# expect NAME STATUS BOOTS SAID
expect()
{
	[ "$status $boots" = "$2 $3" ] && grep -q -e "$4" "$work/said"
	result $? "$1"
}

gone='48 89 e5 0f 1f 44 00 <00> 48 8b 45'
still='48 89 e5 cc 1f cc <44> 00 00 48'

boot < /dev/null
expect "a clean boot" 0 1 '2 passed, 0 failed'
[ ! -e "$work/results/retried" ]
result $? "... tells of no retry"

boot < <(oops int3 "$gone")
expect "a breakpoint that is gone" 0 2 '3 passed, 0 failed'
grep -q "guest-fast: .*console-fast.log.erred" "$work/results/retried"
result $? "... is told of"
grep -q 'Oops: int3' "$work/results/console-fast.log.erred" &&
	grep -q 'Linux version' "$work/results/console-fast.log"
result $? "... and both consoles are kept"
[ "$(cat "$work/boots")" = $'no\nyes' ]
result $? "... and the second boot's CPUs take turns"
boot guest-debug < <(oops int3 "$gone")
expect "a second one fails" 1 1 'erred twice'

rm -rf "$work/results"
boot < <(oops int3 "$still")
expect "a breakpoint that is there" 1 1 failed
boot < <(oops int3 "$gone" | grep -v Code)
expect "nobody knows what was there" 1 1 failed
boot < <(oops page_fault "$gone")
expect "an oops of another kind" 1 1 failed
boot < <(oops page_fault "$gone"; oops int3 "$gone")
expect "an oops of another kind before it" 1 1 failed
boot < <(echo '[  60.0] WARNING: kernel/codectl.c:1 at x'; oops int3 "$gone")
expect "a warning before it" 1 1 failed
RUNS="KVM runs the machine"
boot < <(oops int3 "$gone")
expect "no QEMU that emulates" 1 1 failed
RUNS="QEMU emulates the machine" QEMU_VERSION=8.1.0
boot < <(oops int3 "$gone")
expect "a QEMU that does not err so" 1 1 failed
[ ! -e "$work/results/retried" ]
result $? "none of these is told of as a retry"
QEMU_VERSION=8.0.5
boot < <(oops int3 "$gone")
expect "the last one that does" 0 2 '3 passed, 0 failed'
finish
