#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR [PACKAGES]
#
# Makes DIR/root for ../ways.sh: Debian 13 with PostgreSQL, and a cluster of it in /opt/data.
# What exists is not made again. Needs root.

set -eu -o pipefail
# shellcheck source=../roots.sh
. "$(dirname "$0")/../roots.sh"

# shellcheck disable=SC2016
make_tree root trixie postgresql --customize-hook='chroot "$1" sh -euc "
	mkdir -p /opt/data
	chown postgres /opt/data
	setpriv --reuid postgres --regid postgres --clear-groups \
		\$(echo /usr/lib/postgresql/*/bin/initdb) -D /opt/data -E UTF8 --no-locale"'
