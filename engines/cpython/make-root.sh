#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make-root.sh DIR MIRROR [PACKAGES]
#
# Makes DIR/root for ../guest.sh: what is to be Debian 14, with its Python 3.15, whose compiler
# is built in and off unless PYTHON_JIT=1 turns it on. What is there is not made anew. It
# needs root.

set -eu -o pipefail
# shellcheck source=../roots.sh
. "$(dirname "$0")/../roots.sh"
make_tree root forky python3.15
