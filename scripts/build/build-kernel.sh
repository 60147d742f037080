#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-kernel.sh SOURCE OBJDIR BINUTILS JOBS CONFIG... -- TARGET...
#
# Configures tinyconfig, or the configuration that BASE_CONFIG names, with the fragments CONFIG
# on top, and makes the targets. Fails if a line of a fragment has not taken effect.

set -eu

source=$(realpath "$1") obj=$(realpath -m "$2") tools=$(realpath "$3") jobs=$4
cc=$(realpath "$(dirname "$0")")/kernel-cc.sh
shift 4
fragments=()
while [ "$1" != -- ]; do
	fragments+=("$(realpath "$1")")
	shift
done
shift

die()
{
	echo "$*" >&2
	exit 1
}

kmake()
{
	make -s -C "$source" O="$obj" CC="$cc gcc -B$tools/" HOSTCC="${CCACHE:-} gcc" \
		LD="$tools/ld" AR="$tools/ar" NM="$tools/nm" STRIP="$tools/strip" \
		OBJCOPY="$tools/objcopy" OBJDUMP="$tools/objdump" \
		READELF="$tools/readelf" KBUILD_BUILD_TIMESTAMP=2026-01-01 \
		KBUILD_BUILD_USER=codectl KBUILD_BUILD_HOST=guest "$@"
}

# With CONFIG_MAY_LACK=yes, ignores lines without effect: the tree may lack the symbols, or those
# that they depend on.
check_config()
{
	local line lost=''

	while read -r line; do
		case $line in
		CONFIG_*=*) grep -q -x -F -e "$line" "$obj/.config" || lost+=" $line" ;;
		esac
	done < <(cat "${fragments[@]}")
	[ -z "$lost" ] || [ "${CONFIG_MAY_LACK:-}" = yes ] ||
		die "the kernel configuration lost$lost"
}

configure()
{
	local new=$obj/.config.wanted

	mkdir -p "$obj"
	{
		cat "${fragments[@]}"
		cksum "$source/Makefile" | cut -d' ' -f1 | sed 's/^/# /'
	} > "$new.new"
	if [ ! -e "$obj/.config" ] || ! cmp -s "$new.new" "$new"; then
		kmake "${BASE_CONFIG:-tinyconfig}"
		(cd "$obj" && "$source/scripts/kconfig/merge_config.sh" -m -O "$obj" \
			.config "${fragments[@]}" > /dev/null)
		mv "$new.new" "$new"
	fi
	kmake olddefconfig
	check_config
}

configure
kmake -j"$jobs" "$@"
