#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that kernel-cc.sh uses the compiler cache, except for files whose changes the cache cannot
# detect. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

command -v ccache > /dev/null || { echo "1..0 # SKIP no ccache"; exit 0; }
export CCACHE=ccache CCACHE_DEPEND=true CCACHE_DIR=$work/cache
unset CCACHE_DISABLE
cd "$work" || exit 1
echo '.incbin "image"' > piggy.S
echo 'int x;' > x.c

# compile FILE COMMAND... - as the kernel does
compile()
{
	local file=$1
	shift

	"$@" gcc -Wp,-MMD,out.d -c -o out.o "$file"
}

# has WORD COMMAND... - does the object contain WORD after the image was changed to it?
has()
{
	echo "$1" > image
	compile piggy.S "${@:2}" && grep -q "$1" out.o
}

hits()
{
	ccache --print-stats | awk '/^(direct|preprocessed)_cache_hit/ { n += $2 } END { print n + 0 }'
}

has before ccache && ! has behind ccache
result $? "the cache alone takes one image for another"
has before "$here/../build/kernel-cc.sh" && has behind "$here/../build/kernel-cc.sh"
result $? "kernel-cc.sh does not"

compile x.c "$here/../build/kernel-cc.sh"
before=$(hits)
compile x.c "$here/../build/kernel-cc.sh" && [ "$(hits)" -gt "$before" ]
result $? "what is in the cache is taken from there"
(CCACHE='' && compile x.c "$here/../build/kernel-cc.sh")
result $? "it goes without a cache"

finish
