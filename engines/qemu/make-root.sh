#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR PACKAGES
#
# Makes DIR/root for ../guest.sh: Debian 13 with sqlite3 and Debian 12's qemu-user, the last one
# that is not linked statically, and Debian 13's QEMU, built in DIR/build with the libcodectl
# in PACKAGES: /opt/qemu/patched with the patch, /opt/qemu/plain without it. Files of Debian
# that exist are not made again. Needs root.

set -eu -o pipefail
# shellcheck source=../roots.sh
. "$(dirname "$0")/../roots.sh"

# build NAME [OPTION]... - with PATCHES from the environment
build()
{
	local name=$1

	shift
	mkdir -p "$dir/build/engine"
	cp -r "$here/build.sh" "$here/patches" "$dir/build/engine"
	# shellcheck disable=SC2016
	in_build sh -c 'exec /engine/build.sh /sources/qemu_*.orig.tar.xz "$@"' sh "/$name" \
		--cc="ccache gcc" "$@"
	mkdir -p "$dir/root/opt/qemu"
	cp "$dir/build/$name/build/qemu-x86_64" "$dir/root/opt/qemu/$name"
}

make_build qemu/trixie "gcc libc6-dev ccache make meson ninja-build pkgconf libglib2.0-dev zlib1g-dev python3-pycotap patch xz-utils"
make_tree root "trixie bookworm" "sqlite3 qemu-user/bookworm"
build patched --enable-codectl
PATCHES='' build plain
