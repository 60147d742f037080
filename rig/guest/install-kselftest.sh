#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: install-kselftest.sh KSELFTEST DEST
#
# Makes DEST a directory of installed kselftests, as the kernel's tree KSELFTEST does, with the
# codectl directory next to DEST in the image as the collection codectl.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
from=$1 dest=$2

rm -rf "$dest"
mkdir -p "$dest"
cp -R "$from/kselftest" "$from/run_kselftest.sh" "$dest/"
make -s --no-print-directory -C "$here/../../selftests" KSELFTEST="$from" O= OUTPUT= COLLECTION=codectl emit_tests \
	> "$dest/kselftest-list.txt"
ln -s ../selftests "$dest/codectl"
cp "$here/kselftest_test.sh" "$here/../../scripts/check/tap.sh" "$dest/"
