#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Makes the guest's root image: busybox, the C library of --sysroot, and the given trees and
# programs, with the libraries of the host that they need.

set -eu

usage()
{
	cat <<-END
	usage: mkroot.sh --sysroot DIR --init FILE --output FILE
	                 [--program FILE]... [--tree DIR:GUESTDIR]...
	END
	exit 2
}

die()
{
	echo "mkroot.sh: $*" >&2
	exit 1
}

sysroot='' init='' output='' programs=() trees=()
while [ $# -gt 0 ]; do
	[ $# -ge 2 ] || usage
	case $1 in
	--sysroot) sysroot=$2 ;;
	--init) init=$2 ;;
	--output) output=$2 ;;
	--program) programs+=("$2") ;;
	--tree) trees+=("$2") ;;
	*) usage ;;
	esac
	shift 2
done
if [ -z "$sysroot" ] || [ -z "$init" ] || [ -z "$output" ]; then
	usage
fi

work=$(mktemp -d "$output.XXXXXX")
trap 'rm -rf "$work"' EXIT
root=$work/root

make_skeleton()
{
	local dir

	for dir in dev proc sys tmp run/job mnt out root etc var/log \
		   usr/bin usr/sbin usr/lib usr/lib64 usr/lib/codectl; do
		mkdir -p "$root/$dir"
	done
	ln -s usr/bin "$root/bin"
	ln -s usr/sbin "$root/sbin"
	ln -s usr/lib "$root/lib"
	ln -s usr/lib64 "$root/lib64"
	ln -s ../run "$root/var/run"
	ln -s ../tmp "$root/var/tmp"
	echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
	echo 'nobody:x:65534:65534:nobody:/:/bin/false' >> "$root/etc/passwd"
	printf 'root:x:0:\nnogroup:x:65534:\n' > "$root/etc/group"
	echo '127.0.0.1 localhost guest' > "$root/etc/hosts"
	install -m 755 "$init" "$root/usr/sbin/init"
}

add_busybox()
{
	local busybox applet

	busybox=$(command -v busybox) || die "busybox is missing: install busybox-static"
	file -L "$busybox" | grep -q 'statically linked' ||
		die "busybox is not static: install busybox-static"
	install -m 755 "$busybox" "$root/usr/bin/busybox"
	for applet in $("$busybox" --list); do
		[ "$applet" = busybox ] || ln -sf busybox "$root/usr/bin/$applet"
	done
}

add_sysroot()
{
	local lib

	install -m 755 "$sysroot/lib64/ld-linux-x86-64.so.2" "$root/usr/lib64/"
	for lib in "$sysroot"/usr/lib/*.so.*; do
		install -m 755 "$lib" "$root/usr/lib64/"
	done
}

needed()
{
	objdump -p "$1" 2>/dev/null | awk '$1 == "NEEDED" { print $2 }'
}

# Copies the libraries that the program needs and the image lacks from the host's loader path.
add_libraries()
{
	local lib path

	for lib in $(needed "$1"); do
		[ ! -e "$root/usr/lib64/$lib" ] || continue
		path=$(ldconfig_path "$lib")
		[ -n "$path" ] || die "$1 needs $lib, which this machine does not have"
		install -m 755 "$path" "$root/usr/lib64/$lib"
		add_libraries "$path"
	done
}

ldconfig_path()
{
	PATH=$PATH:/usr/sbin:/sbin ldconfig -p |
		awk -v lib="$1" '$1 == lib && /x86-64/ && !path { path = $NF }
				 END { print path }'
}

is_dynamic()
{
	[ "$(head -c 4 "$1" | tr -d '\0')" = $'\177ELF' ] && [ -n "$(needed "$1")" ]
}

add_trees()
{
	local tree file

	for tree in "${trees[@]}"; do
		mkdir -p "$root/${tree#*:}"
		cp -a "${tree%%:*}/." "$root/${tree#*:}/"
		while IFS= read -r file; do
			! is_dynamic "$file" || add_tree_libraries "$file"
		done < <(find "$root/${tree#*:}" -type f)
	done
}

# Programs find libraries in their own tree themselves, and some tests need a missing one.
add_tree_libraries()
{
	local lib path

	for lib in $(needed "$1"); do
		[ ! -e "$root/usr/lib64/$lib" ] || continue
		[ -z "$(find "$root/usr/lib/codectl" -name "$lib" -print -quit)" ] || continue
		path=$(ldconfig_path "$lib")
		[ -n "$path" ] || continue
		install -m 755 "$path" "$root/usr/lib64/$lib"
		add_libraries "$path"
	done
}

make_skeleton
add_busybox
add_sysroot
for program in "${programs[@]}"; do
	install -m 755 "$program" "$root/usr/bin/"
	add_libraries "$program"
done
add_trees
mksquashfs "$root" "$work/image" -comp lz4 -all-root -noappend -no-progress -quiet ||
	die "mksquashfs failed"
mv "$work/image" "$output"
