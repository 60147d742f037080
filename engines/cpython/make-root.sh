#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR
#
# Makes DIR/root for ../guest.sh: what is to be Debian 14, with its Python 3.15, whose compiler
# is built in and off unless PYTHON_JIT=1 turns it on. It needs root.

set -eu -o pipefail

if [ $# != 2 ]; then
	echo "usage: make-root.sh DIR MIRROR" >&2
	exit 1
fi
mkdir -p "$1"
rm -rf "$1/root"
# A mirror that stands still has Release files that have expired.
mmdebstrap --mode=root --variant=minbase --include=python3.15 \
	--aptopt='Acquire::Check-Valid-Until "false"' \
	--aptopt='APT::Install-Recommends "false"' \
	--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' forky "$1/root" "$2"
