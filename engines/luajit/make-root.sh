#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR PACKAGES
#
# Makes DIR/root for ../ways.sh: Debian 13 with its LuaJIT, and LuaJIT built in DIR/build from
# the same source with the libcodectl in PACKAGES: /opt/luajit/patched with the patches,
# /opt/luajit/plain without them. Files of Debian that exist are not made again. Needs root.

set -eu -o pipefail
# shellcheck source=../roots.sh
. "$(dirname "$0")/../roots.sh"

# build NAME [VARIABLE=VALUE]... - with PATCHES from the environment
build()
{
	local name=$1

	shift
	mkdir -p "$dir/build/engine" "$dir/root/opt/luajit"
	cp -r "$here/build.sh" "$here/patches" "$dir/build/engine"
	# shellcheck disable=SC2016
	in_build sh -c 'exec /engine/build.sh /sources/luajit_*.orig.tar.xz "$@"' sh "/$name" "$@"
	cp "$dir/build/$name/src/luajit" "$dir/root/opt/luajit/$name"
}

make_build luajit/trixie "gcc libc6-dev make pkgconf patch xz-utils"
make_tree root trixie luajit
build patched USE_CODECTL=y
PATCHES='' build plain
