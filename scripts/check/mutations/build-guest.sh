#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-guest.sh TOP WORKDIR BUILDDIR
#
# Builds a kernel with the series' files of WORKDIR/obj in place of those of BUILDDIR/linux, and
# with the other objects of BUILDDIR/obj/linux-fast.

set -eu

top=$1 work=$2 build=$3

# Kbuild finds sources in the object directory first; a local header has to be in the directory
# of the file that includes it.
copy_objects()
{
	local file

	rm -rf "$work/obj" "$work/obj.new"
	mkdir -p "$work"
	cp -a "$build/obj/linux-fast" "$work/obj.new"
	(cd "$top/kernel/src" && find arch fs kernel -name '*.[ch]' ! -path '*/include/*') |
		while read -r file; do
			mkdir -p "$work/obj.new/$(dirname "$file")"
			cp "$top/kernel/src/$file" "$work/obj.new/$file"
		done
	mv "$work/obj.new" "$work/obj"
}

[ -d "$work/obj" ] || copy_objects
"$top/scripts/build/build-kernel.sh" "$build/linux" "$work/obj" "$build/tools/bin" \
	"${JOBS:-$(nproc)}" "$top/kernel/config/guest.config" \
	"$top/kernel/config/kunit.config" -- bzImage
mkdir -p "$work/images"
for file in "$build"/guest/*; do
	ln -sf "$file" "$work/images/"
done
rm -f "$work/images/bzImage-fast"
cp "$work/obj/arch/x86/boot/bzImage" "$work/images/bzImage-fast"
