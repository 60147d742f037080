#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check.sh ENGINE BUILD DIR
#
# Walks the stacks of ENGINE's programs in DIR/root, which ENGINE/make-root.sh has made, from
# a signal handler, by what they publish, and compares with what the engine knows: walk/walk.c
# with ENGINE/tests/truth.c. The libcodectl is that of BUILD, where configure and make were
# called. ENGINE/tests/run says what to run. Fails if a stack was wrong, or if too little was
# seen. It needs no kernel with codectl(2), but root, for chroot().

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)

die()
{
	echo "check: $*" >&2
	exit 1
}

if [ $# != 3 ] || [ ! -x "$here/$1/tests/run" ]; then
	die "usage: check.sh ENGINE BUILD DIR"
fi
engine=$1 build=$(realpath "$2")/libcodectl root=$(realpath "$3")/root
walk=$root/opt/walk

# compile NAME ARGUMENT...
compile()
{
	cc -D_GNU_SOURCE -O2 -g -Wall -Wextra -Werror -fPIC -fvisibility=hidden -shared -Wl,-z,now \
		-I"$here/../libcodectl/include" -idirafter "$here/../kernel/src/include/uapi" \
		-o "$walk/$1.so" "$here/walk/walk.c" "$here/$engine/tests/truth.c" "${@:2}"
}

# with NAME COMMAND... - runs it in the root with a walk preloaded: "shared", by the libcodectl
# of the program, or "preload", which has libcodectl-preload in it
with()
{
	local library=/opt/walk/$1.so

	shift
	chroot "$root" env -i PATH=/usr/bin LD_LIBRARY_PATH=/opt/walk LD_BIND_NOW=1 \
		LD_PRELOAD="$library" "$@"
}

rm -rf "$walk"
mkdir -p "$walk"
trap 'rm -rf "$walk" "$root/opt/bench"' EXIT
cp -r "$here/$engine/bench" "$root/opt"
cp "$build"/.libs/libcodectl.so.0 "$walk"
compile shared "$build/.libs/libcodectl.so"
compile preload "$build"/src/.libs/libcodectl_preload_la-*.o \
	"$build"/preload/.libs/libcodectl_preload_la-*.o
# shellcheck source=/dev/null
. "$here/$engine/tests/run" 2>&1 | awk '
	$1 == "program" { program = $2 }
	$1 == "samples" {
		for (i = 1; i < NF; i += 2) {
			if ($i == "deepest")
				continue
			sum[program, $i] += $(i + 1)
			if (!known[$i]++)
				what[++kinds] = $i
		}
		programs[program] = 1
	}
	/^#/ { print }
	END {
		for (p in programs) {
			printf "%s", p
			for (i = 1; i <= kinds; i++)
				printf " %s %d", what[i], sum[p, what[i]]
			print ""
			few = few || sum[p, "samples"] < 10000 || sum[p, "compiled"] < 1000 ||
				sum[p, "called"] < 500 || sum[p, "checked"] < 1000 ||
				sum[p, "no-rule"] > sum[p, "samples"] / 100
			wrong = wrong || sum[p, "wrong"]
			nr++
		}
		if (!nr || few)
			print "FAILED: too little was seen"
		if (wrong)
			print "FAILED: stacks were wrong"
		exit !nr || few || wrong
	}'
