#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check.sh ENGINE BUILD DIR
#
# Walks the stacks of ENGINE's programs in DIR/root, which ENGINE/make-root.sh has made, from
# a signal handler, by the rules that they publish, and compares them with what the engine
# knows: walk/walk.c with ENGINE/tests/truth.c. ENGINE/tests/run says what to run. The
# libcodectl is that of BUILD, where configure and make have run. DIR gets figures.md for
# scripts/bench/fill-figures.sh. Fails if a stack was wrong, or if too little was seen. Needs
# root, for chroot(), but no kernel with codectl(2).

# What tests/run calls looks unreachable:
# shellcheck disable=SC2317

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

# with NAME COMMAND... - runs it in the root with a walk preloaded: "shared", which uses the
# libcodectl of the program, or "preload", which contains libcodectl-preload
with()
{
	local library=/opt/walk/$1.so

	shift
	chroot "$root" env -i PATH=/usr/bin LD_LIBRARY_PATH=/opt/walk LD_BIND_NOW=1 \
		LD_PRELOAD="$library" "$@"
}

commit=$("$here/../scripts/check/tree-commit.sh" "$here/..")
rm -rf "$walk"
mkdir -p "$walk"
trap 'rm -rf "$walk" "$walk.table" "$root/opt/bench"' EXIT
cp -r "$here/$engine/bench" "$root/opt"
cp "$build"/.libs/libcodectl.so.0 "$walk"
compile shared "$build/.libs/libcodectl.so"
compile preload "$build"/src/.libs/libcodectl_preload_la-*.o \
	"$build"/preload/.libs/libcodectl_preload_la-*.o
status=0
# shellcheck source=/dev/null
. "$here/$engine/tests/run" 2>&1 | awk '
	$1 == "program" {
		program = substr($0, 9)
		if (!(program in programs))
			order[++nr] = program
		programs[program]
	}
	$1 == "samples" {
		for (i = 1; i < NF; i += 2) {
			if ($i == "deepest")
				continue
			sum[program, $i] += $(i + 1)
			if (!known[$i]++)
				what[++kinds] = $i
		}
	}
	/^#/ { print }
	END {
		split("walks;complete;no rule;wrong;through compiled code;in C called from it", is, ";")
		printf "| |"
		for (i = 1; i <= kinds; i++)
			printf " %s |", i in is ? is[i] : what[i]
		printf "\n|---|"
		for (i = 1; i <= kinds; i++)
			printf "--:|"
		for (n = 1; n <= nr; n++) {
			p = order[n]
			printf "\n| %s |", p
			for (i = 1; i <= kinds; i++)
				printf " %d |", sum[p, what[i]]
			few = few || sum[p, "samples"] < 10000 || sum[p, "compiled"] < 1000 ||
				sum[p, "called"] < 500 || sum[p, "checked"] < 1000 ||
				sum[p, "no-rule"] > sum[p, "samples"] / 100
			wrong = wrong || sum[p, "wrong"]
		}
		print ""
		if (!nr || few)
			print "FAILED: too little was seen"
		if (wrong)
			print "FAILED: stacks were wrong"
		exit !nr || few || wrong
	}' | tee "$walk.table" || status=$?
"$here/../scripts/bench/report.sh" walks "engines/check.sh $engine" "$commit" \
	< "$walk.table" > "$root/../figures.md"
exit $status
