#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make check test-wrapper=.../record-command.sh
#
# A wrapper of glibc's tests: appends the command to NAME.command next to the test's NAME.out, so
# that it can be run elsewhere as well, and runs it.

out=$(readlink /proc/$$/fd/1)
case $out in
*.out) printf 'mkdir -p %q && cd %q && %s\n' "$PWD" "$PWD" "${*@Q}" >> "${out%.out}.command" ;;
esac
exec "$@"
