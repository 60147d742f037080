#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: copy-program.sh PROGRAM DIR
#
# Copies a program of this machine to DIR/bin, and the libraries that it uses here, including
# the dynamic linker, to DIR/lib.

set -eu -o pipefail

program=$1 dir=$2

mkdir -p "$dir/bin" "$dir/lib"
install -m 755 "$program" "$dir/bin/"
# "NAME => PATH (ADDRESS)", or "PATH (ADDRESS)" for the dynamic linker
ldd "$program" | sed -n 's,^[^/]*\(/[^ ]*\) (0x.*,\1,p' | while read -r library; do
	install -m 755 "$library" "$dir/lib/"
done
ls "$dir"/lib/ld-linux-x86-64.so.2 "$dir"/lib/libc.so.6 > /dev/null
