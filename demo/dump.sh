#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs in the guest: the main job under stackdump.
#
# usage: dump.sh OUTDIR
#
# Leaves PROGRAM.dump and PROGRAM.log in OUTDIR for each program.
#
# shellcheck disable=SC2034,SC2154

set -eu

out=$1
cd "$(dirname "$0")"
here=$(pwd)
mkdir -p "$out"

job() {
	name=$1
	shift
	"$here/stackdump" -F "$hertz" ${samples:+-n "$samples"} \
		-o "$out/$name.dump" -- "$@" > "$out/$name.log"
}

# stackdump stops by itself once it has enough samples.
has_few() { false; }

seconds=300
base_hertz=1000 jit_hertz=1000
# shellcheck source=/dev/null
. "$here/jobs.sh"

# stackdump sees only the first thread.  In this run, code grows in the direction of the
# other thread, and signals interrupt compiled code anywhere.
job jit-churn-down "$jit/jit-demo" -d -i -t 2 -w $seconds \
	-l "$out/jit-churn-down.codes" "$jit"/programs/*.jd

# A program of a distribution and its C library, with tables made of their CFI.
stock=$here/../stock
# shellcheck disable=SC2016
LC_ALL=C codectl attach --store /tmp/store "$stock"/bin/perl "$stock"/lib/* -- \
	"$here/stackdump" -g -F 1000 -n 3000 -o "$out/stock-perl.dump" -- \
	"$stock/lib/ld-linux-x86-64.so.2" --library-path "$stock/lib" "$stock/bin/perl" -e '
		sub down { my $n = shift; return $n ? down($n - 1) + 1 : join "", sort { $b <=> $a } 1 .. 50 }
		$SIG{TERM} = sub { exit };
		down(20) while 1'
