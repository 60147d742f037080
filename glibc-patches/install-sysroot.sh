#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Installs the parts of a built glibc that programs need to be linked and to run in the
# guest: loader, libraries, start files, headers. It leaves out locales, character sets
# and programs, and takes far less time than a full "make install".
#
#	DEST/lib64/ld-linux-x86-64.so.2
#	DEST/usr/lib/*.so.*	shared libraries
#	DEST/usr/lib/*.{o,a,so}	start files, archives, linker scripts
#	DEST/usr/include	headers, without those of the kernel

set -eu -o pipefail

libraries='math/libm.so.6 mathvec/libmvec.so.1 dlfcn/libdl.so.2
	nptl/libpthread.so.0 rt/librt.so.1 login/libutil.so.1
	resolv/libresolv.so.2 nss/libnss_files.so.2'
archives='libc.a libc_nonshared.a mathvec/libmvec.a dlfcn/libdl.a
	nptl/libpthread.a rt/librt.a login/libutil.a resolv/libresolv.a'
start_files='crt1.o Scrt1.o rcrt1.o gcrt1.o grcrt1.o crti.o crtn.o'

die()
{
	echo "install-sysroot: $*" >&2
	exit 1
}

[ $# -eq 2 ] || die "usage: install-sysroot.sh OBJDIR DEST"
obj=$(cd "$1" && pwd)
mkdir -p "$2"
dest=$(cd "$2" && pwd)
[ -e "$obj/libc.so" ] || die "$obj holds no finished build of glibc"

config()
{
	sed -n "s/^$1 = //p" "$obj/config.make"
}

# Without debugging information, but with all symbols: perf needs them for the names of
# local functions.
install_library()
{
	install -m 755 "$obj/$1" "$2.new"
	"$strip" --strip-debug "$2.new"
	mv -f "$2.new" "$2"
}

# The linker looks up plain names in the directories that it searches.
linker_script()
{
	echo "GROUP ( $* )"
}

install_libraries()
{
	local file lib=$dest/usr/lib

	mkdir -p "$dest/lib64" "$lib"
	install_library elf/ld.so "$dest/lib64/ld-linux-x86-64.so.2"
	ln -sfn ../../lib64/ld-linux-x86-64.so.2 "$lib/ld-linux-x86-64.so.2"
	install_library libc.so "$lib/libc.so.6"
	for file in $libraries; do
		install_library "$file" "$lib/${file##*/}"
	done
	for file in $archives; do
		install -m 644 "$obj/$file" "$lib/"
	done
	install -m 644 "$obj/math/libm.a" "$lib/libm-$version.a"
	for file in $start_files; do
		install -m 644 "$obj/csu/$file" "$lib/"
	done
	linker_script "libc.so.6 libc_nonshared.a AS_NEEDED ( ld-linux-x86-64.so.2 )" \
		> "$lib/libc.so"
	linker_script "libm.so.6 AS_NEEDED ( libmvec.so.1 )" > "$lib/libm.so"
	linker_script "libm-$version.a libmvec.a" > "$lib/libm.a"
	ln -sfn libresolv.so.2 "$lib/libresolv.so"
}

# Only a full install makes the list of functions that always fail.
install_headers()
{
	make -s -C "$obj" install_root="$dest" install-headers > "$dest/install.log" 2>&1 ||
		die "the headers cannot be installed: see $dest/install.log"
	rm -f "$dest/install.log"
	"$objdump" -h "$obj/libc.a" |
		sed -n 's/.*\.gnu\.glibc-stub\.\([a-z0-9_]*\).*/#define __stub_\1/p' |
		sort -u > "$dest/usr/include/gnu/stubs-64.h"
}

strip=$(config STRIP)
objdump=$(config OBJDUMP)
version=$(sed -n 's/^srcdir = //p' "$obj/Makefile")
version=$(cd "$obj" && sed -n 's/^#define VERSION "\(.*\)"/\1/p' "$version/version.h")
[ -n "$version" ] || die "the source of $obj is gone"
install_libraries
install_headers
