#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build.sh SOURCE DIR [OPTION...]
#
# Builds qemu-x86_64 in DIR, which is emptied first, from SOURCE, the upstream tarball of
# Debian 13's package, with the patch in the directory of this script. The options are for
# QEMU's configure: with --enable-codectl, pkg-config has to find libcodectl. With PATCHES= in
# the environment, QEMU is built without the patch.

set -eu -o pipefail

die()
{
	echo "build: $*" >&2
	exit 1
}

[ $# -ge 2 ] || die "usage: build.sh SOURCE DIR [OPTION...]"
here=$(cd "$(dirname "$0")" && pwd)
source=$(realpath "$1") dir=$2
shift 2

rm -rf "$dir"
mkdir -p "$dir/source" "$dir/build"
dir=$(realpath "$dir")
tar -x --strip-components=1 -C "$dir/source" -f "$source"
for file in ${PATCHES-"$here"/patches/*.patch}; do
	patch -s -d "$dir/source" -p1 < "$file" || die "$file does not apply to $source"
done
cd "$dir/build"
# Symbols are exported as they are with plugins, where glib requests it.
../source/configure --target-list=x86_64-linux-user --without-default-features \
	--disable-system --disable-tools --disable-docs --disable-install-blobs \
	--disable-debug-info --extra-ldflags=-Wl,-E "$@" \
	> "$dir/log" 2>&1 || die "see $dir/log: $(grep -m 1 ERROR "$dir/log")"
ninja qemu-x86_64 >> "$dir/log" 2>&1 || die "see $dir/log: $(grep -m 1 error: "$dir/log")"
