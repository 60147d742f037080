# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
#
# Functions for ENGINE/judge, which is called by run.sh or guest.sh.  They need machine, dir,
# work and out, which these set, and the file "ends" in work, which judge writes.

engines=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../machine/recorded.sh
. "$machine/recorded.sh"

# text_of RECORDING
text_of()
{
	if [ -e "$work/results/$1.data" ]; then
		script_of "$work/results/$1.data"
	else
		cat "$work/results/$1.script"
	fi
}

# judge_stacks TITLE EXE STRICT OF LEAST RECORDING... - prints the shares of those of EXE, and
# draws them; fails as shares.awk says. The caller may set titles for it.
judge_stacks()
{
	local title=$1 exe=$2 strict=$3 of=$4 least=$5 name
	local -a facts

	shift 5
	for name; do
		text_of "$name" > "$work/script" || return
		"$machine/stacks.py" --root "$dir/root" --ends "$out/ends" --exe "$exe" \
			--folded "$work/$name.folded" "$work/script" > "$out/$name.facts" || return
		"$flamegraph" --hash --title "$title, $name" "$work/$name.folded" \
			> "$out/flame/$name.svg" || return
		facts+=("$out/$name.facts")
	done
	awk -v strict="$strict" -v of="$of" -v least="$least" -v titles="${titles:-}" -f "$engines/shares.awk" "${facts[@]}"
}

# judge_callers MOST RECORDING... - fails if compiled code returns to more than MOST places
judge_callers()
{
	local most=$1 name nr

	shift
	for name; do
		nr=$(grep -c '^caller ' "$out/$name.facts") || return
		echo "$name: compiled code returned to $nr places"
		[ "$nr" -le "$most" ] || return
	done
}
