#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR PACKAGES
#
# Makes DIR/root for ../ways.sh: Debian 13 with its LuaJIT; and, built in DIR/build with the
# libcodectl in PACKAGES, the same with the patches, as /opt/luajit/patched, and without them,
# as /opt/luajit/plain. What is there already of Debian's files is not made anew. It
# needs root.

set -eu -o pipefail
# shellcheck source=../roots.sh
. "$(dirname "$0")/../roots.sh"

# build NAME [VARIABLE=VALUE]... - with PATCHES of the environment
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
