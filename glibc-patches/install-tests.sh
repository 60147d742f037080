#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds the tests that the series adds to glibc, without running them, and
# installs them with their modules, a list of them and run-tests.sh in DEST.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)

die()
{
	echo "install-tests: $*" >&2
	exit 1
}

[ $# -eq 2 ] || die "usage: install-tests.sh OBJDIR DEST"
obj=$(cd "$1" && pwd)
mkdir -p "$2"
dest=$(cd "$2" && pwd)
[ -e "$obj/libc.so" ] || die "$obj holds no finished build of glibc"
src=$(cd "$obj" && cd "$(sed -n 's/^srcdir = //p' Makefile)" && pwd)

# build SUBDIR SOURCE... - every source is a program or, by its name, a module
build()
{
	local subdir=$1 path name files=()
	shift

	for path; do
		name=${path##*/}
		name=${name%.c}
		case $name in
		*-missingmod) ;;
		*mod | *mod[0-9]) files+=("$obj/$subdir/$name.so") ;;
		*) files+=("$obj/$subdir/$name") ;;
		esac
	done
	make -s -r -j "$(nproc)" -C "$src/$subdir" objdir="$obj" "${files[@]}" \
		>> "$dest/build.log" 2>&1 || die "a test cannot be built: see $dest/build.log"
	install -m 755 "${files[@]}" "$dest/"
	printf '%s\n' "${files[@]##*/}" | grep -v '\.so$' >> "$dest/tests.list"
}

linux=$src/sysdeps/unix/sysv/linux/x86_64
rm -f "$dest/build.log" "$dest/tests.list"
build elf "$linux"/64/tst-codectl*.c "$src"/sysdeps/x86_64/tst-trampoline*.c \
	"$src"/elf/tst-sframe-backtrace.c
build misc "$linux"/tst-clone3-stack.c
rm -f "$dest/build.log"
install -m 755 "$here/run-tests.sh" "$dest/"
