#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: kernel-cc.sh COMPILER [ARG...]
#
# Compiles a file of the kernel, through CCACHE if there is one. Assembler files may
# have others from .incbin, as the kernel's image has the kernel itself: the cache
# goes by dependencies, which say nothing of these.

for last; do :; done
case $last in
*.S) exec "$@" ;;
esac
# It may be empty.
# shellcheck disable=SC2086
exec ${CCACHE:-} "$@"
