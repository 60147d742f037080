#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check.sh SOURCE DIR LIBRARY [SECONDS]
#
# Builds LuaJIT from SOURCE in DIR, with the libcodectl that was installed in LIBRARY, a
# prefix of its own (make install DESTDIR=), and has tests/walk.c check each part of
# tests/structure.lua for SECONDS. DIR gets figures.md for scripts/bench/fill-figures.sh.
# Fails if a stack was wrong, or if too little was seen. Needs no kernel with codectl(2).

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
parts="recursion sort gsub coroutine side ffi callback flush areas errors gc"

die()
{
	echo "check: $*" >&2
	exit 1
}

[ $# -ge 3 ] || die "usage: check.sh SOURCE DIR LIBRARY [SECONDS]"
source=$1 dir=$2 library=$(realpath "$3") seconds=${4:-8}
pc=$(find "$library" -name libcodectl.pc)
archive=$(find "$library" -name libcodectl.a)
if [ -z "$pc" ] || [ -z "$archive" ]; then
	die "no libcodectl.pc or libcodectl.a in $library"
fi
export PKG_CONFIG_SYSROOT_DIR=$library PKG_CONFIG_PATH=${pc%/*} LD_BIND_NOW=1

commit=$("$here/../../scripts/check/tree-commit.sh" "$here/../..")
"$here/build.sh" "$source" "$dir" USE_CODECTL=y CCDEBUG=-g
# shellcheck disable=SC2046
cc -D_GNU_SOURCE -DLUAJIT_USE_CODECTL -O2 -g -Wall -Wextra -Werror -I"$dir/src" \
	$(pkg-config --cflags libcodectl) -o "$dir/walk" "$here/tests/walk.c" \
	"$dir/src/luajit.o" "$dir/src/libluajit.a" "$archive" \
	-Wl,--wrap=luaL_newstate,--wrap=lua_close,--wrap=syscall -Wl,-E,-z,now -lm -ldl -lpthread
status=0
for part in $parts; do
	echo "part $part"
	"$dir/walk" "$here/tests/structure.lua" "$part" "$seconds" 2>&1 ||
		echo "failed $part"
done | tee "$dir/walked" | awk '
	$1 == "part" { part = $2 }
	$1 == "samples" {
		for (i = 1; i < NF; i += 2)
			sum[$i] += $(i + 1)
		printf "%-10s %s\n", part, $0
		ended++
	}
	/^#/ { print }
	$1 == "failed" { failed = failed " " $2 }
	END {
		few = sum["samples"] < 10000 || sum["in-trace"] < 1000 ||
			sum["below-trace"] < 1000 || sum["interpreted"] < 500
		print "| | walks | right | begin where there is no rule | wrong |\n|---|--:|--:|--:|--:|"
		printf "| all parts | %d | %d | %d | %d |\n", sum["samples"], sum["complete"],
			sum["no-rule"], sum["wrong"]
		if (failed)
			print "FAILED:" failed
		if (few)
			print "FAILED: too little was seen"
		if (sum["no-rule"] > sum["samples"] / 100)
			print "FAILED: more than 1 % have no rule"
		exit failed || few || sum["wrong"] || sum["no-rule"] > sum["samples"] / 100
	}' | tee "$dir/table.txt" || status=$?
"$here/../../scripts/bench/report.sh" walks engines/luajit/check.sh "$commit" \
	< "$dir/table.txt" > "$dir/figures.md"
exit $status
