#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: boot.sh DIR [--memory SIZE] [--timeout SECONDS] [--cpus N] --job TAR --result FILE
#        boot.sh DIR [--memory SIZE] [--cpus N] --shell
#
# Boots the machine in DIR under QEMU, with KVM if that boots its kernel or CODECTL_ACCEL
# says so, and with two CPUs unless told otherwise. Changes to its disk are discarded. With
# --job, the machine runs the program in the archive TAR as root, which writes its results
# to the disk FILE; with --shell it gives a console.

set -eu -o pipefail

# shellcheck source=../rig/guest/accel.sh
. "$(dirname "$0")/../rig/guest/accel.sh"

die()
{
	echo "boot: $*" >&2
	exit 1
}

usage()
{
	die "usage: boot.sh DIR [--memory SIZE] [--timeout SECONDS] [--cpus N] {--shell | --job TAR --result FILE}"
}

[ $# -ge 2 ] || usage
dir=$1 memory=4G seconds=14400 shell=no cpus=2 job='' result=''
shift
while [ $# -gt 0 ]; do
	case $1 in
	--shell) shell=yes; shift; continue ;;
	--memory | --timeout | --cpus | --job | --result) [ $# -ge 2 ] || usage ;;
	*) usage ;;
	esac
	case $1 in
	--memory) memory=$2 ;;
	--timeout) seconds=$2 ;;
	--cpus) cpus=$2 ;;
	--job) job=$2 ;;
	--result) result=$2 ;;
	esac
	shift 2
done
[ "$shell" = yes ] || { [ -n "$job" ] && [ -n "$result" ]; } || usage
for file in root.ext4 vmlinuz initrd; do
	[ -e "$dir/$file" ] || die "there is no $file in $dir: make-image.sh makes it"
done

disk()
{
	machine+=(-drive "if=none,id=$1,format=raw,file=$2,${3:-snapshot=off}")
	machine+=(-device "virtio-blk-pci,drive=$1,serial=$1")
}

choose_accel "$dir/vmlinuz" "$dir/kvm-works"
say_accel >&2
case $accel in
kvm) by=(-accel kvm -cpu host) ;;
tcg) by=(-accel "tcg,thread=multi" -cpu max) ;;
esac
machine=(qemu-system-x86_64 "${by[@]}" -m "$memory" -smp "$cpus" -no-reboot -nodefaults
	-display none -device virtio-rng-pci
	-kernel "$dir/vmlinuz" -initrd "$dir/initrd")
# An emulated timer may be late on a busy host.
args="root=/dev/vda rw console=ttyS0 panic=-1 no_timer_check"
disk root "$dir/root.ext4" snapshot=on

if [ "$shell" = yes ]; then
	exec "${machine[@]}" -serial mon:stdio -nic user,model=virtio-net-pci -append "$args"
fi
disk job "$job" readonly=on
disk result "$result"
timeout "$seconds" "${machine[@]}" -serial stdio -nic none \
	-append "$args panic_on_oops=1 systemd.show_status=0 systemd.mask=serial-getty@ttyS0.service" < /dev/null ||
	die "the machine failed, or was not done in $seconds seconds"
