#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: make check test-wrapper=.../record-command.sh
#
# The wrapper of glibc's tests: adds the command to NAME.command next to the test's
# NAME.out, so that it can be run elsewhere, too, and runs it.

out=$(readlink /proc/$$/fd/1)
case $out in
*.out) printf 'mkdir -p %q && cd %q && %s\n' "$PWD" "$PWD" "${*@Q}" >> "${out%.out}.command" ;;
esac
exec "$@"
