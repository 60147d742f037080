#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Boots the guest and runs one command in it. The verdict file starts as "killed": success requires
# that the guest itself writes to it.

set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=accel.sh
. "$here/accel.sh"

usage()
{
	cat <<-END
	usage: guest.sh --images DIR [OPTION]... -- COMMAND [ARG...]
	       guest.sh --images DIR [OPTION]... --shell

	  --kernel KERNEL           fast, debug, coverage or stock (default: fast)
	  --append KERNELARGS       add to the kernel's command line
	  --add HOSTPATH[:GUESTPATH]  a file or directory for the guest;
	                            GUESTPATH defaults to the absolute HOSTPATH
	  --out DIR                 bring the guest's /out back into DIR
	  --icount                  one CPU, whose clock counts an instruction a ns
	  --plugin FILE[,ARG...]    a plugin of QEMU
	  --in-turn                 two CPUs that take turns
	                            (QEMU emulates the guest for each of these three)
	  --timeout SECONDS         give up after that time (default: 600)
	  --log FILE                keep the kernel's log there

	CODECTL_ACCEL=kvm|tcg says whether KVM runs the guest or QEMU emulates it
	(default: kvm if /dev/kvm runs the kernel, otherwise tcg).

	Exit status: the command's; 124 on timeout; 125 if the guest itself failed
	or its kernel log holds a splat.
	END
	exit 125
}

die()
{
	echo "guest: $*" >&2
	exit 125
}

images='' kernel=fast append='' out='' seconds=600 log='' shell=no icount=no threads=multi plugin=''
adds=() job=()

parse_options()
{
	while [ $# -gt 0 ]; do
		case $1 in
		--shell) shell=yes; shift; continue ;;
		--icount) icount=yes; shift; continue ;;
		--in-turn) threads=single; shift; continue ;;
		--) shift; job=("$@"); return ;;
		--help) usage ;;
		--*) [ $# -ge 2 ] || usage ;;
		*) job=("$@"); return ;;
		esac
		case $1 in
		--images) images=$2 ;;
		--kernel) kernel=$2 ;;
		--append) append=$2 ;;
		--add) adds+=("$2") ;;
		--out) out=$2 ;;
		--timeout) seconds=$2 ;;
		--log) log=$2 ;;
		--plugin) plugin=$2 ;;
		*) usage ;;
		esac
		shift 2
	done
}

check_options()
{
	[ -n "$images" ] || usage
	case $kernel in
	fast | stock | coverage) memory=2G ;;
	debug) memory=3G ;;
	*) die "no such kernel: $kernel (fast, debug, coverage or stock)" ;;
	esac
	case $seconds in
	'' | *[!0-9]*) die "not a number of seconds: $seconds" ;;
	esac
	[ "$shell" = yes ] || [ ${#job[@]} -gt 0 ] || usage
	if [ ! -e "$images/bzImage-$kernel" ] || [ ! -e "$images/root.squashfs" ]; then
		die "no $kernel guest in $images: 'make guest', 'make guest-debug', 'make kernel-stock'" \
		    "or 'make coverage' builds it"
	fi
}

quote()
{
	local arg

	for arg; do
		printf "'%s' " "${arg//\'/\'\\\'\'}"
	done
}

# The second disk: the command, and the files to put over the root.
make_job()
{
	local add from to

	mkdir -p "$work/job/files"
	for add in "${adds[@]}"; do
		from=${add%%:*}
		[ -e "$from" ] || die "no such file to add: $from"
		case $add in
		*:*) to=${add#*:} ;;
		*) to=$(realpath -s "$from") ;;
		esac
		case $to in
		*/) to=$to$(basename "$from") ;;
		esac
		mkdir -p "$work/job/files/$(dirname "$to")"
		if [ -d "$from" ]; then
			mkdir -p "$work/job/files/$to"
			cp -a "$from/." "$work/job/files/$to/" || die "cannot add $from"
		else
			cp -aL "$from" "$work/job/files/$to" || die "cannot add $from"
		fi
	done
	if [ "$shell" = yes ]; then
		stty size > "$work/job/size" 2>/dev/null || echo > "$work/job/size"
	fi
	{
		echo "cd $(quote "$PWD")2>/dev/null || cd /root"
		echo "exec $(quote "${job[@]}")"
	} > "$work/job/command"
	mksquashfs "$work/job" "$work/job.squashfs" -comp lz4 -all-root -noappend \
		-no-progress -quiet > "$work/mksquashfs.log" 2>&1 ||
		die "mksquashfs failed: $(cat "$work/mksquashfs.log")"
}

port()
{
	machine+=(-chardev "file,id=$1,path=$work/$1,append=on")
	machine+=(-device "virtserialport,chardev=$1,name=$1")
}

# Sets accel; only an emulator counts instructions, has plugins and takes turns.
choose()
{
	if [ "$icount" = yes ] || [ -n "$plugin" ] || [ "$threads" != multi ]; then
		accel=tcg
	else
		choose_accel "$images/bzImage-$kernel" "$images/kvm-works"
	fi
}

describe_machine()
{
	local args="console=ttyS0 root=/dev/vda ro init=/sbin/init panic=-1"
	local by khz

	choose
	khz=$("$images/tsc-khz") || die "no tsc-khz in $images"
	if [ "$icount" = yes ]; then
		by=(-accel "tcg,thread=single" -icount "shift=0,sleep=off" -smp 1 -cpu max)
		khz=1000000
	elif [ "$accel" = tcg ]; then
		by=(-accel "tcg,thread=$threads" -smp 2 -cpu max)
	else
		# Without counters, like an emulated CPU: perf takes the same events.
		by=(-accel kvm -smp 2 -cpu "host,pmu=off")
	fi
	args+=" tsc_early_khz=$khz"
	args+=" panic_on_warn=1 log_buf_len=4M random.trust_cpu=on printk.time=1"
	# While Linux identifies the boot CPU, it clears the CPU's features; with five levels of
	# page tables, KASAN then takes valid reads in an interrupt for wild ones.
	[ "$kernel" != debug ] || args+=" rcupdate.rcu_cpu_stall_timeout=300 no5lvl"
	# shellcheck disable=SC2054
	machine=(
		qemu-system-x86_64 "${by[@]}"
		-m "$memory" -M q35 -nodefaults -no-user-config -display none
		-no-reboot -kernel "$images/bzImage-$kernel"
		-append "$args $append"
		-chardev "file,id=console,path=$work/console"
		-serial chardev:console
		-drive "file=$images/root.squashfs,format=raw,if=none,id=root,readonly=on"
		-device virtio-blk-pci,drive=root
		-drive "file=$work/job.squashfs,format=raw,if=none,id=job,readonly=on"
		-device virtio-blk-pci,drive=job
		-device virtio-rng-pci
		-device virtio-serial-pci
	)
	[ -z "$plugin" ] || machine+=(-plugin "$plugin")
	port verdict
	if [ "$shell" = yes ]; then
		machine+=(-chardev "stdio,id=tty,signal=off,mux=on")
		machine+=(-device "virtconsole,chardev=tty")
	else
		mkfifo "$work/stdout" "$work/stderr"
		port stdout
		port stderr
		port out
	fi
}

boot()
{
	echo killed > "$work/verdict"
	: > "$work/console"
	if [ "$shell" = yes ]; then
		"${machine[@]}"
		return
	fi
	# Opened here, so that neither side waits forever if the machine ends at once.
	exec 3<> "$work/stdout" 4<> "$work/stderr"
	exec 5< "$work/stdout" 6< "$work/stderr"
	cat <&5 3>&- 4>&- 6<&- &
	cat <&6 >&2 3>&- 4>&- 5<&- &
	timeout --foreground -k 5 "$seconds" "${machine[@]}" < /dev/null \
		> "$work/qemu.log" 2>&1 5<&- 6<&- &
	machine_pid=$!
	exec 3>&- 4>&- 5<&- 6<&-
	trap 'kill $machine_pid 2>/dev/null; exit 125' INT TERM HUP
	wait $machine_pid
	status=$?
	wait
}

# Returns the exit status of this script.
judge()
{
	local verdict

	"$here/check-dmesg.sh" "$work/console" >&2 || return 125
	verdict=$(tail -n 1 "$work/verdict")
	case $verdict in
	"exit "*[0-9]) return "${verdict#exit }" ;;
	esac
	if [ "$status" = 124 ] || [ "$status" = 137 ]; then
		echo "guest: no end within $seconds seconds" >&2
		return 124
	fi
	cat "$work/qemu.log" >&2
	echo "guest: it ended without a verdict; its last words:" >&2
	tail -n 20 "$work/console" >&2
	return 125
}

bring_back()
{
	[ -n "$out" ] && [ -s "$work/out" ] || return 0
	mkdir -p "$out" || die "cannot make $out"
	tar -x --no-same-owner -C "$out" -f "$work/out" ||
		die "cannot unpack the guest's /out into $out"
}

parse_options "$@"
check_options
work=$(mktemp -d "${TMPDIR:-/tmp}/codectl-guest.XXXXXX") || die "no temporary directory"
trap 'rm -rf "$work"' EXIT
status=0
make_job
describe_machine
boot
bring_back
judge
verdict=$?
{ say_accel; cat "$work/console"; } > "${log:-$images/console-$kernel.log}"
exit $verdict
