#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-image.sh RELEASE DIR MIRROR [LINUX-IMAGE.deb]
#
# Makes a machine of Debian RELEASE in DIR: root/ with all its files, vmlinuz and initrd, and
# root.ext4. Its kernel is that of the package, or the newest one in the release and its
# backports. The packages in MACHINE_PACKAGES of the environment are installed as well. Needs
# root.

set -eu -o pipefail

die()
{
	echo "make-image: $*" >&2
	exit 1
}

if [ $# -lt 3 ] || [ $# -gt 4 ]; then
	die "usage: make-image.sh RELEASE DIR MIRROR [LINUX-IMAGE.deb]"
fi
release=$1 dir=$2 mirror=$3 kernel=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || die "making the machine takes root, for the owners of its files"
mkdir -p "$dir"
dir=$(realpath "$dir")

# The base system, the profiled programs, and the profilers, all from the release.
system="systemd-sysv udev dbus kmod mount initramfs-tools zstd xz-utils iproute2 procps
	openssh-server openssh-client libjansson4 libtracefs1"
profiled="bash perl python3 gawk sqlite3 postgresql nginx nodejs git g++ ripgrep golang-go
	musl-tools apache2-utils"
profilers="bpftrace bpfcc-tools trace-cmd"
size=6G

# The sources of a release with backports, or of one that is not released yet.
write_sources()
{
	echo "deb $mirror $release main"
	case $release in
	bookworm | trixie) echo "deb $mirror $release-backports main" ;;
	esac
}

# The newest one: only recent kernels have deferred stacks.
newest()
{
	case $release in
	bookworm | trixie) echo "$1/$release-backports" ;;
	*) echo "$1" ;;
	esac
}

# A frozen mirror has expired Release files.
make_base()
{
	local include

	# shellcheck disable=SC2086
	include=$(printf '%s,' $system $profiled $profilers ${MACHINE_PACKAGES:-}; newest linux-perf)
	[ -n "$kernel" ] ||
		include+=,$(newest linux-image-amd64),$(newest linux-headers-amd64)
	write_sources > "$dir/sources.list"
	if [ -e "$dir/base.tar" ] && [ "$(cat "$dir/base.is" 2> /dev/null)" = "$mirror $include" ]; then
		return
	fi
	rm -f "$dir/root.is"
	mmdebstrap --mode=root --variant=apt --include="$include" \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Install-Recommends "false"' \
		"$release" "$dir/base.new.tar" - < "$dir/sources.list"
	mv "$dir/base.new.tar" "$dir/base.tar"
	echo "$mirror $include" > "$dir/base.is"
}

# inside COMMAND... - runs it in the root directory of the machine, with the file systems that
# maintainer scripts need
inside()
{
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child sh -eu -c '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount -t tmpfs tmpfs "$root/run"
		mount --bind /dev "$root/dev"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"' sh "$dir/root" "$@"
}

# Programs that are not in packages: Go, a static one with musl, C++ with threads.
build_programs()
{
	local to=$dir/root/opt/programs

	mkdir -p "$to"
	cp "$here"/programs/* "$to"
	inside g++ -O2 -fomit-frame-pointer -pthread -o /opt/programs/threads /opt/programs/threads.cc
	inside musl-gcc -static -O2 -o /opt/programs/musl /opt/programs/musl.c
	inside env GOCACHE=/tmp/go GOFLAGS=-buildvcs=false CGO_ENABLED=0 \
		go build -o /opt/programs/spin /opt/programs/spin.go
	rm -rf "$to"/*.* "$dir/root/tmp/go"
}

set_up_system()
{
	local root=$dir/root

	echo codectl > "$root/etc/hostname"
	printf '127.0.0.1\tlocalhost codectl\n' > "$root/etc/hosts"
	echo '/dev/vda / ext4 defaults 0 1' > "$root/etc/fstab"
	mkdir -p "$root/etc/systemd/system/serial-getty@ttyS0.service.d" "$root/var/log/journal"
	cat > "$root/etc/systemd/system/serial-getty@ttyS0.service.d/login.conf" <<-'END'
		[Service]
		ExecStart=
		ExecStart=-/sbin/agetty --autologin root --keep-baud 115200 - $TERM
	END
	cat > "$root/etc/systemd/network/80-dhcp.network" <<-'END'
		[Match]
		Name=en* eth*
		[Network]
		DHCP=yes
	END
	inside passwd -q -d root
	inside systemctl -q enable systemd-networkd
	# A job has no network.
	inside systemctl -q disable systemd-networkd-wait-online
	cp "$here/root/codectl-machine.service" "$root/etc/systemd/system"
	inside systemctl -q enable codectl-machine
	# A new key, to log in to the machine from itself.
	inside ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
	cp "$root/root/.ssh/id_ed25519.pub" "$root/root/.ssh/authorized_keys"
	sed 's/^/localhost /' "$root/etc/ssh/ssh_host_ed25519_key.pub" > "$root/root/.ssh/known_hosts"
}

# Installed by dpkg, whose scripts make the initrd.
install_kernel()
{
	[ -n "$kernel" ] || return 0
	cp "$kernel" "$dir/root/tmp/kernel.deb"
	inside dpkg -i /tmp/kernel.deb
	rm "$dir/root/tmp/kernel.deb"
}

make_root()
{
	rm -rf "$dir/root" "$dir/root.is"
	mkdir "$dir/root"
	tar -x --numeric-owner -f "$dir/base.tar" -C "$dir/root"
	set_up_system
	build_programs
	install_kernel
	cp "$(find "$dir/root/boot" -name 'vmlinuz-*')" "$dir/vmlinuz"
	cp "$(find "$dir/root/boot" -name 'initrd.img-*')" "$dir/initrd"
	rm -f "$dir/root.ext4.new"
	truncate -s $size "$dir/root.ext4.new"
	/sbin/mkfs.ext4 -q -F -d "$dir/root" "$dir/root.ext4.new"
	mv "$dir/root.ext4.new" "$dir/root.ext4"
}

make_base
wanted=$(cat "$dir/base.is" "$0" "$here"/programs/* "$here"/root/* ${kernel:+"$kernel"} | sha256sum)
if [ ! -e "$dir/root.ext4" ] || [ "$wanted" != "$(cat "$dir/root.is" 2> /dev/null)" ]; then
	make_root
	echo "$wanted" > "$dir/root.is"
fi
