#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: kernel-cc.sh COMPILER [ARG...]
#
# Compiles a file of the kernel, through CCACHE if it is set. Assembler files are not cached:
# they may include others by .incbin, as the kernel's image includes the kernel itself, and
# the cache does not know these dependencies.

for last; do :; done
case $last in
*.S) exec "$@" ;;
esac
# CCACHE may be empty.
# shellcheck disable=SC2086
exec ${CCACHE:-} "$@"
