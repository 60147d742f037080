#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests how guest.sh and boot.sh choose what QEMU runs a kernel with: KVM where it works; which
# options they give it, and what they say. QEMU is a stand-in, and so is /dev/kvm. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"

mkdir -p "$work/top/rig" "$work/top/machine" "$work/bin" "$work/images" "$work/debian"
cp -R "$here" "$work/top/rig"
cp "$here/../../machine/boot.sh" "$work/top/machine"
sed -i "s,/dev/kvm,$work/kvm,g" "$work/top/rig/guest/accel.sh"
touch "$work/images/"{bzImage-fast,root.squashfs} "$work/debian/"{root.ext4,vmlinuz,initrd}
printf '#!/bin/sh\necho 2500000\n' > "$work/images/tsc-khz"
printf '#!/bin/sh\n' > "$work/bin/mksquashfs"
# With 512M, QEMU is asked whether KVM runs a kernel; other guests end well.
cat > "$work/bin/qemu-system-x86_64" <<'END'
#!/bin/bash
case "$*" in
*"-m 512M"*)
	echo >> "$PAPER/asked"
	[ ! -e "$PAPER/works" ] || printf 'Linux version\0 7.3.4\n'
	exit 1
	;;
esac
echo "$*" > "$PAPER/options"
for option; do
	case $option in
	file,id=console,*) echo 'Linux version 7.3.4' >> "${option##*path=}" ;;
	file,id=verdict,*) file=${option##*path=}; echo 'exit 7' >> "${file%%,*}" ;;
	esac
done
END
chmod +x "$work/images/tsc-khz" "$work/bin/"*
export PATH=$work/bin:$PATH PAPER=$work
unset CODECTL_ACCEL

# run_guest [OPTION]...
run_guest()
{
	rm -f "$work/options" "$work/asked"
	"$work/top/rig/guest/guest.sh" --images "$work/images" "$@" -- true > "$work/said" 2>&1
	status=$?
}

run_machine()
{
	rm -f "$work/options" "$work/asked"
	"$work/top/machine/boot.sh" "$work/debian" --job job --result result \
		> "$work/said" 2>&1
	status=$?
}

asked()
{
	[ -e "$work/asked" ] || : > "$work/asked"
	wc -l < "$work/asked"
}

# expect NAME STATUS ASKED OPTIONS - how often KVM was asked for a kernel
expect()
{
	sed 's/^/# /' "$work/said"
	[ "$status $(asked)" = "$2 $3" ] && grep -q -e "$4" "$work/options"
	result $? "$1"
}

# says NAME LINE... - and nothing else
says()
{
	[ "$(cat "$work/said")" = "$(printf '%s\n' "${@:2}")" ]
	result $? "... $1"
}

emulated='-accel tcg,thread=multi -smp 2 -cpu max'
in_turn='-accel tcg,thread=single -smp 2 -cpu max'
counted='-accel tcg,thread=single -icount shift=0,sleep=off -smp 1 -cpu max'
native='-accel kvm -smp 2 -cpu host,pmu=off'
useless="$work/kvm does not boot the kernel: QEMU emulates the machine"

run_guest
expect "no /dev/kvm" 7 0 "$emulated"
[ ! -s "$work/said" ] && [ "$(head -n 1 "$work/images/console-fast.log")" = "QEMU emulates the machine" ]
result $? "... which the log alone tells of"
grep -q 'tsc_early_khz=2500000 ' "$work/options"
result $? "... and the guest knows its counter's frequency"
CODECTL_ACCEL=kvm run_guest
expect "... KVM in spite of that" 7 0 "$native"

touch "$work/kvm"
run_guest
expect "a /dev/kvm that runs no kernel" 7 1 "$emulated"
says "is told of" "$useless"
run_guest
expect "... is asked once" 7 0 "$emulated"
says "and told of again" "$useless"
CODECTL_ACCEL=tcg run_guest
expect "... or not at all" 7 0 "$emulated"
says "without a word"

touch "$work/works"
sed -i 's/^/x/' "$work/images/kvm-works"
run_guest
expect "a /dev/kvm that does, since the host was booted" 7 1 "$native"
says "without a word"
[ "$(head -n 1 "$work/images/console-fast.log")" = "KVM runs the machine" ] &&
	grep -q 'tsc_early_khz=2500000 ' "$work/options"
result $? "... which the log tells of"
run_guest
expect "... is asked once" 7 0 "$native"
CODECTL_ACCEL=tcg run_guest
expect "... and not used if told so" 7 0 "$emulated"
for CODECTL_ACCEL in '' kvm; do
	export CODECTL_ACCEL
	with=${CODECTL_ACCEL:+, though KVM is asked for}
	run_guest --icount
	expect "instructions are counted by QEMU$with" 7 0 "$counted"
	grep -q 'tsc_early_khz=1000000 ' "$work/options"
	result $? "... at one a ns"
	run_guest --in-turn
	expect "CPUs take turns by QEMU$with" 7 0 "$in_turn"
	run_guest --plugin x.so
	expect "plugins are QEMU's$with" 7 0 "$emulated"
done
rm "$work/options"
CODECTL_ACCEL=xen run_guest
[ $status = 125 ] && [ ! -e "$work/options" ]
result $? "something else"
says "is refused" "guest: CODECTL_ACCEL is neither kvm nor tcg: xen"
unset CODECTL_ACCEL

run_machine
expect "a Debian machine by KVM" 0 1 '-accel kvm -cpu host -m 4G'
says "which is said" "KVM runs the machine"
rm "$work/works" "$work/debian/kvm-works"
run_machine
expect "... by QEMU" 0 1 '-accel tcg,thread=multi -cpu max -m 4G'
says "which is said, and why" "$useless" "QEMU emulates the machine"

# No user but root may write to /etc/passwd.
ask_as_user()
{
	local user=()

	[ "$(id -u)" != 0 ] || user=(setpriv --reuid=65534 --clear-groups)
	{
		sed 's,/dev/kvm,/etc/passwd,g' "$here/accel.sh"
		echo "choose_accel kernel '$work/asked'; say_accel"
	} | "${user[@]}" bash -u -s > "$work/said" 2>&1
}

ask_as_user
result $? "a /dev/kvm that is not for this user"
says "is told of" "you may not write to /etc/passwd: QEMU emulates the machine" "QEMU emulates the machine"
finish
