#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: cost.sh LIBRARY OUT [--images DIR]
#
# What libcodectl-preload costs when nobody takes stacks: instructions of programs
# without LIBRARY and with it preloaded, and their ratio, as a table in OUT/cost.md. On
# this machine, where codectl(2) may be missing, callgrind counts them; with the
# images of the guest, programs of this machine run there under -icount as well,
# where the kernel has the call and its own instructions count. Fails if a ratio is more
# than 1.01, but for the start of a program that does
# nothing, of which the dynamic linker's work for one library more is a share.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
top=$here/..

die()
{
	echo "cost: $*" >&2
	exit 2
}

if [ $# -ne 2 ] && { [ $# -ne 4 ] || [ "$3" != --images ]; }; then
	die "usage: cost.sh LIBRARY OUT [--images DIR]"
fi
library=$(realpath "$1") images=${4:-}
mkdir -p "$2"
out=$(realpath "$2")
python=/usr/bin/python3
# shellcheck disable=SC2016
perl_work='my %h; for my $i (1..20000) { $h{$i % 1000} .= chr(65 + $i % 26); }
	print length(join "", map { scalar reverse } sort values %h), "\n";'
python_work='import json, re
d = [{"a": i, "b": str(i) * 3} for i in range(2000)]
print(len(re.sub("1+", "", json.dumps(d))))'

g++ -O2 -pthread -static-libstdc++ -o "$out/throws" "$here/suites/throws.cc"
echo 'int main(void) { return 0; }' | gcc -O2 -x c - -o "$out/nothing"

# Who runs it, if not this user, and what it reads.
as=() input=/dev/null

# count COMMAND... - instructions, children excepted
count()
{
	"${as[@]}" valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 > /dev/null < "$input" |
		awk '/Collected :/ { print $4 }'
}

# row WHERE NAME BOUND WITHOUT WITH
row()
{
	awk -v where="$1" -v name="$2" -v bound="$3" -v without="$4" -v with="$5" 'BEGIN {
		ratio = without ? with / without : 0
		printf "| %s | %s | %d | %d | %.4f |\n", name, where, without, with, ratio
		exit !without || !with || ratio > bound
	}' >> "$out/cost.md" || failed=1
}

# native NAME BOUND COMMAND...
native()
{
	local name=$1 bound=$2 without with

	shift 2
	without=$(count "$@")
	with=$(LD_PRELOAD=$library count "$@")
	row callgrind "$name" "$bound" "$without" "$with"
}

# A server that serves one user, with each expression compiled.
postgres()
{
	local bin data

	bin=$(echo /usr/lib/postgresql/*/bin)
	[ -x "$bin/postgres" ] || return 0
	data=$(mktemp -d /tmp/cost.XXXXXX)
	if [ "$(id -u)" = 0 ]; then
		as=(setpriv --reuid nobody --regid nogroup --clear-groups)
		chown nobody "$data"
	fi
	"${as[@]}" "$bin/initdb" -D "$data/data" > "$out/initdb.log" 2>&1
	input=$out/query
	echo 'SELECT sum(i * 2), count(*) FILTER (WHERE i % 7 = 3), max(md5(i::text))
		FROM generate_series(1, 2000) i WHERE i % 3 <> 1;' | tr '\n' ' ' > "$input"
	native "PostgreSQL, a query that is compiled" 1.01 "$bin/postgres" --single -D "$data/data" \
		-c jit_above_cost=0 -c jit_optimize_above_cost=0 -c jit_inline_above_cost=0 postgres
	as=() input=/dev/null
	rm -rf "$data"
}

# in_guest NAME BOUND COMMAND... - with the figures of start_bench
in_guest()
{
	echo "$1|$2|${*:3}" >> "$out/guest.list"
}

run_guest()
{
	local name bound command root=$out/root without with

	gcc -O2 -static -I"$top/selftests/bench" -o "$out/start_bench" "$top/selftests/bench/start_bench.c"
	"$top/scripts/copy-program.sh" "$(realpath "$python")" "$root"
	"$top/scripts/copy-program.sh" /usr/bin/perl "$root"
	"$top/scripts/copy-program.sh" "$out/throws" "$root"
	"$top/scripts/copy-program.sh" "$out/nothing" "$root"
	cp "$library" "$root/lib/libcodectl-preload.so"
	mkdir -p "$root/python/lib"
	cp -a "/usr/lib/$(basename "$(realpath "$python")")" "$root/python/lib/"
	while IFS='|' read -r name bound command; do
		for side in without with; do
			preload=''
			[ $side = without ] || preload="--preload /host/lib/libcodectl-preload.so"
			echo "PYTHONHOME=/host/python ./start_bench '$name' $side 0 3 2 /host/lib/ld-linux-x86-64.so.2 $preload --library-path /host/lib $command > /tmp/out || cat /tmp/out; grep ^RESULT /tmp/out"
		done
	done < "$out/guest.list" > "$out/guest.sh"
	"$top/selftests/qemu/guest.sh" --images "$images" --icount --append norandmaps --timeout 3000 \
		--add "$root:/host" --add "$out/start_bench:/host/start_bench" --add "$out/guest.sh:/host/guest.sh" \
		-- sh -c 'cd /host && sh ./guest.sh' > "$out/guest.log"
	while IFS='|' read -r name bound command; do
		without=$(awk -F'\t' -v n="$name" '$2 == n && $3 == "without" { print $5 }' "$out/guest.log")
		with=$(awk -F'\t' -v n="$name" '$2 == n && $3 == "with" { print $5 }' "$out/guest.log")
		row guest "$name" "$bound" "${without:-0}" "${with:-0}"
	done < "$out/guest.list"
}

failed=0
printf '| | counted by | without | with | ratio |\n|---|---|--:|--:|--:|\n' > "$out/cost.md"
native "a program that does nothing" 2 "$out/nothing"
native "C++ that throws in threads" 1.01 "$out/throws" 50
native "perl" 1.01 /usr/bin/perl -e "$perl_work"
native "python3" 1.01 "$python" -S -c "$python_work"
postgres
if [ -n "$images" ]; then
	rm -rf "$out/root" "$out/guest.list"
	echo "$perl_work" > "$out/work.pl"
	echo "$python_work" > "$out/work.py"
	mkdir -p "$out/root"
	cp "$out/work.pl" "$out/work.py" "$out/root"
	in_guest "a program that does nothing" 2 /host/bin/nothing
	in_guest "C++ that throws in threads" 1.01 /host/bin/throws 50
	in_guest "perl" 1.01 /host/bin/perl /host/work.pl
	in_guest "python3" 1.01 "/host/bin/$(basename "$(realpath "$python")") -S /host/work.py"
	run_guest
fi
cat "$out/cost.md"
[ $failed = 0 ] || die "it costs too much, or was not counted: see $out/cost.md"
