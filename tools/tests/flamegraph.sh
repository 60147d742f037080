#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The renderer of flame graphs, with a perl that is not installed.

here=$(cd "$(dirname "$0")" && pwd)
exec "$here/perl/perl" -I"$here/perl" "$here/perl/flamegraph.pl" "$@"
