#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR PACKAGES
#
# Makes DIR/root for ../guest.sh: Debian 13 with sqlite3 and Debian 12's qemu-user, the last
# that is not linked statically; and, built in DIR/build with the libcodectl in PACKAGES,
# Debian 13's QEMU with the patch, as /opt/qemu/patched, and without it, as /opt/qemu/plain.
# What is there already of Debian's files is not made anew. It needs root.

set -eu -o pipefail

die()
{
	echo "make-root: $*" >&2
	exit 1
}

[ $# = 3 ] || die "usage: make-root.sh DIR MIRROR PACKAGES"
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(realpath "$1") mirror=$2 packages=$(realpath "$3")
needed="gcc ccache make meson ninja-build pkgconf libglib2.0-dev zlib1g-dev python3-pycotap patch xz-utils"

# make_tree NAME PACKAGES [OPTION]... - of both releases; a mirror that stands still has
# Release files that have expired
make_tree()
{
	local name=$1 include=${2// /,}

	shift 2
	[ ! -e "$dir/$name" ] || return 0
	rm -rf "${dir:?}/$name.new"
	printf '%s\n' "deb $mirror trixie main" "deb-src $mirror trixie main" \
		"deb $mirror bookworm main" |
		mmdebstrap --mode=root --variant=minbase --include="$include" \
			--aptopt='Acquire::Check-Valid-Until "false"' \
			--aptopt='APT::Install-Recommends "false"' "$@" trixie "$dir/$name.new" -
	mv "$dir/$name.new" "$dir/$name"
}

# The tarball comes with it.
make_build()
{
	local deb

	# shellcheck disable=SC2016
	make_tree build "$needed" --customize-hook='mkdir "$1/sources" && cd "$1/sources" &&
		APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -q source --download-only qemu/trixie'
	for deb in "$packages"/libcodectl{0,-dev}_*.deb; do
		dpkg-deb -x "$deb" "$dir/build"
	done
}

# build NAME [OPTION]... - with PATCHES of the environment
build()
{
	local name=$1

	shift
	mkdir -p "$dir/build/engine"
	cp -r "$here/build.sh" "$here/patches" "$dir/build/engine"
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child chroot "$dir/build" env -i \
		PATH=/usr/bin:/usr/sbin HOME=/root LC_ALL=C.UTF-8 ${PATCHES+PATCHES="$PATCHES"} sh -euc '
		mount -t proc proc /proc
		name=$1
		shift
		exec /engine/build.sh /sources/qemu_*.orig.tar.xz "/$name" --cc="ccache gcc" "$@"
		' sh "$name" "$@"
	mkdir -p "$dir/root/opt/qemu"
	cp "$dir/build/$name/build/qemu-x86_64" "$dir/root/opt/qemu/$name"
}

make_build
make_tree root "sqlite3 qemu-user/bookworm" \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*'
build patched --enable-codectl
PATCHES='' build plain
