#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: bench.sh BUILDDIR [--images DIR] [--out DIR] [--docs] [NAME...]
#
# Makes the runs in rig/bench/runs, or only those with a NAME, and writes the figures to
# BUILDDIR/bench: results.tsv, results.json, report.md and plots; with --docs it also fills the
# tables of docs/performance.md. Each figure has the commit of this tree, or "unknown" if the
# images are those of DIR, or if BUILDDIR builds other sources. Fails if a run fails, which the
# last line names, or if a bound in rig/bench/bounds is missed; if runs are named, bounds without
# figures are not judged.

set -u

top=$(cd "$(dirname "$0")/../.." && pwd)
bench=$top/rig/bench

die()
{
	echo "bench: $*" >&2
	exit 2
}

[ $# -ge 1 ] || die "usage: bench.sh BUILDDIR [--images DIR] [--out DIR] [--docs] [NAME...]"
build=$(cd "$1" && pwd) || exit 2
shift
images=$build/guest out=$build/bench docs=no names=()
while [ $# -gt 0 ]; do
	case $1 in
	--images) images=$2; shift ;;
	--out) out=$2; shift ;;
	--docs) docs=yes ;;
	--*) die "no such option: $1" ;;
	*) names+=("$1") ;;
	esac
	shift
done
# The bounds are for an emulated guest.
export CODECTL_ACCEL=${CODECTL_ACCEL:-tcg}
programs=$build/obj/bench
mkdir -p "$out/logs" "$programs" || exit 2
commit=$("$top/scripts/check/tree-commit.sh" "$top")
built=$(sed -n 's/^abs_top_srcdir = //p' "$build/Makefile")
if [ "$images" != "$build/guest" ] || [ ! "$built" -ef "$top" ]; then
	commit=unknown
fi
# The layout of mappings decides how many pages of a table fault.
guest=("$top/rig/guest/guest.sh" --append norandmaps --add "$programs:/bench")
# The unpatched C library replaces the patched one.
stock=$build/obj/suites/glibc-before
stock_libc=(--add "$stock/elf/ld.so:/lib64/ld-linux-x86-64.so.2"
	    --add "$stock/libc.so:/usr/lib/libc.so.6" --add "$stock/math/libm.so:/usr/lib/libm.so.6")

# addresses ENTER LEAVE: prints those of two functions of the kernel, which is not relocated.
addresses()
{
	awk -v enter="$1" -v leave="$2" '
		after && $1 != after { end = $1; after = "" }
		$3 == enter { from = $1 }
		$3 == leave { start = after = $1 }
		END { print "enter=" from ",leave=" start "-" end }' "$out/symbols"
}

# run_touched ENTER LEAVE COMMAND: records the memory that it touches from one function to the
# other, and where its instructions are.
run_touched()
{
	"${guest[@]}" --images "$images" -- sort /proc/kallsyms > "$out/symbols" &&
		"${guest[@]}" --images "$images" --icount \
			--plugin "$programs/touched.so,$(addresses "$1" "$2"),out=$out/touched" \
			-- sh -c "cd /bench && export WALKS_COUNTED=1 && $3" > "$out/walks" &&
		gawk -f "$bench/touched.awk" "$out/symbols" "$out/touched" "$out/walks" \
			"$out/touched.insns"
}

# run WHERE COMMAND
run()
{
	local inside=(-- sh -c "cd /bench && $2")

	case $1 in
	icount) "${guest[@]}" --images "$images" --icount "${inside[@]}" ;;
	guest) "${guest[@]}" --images "$images" "${inside[@]}" ;;
	stock) "${guest[@]}" --images "$build/guest" --kernel stock --icount "${inside[@]}" ;;
	libc) "${guest[@]}" --images "$images" --icount "${stock_libc[@]}" "${inside[@]}" ;;
	touched) run_touched unwind_user unwind_user_faultable "$2" ;;
	profile) run_touched __x64_sys_sched_get_priority_{max,min} "$2" ;;
	native) (cd "$programs" && BUILD=$build bash -c "$2") ;;
	*) die "run where? $1" ;;
	esac
}

wanted()
{
	local name

	[ ${#names[@]} -gt 0 ] || return 0
	for name in "${names[@]}"; do
		# shellcheck disable=SC2053
		[[ $1 != $name ]] || return 0
	done
	return 1
}

# The least of the figures with the same group, case and x.
least()
{
	awk -F'\t' '{
		name = $2 "\t" $3 "\t" $4
		if (!(name in value))
			names[++n] = name
		if (!(name in value) || $5 + 0 < value[name] + 0)
			value[name] = $5
		unit[name] = $6
	}
	END {
		for (i = 1; i <= n; i++)
			print names[i] "\t" value[names[i]] "\t" unit[names[i]]
	}'
}

# Replaces all figures of a run, or none.
run_one()
{
	local name=$1 log=$out/logs/$1.log

	printf '%-16s ' "$name"
	if ! run "$2" "$3" > "$log" 2>&1 < /dev/null || ! grep -q '^RESULT' "$log"; then
		echo FAILED
		tail -n 12 "$log" | sed 's/^/  | /'
		failed+=("$name")
		rm -f "$out/logs/$name.tsv"
		return
	fi
	grep '^RESULT' "$log" | least | sed "s/^/$name\t/; s/\$/\t$commit/" > "$out/logs/$name.tsv"
	echo "$(wc -l < "$out/logs/$name.tsv") figures"
}

# The figures of all runs, including earlier ones, in the order of the list.
gather()
{
	local name where command

	while read -r name where command; do
		[ -e "$out/logs/$name.tsv" ] || continue
		cat "$out/logs/$name.tsv"
	done < <(grep -v '^#' "$bench/runs") > "$out/results.tsv"
}

plot()
{
	local data name

	if ! command -v gnuplot > /dev/null; then
		echo "no plots: gnuplot is missing"
		return
	fi
	for data in "$out"/plots/*.dat; do
		# A logarithmic scale cannot show a plot of zeros only.
		grep -q -s ' .*[1-9]' "$data" || continue
		name=$(basename "$data" .dat)
		gnuplot -e "data='$data'; out='${data%.dat}.svg'; name='$name'" \
			"$top/scripts/bench/bench.gnuplot" 2> "$out/logs/plot-$name.log" ||
			failed+=("plot of $name")
	done
}

failed=() taken=0
while read -r name where command; do
	wanted "$name" || continue
	taken=$((taken + 1))
	run_one "$name" "$where" "$command"
done < <(grep -v '^#' "$bench/runs")
[ $taken -gt 0 ] || die "no run is called ${names[*]}"
gather
rm -rf "$out/plots"
mkdir -p "$out/plots"
gawk -v out="$out" -v some=$((${#names[@]} > 0)) -f "$top/scripts/bench/bench-report.awk" \
	"$bench/bounds" "$out/results.tsv" > "$out/report.md"
missed=$?
plot
[ $docs = no ] || "$top/scripts/bench/fill-figures.sh" "$out/report.md" "$top/docs/performance.md" ||
	failed+=("the tables of the page")
sed '$d' "$out/report.md"
echo "$(tail -n 1 "$out/report.md")${failed:+; failed: ${failed[*]}}"
[ $missed -eq 0 ] && [ ${#failed[@]} -eq 0 ]
