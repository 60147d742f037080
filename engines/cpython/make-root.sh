#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR [PACKAGES]
#
# Makes DIR/root for ../guest.sh: the future Debian 14 with Python 3.15, whose compiler is
# built in, but off unless PYTHON_JIT=1 turns it on. What exists is not made again. Needs
# root.

set -eu -o pipefail
# shellcheck source=../roots.sh
. "$(dirname "$0")/../roots.sh"
make_tree root forky python3.15
