#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build.sh SOURCE DIR [VARIABLE=VALUE...]
#
# Builds LuaJIT in DIR, which is emptied first, from SOURCE, the upstream tarball of Debian
# 13's package, with the patches in the directory of this script. The variables are for make.
# Machine code is registered only with USE_CODECTL=y; then pkg-config has to find libcodectl.
# With PATCHES= in the environment, LuaJIT is built without the patches.

set -eu -o pipefail

die()
{
	echo "build: $*" >&2
	exit 1
}

[ $# -ge 2 ] || die "usage: build.sh SOURCE DIR [VARIABLE=VALUE...]"
here=$(cd "$(dirname "$0")" && pwd)
source=$1 dir=$2
shift 2

rm -rf "$dir"
mkdir -p "$dir"
tar -x --strip-components=1 -C "$dir" -f "$source"
for file in ${PATCHES-"$here"/patches/*.patch}; do
	patch -s -d "$dir" -p1 < "$file" || die "$file does not apply to $source"
done
# As in Debian, without the shared library.
make -s -C "$dir/src" BUILDMODE=static PREFIX=/usr XCFLAGS=-DLUAJIT_ENABLE_LUA52COMPAT E=@: "$@" > "$dir/log" 2>&1 ||
	die "see $dir/log: $(grep -m 1 -i error "$dir/log")"
