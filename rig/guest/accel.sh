# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Chooses whether QEMU uses KVM, for scripts that source this and define die.

# kvm_works KERNEL - does KVM run it?  Not every /dev/kvm that can be opened does.
kvm_works()
{
	local said

	said=$(timeout -s KILL 20 qemu-system-x86_64 -accel kvm -cpu host -m 512M \
		-nodefaults -no-user-config -display none -serial stdio -kernel "$1" \
		-append "console=ttyS0 panic=-1" -no-reboot < /dev/null 2> /dev/null | tr -d '\0')
	[[ $said == *"Linux version"* ]]
}

# choose_accel KERNEL FILE - sets accel to kvm or tcg: as CODECTL_ACCEL says, or by whether
# KVM works, which FILE remembers until the host boots again
choose_accel()
{
	local boot known=''

	accel=${CODECTL_ACCEL:-}
	case $accel in
	kvm | tcg) return ;;
	'') accel=tcg ;;
	*) die "CODECTL_ACCEL is neither kvm nor tcg: $accel" ;;
	esac
	[ -e /dev/kvm ] || return 0
	if [ ! -w /dev/kvm ]; then
		echo "you may not write to /dev/kvm: $emulated" >&2
		return
	fi
	boot=$(cat /proc/sys/kernel/random/boot_id)
	[ ! -r "$2" ] || known=$(cat "$2")
	case $known in
	"$boot kvm" | "$boot tcg") accel=${known#* } ;;
	*)
		! kvm_works "$1" || accel=kvm
		{ echo "$boot $accel" > "$2"; } 2> /dev/null || :
		;;
	esac
	[ "$accel" = kvm ] || echo "/dev/kvm does not boot the kernel: $emulated" >&2
}

emulated="QEMU emulates the machine"

# say_accel - begins a log with what was_emulated looks for
say_accel()
{
	case $accel in
	kvm) echo "KVM runs the machine" ;;
	tcg) echo "$emulated" ;;
	esac
}

# was_emulated LOG
was_emulated()
{
	grep -q -a -x "$emulated" "$1"
}
