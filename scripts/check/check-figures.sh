#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-figures.sh [--ages] TOP
#
# Checks the tables of figures in pages: each has a marker, as scripts/bench/figures.awk
# describes, and the figures that were filled in; its commits are in the history of TOP; and
# what it measures has changed no more often since than figures.list permits. Prints what is
# wrong, with the command that renews the table, and with --ages how old each table is. Without
# a complete history, says what it cannot check.

set -u

here=$(cd "$(dirname "$0")" && pwd)
ages=no wrong=0
if [ "${1:-}" = --ages ]; then
	ages=yes
	shift
fi
if [ $# != 1 ] || ! cd "$1"; then
	echo "usage: check-figures.sh [--ages] TOP" >&2
	exit 2
fi
list=scripts/check/figures.list
declare -A limits paths used
rules=()

say_wrong()
{
	echo "$*"
	wrong=1
}

# read_rules - a rule is a page and a pattern of names
read_rules()
{
	local page pattern limit what

	while IFS=$'\t' read -r page pattern limit what; do
		[[ $page != '#'* ]] || continue
		rules+=("$page $pattern")
		limits[$page $pattern]=$limit
		paths[$page $pattern]=$what
		[[ $limit =~ ^(-|[1-9][0-9]*)$ ]] || {
			say_wrong "$list: $page $pattern: $limit is no limit"
			limits[$page $pattern]=-
		}
		for what in $what; do
			[ -e "$what" ] || say_wrong "$list: $page $pattern: there is no $what"
		done
	done < "$list"
}

# rule_of PAGE NAMES - sets rule
rule_of()
{
	for rule in "${rules[@]}"; do
		# shellcheck disable=SC2053
		if [ "$1" = "${rule%% *}" ] && [[ ${2%% *} = ${rule#* } ]]; then
			used[$rule]=yes
			return
		fi
	done
	return 1
}

# "none" also where TOP is in the clone of something else, or in one that git refuses to read.
find_history()
{
	local prefix

	history=none
	prefix=$(git rev-parse --show-prefix 2>&1) || [ ! -e .git ] || echo "$prefix"
	[ -z "$prefix" ] || return
	history=whole
	[ "$(git rev-parse --is-shallow-repository)" = false ] || history=shallow
}

pages()
{
	if [ $history = none ]; then
		cut -f 1 "$list" | grep -v '^#' | sort -u
	else
		git ls-files '*.md'
	fi
}

# check_age WHERE NAMES COMMAND COMMIT - as the rule says
check_age()
{
	local age limit=${limits[$rule]}

	if [[ ! $4 =~ ^[0-9a-f]{12,40}$ ]]; then
		say_wrong "$1: $2 is of $4, which is no commit: $3"
	elif [ $history = none ]; then
		return
	elif ! git merge-base --is-ancestor "$4" HEAD 2> /dev/null; then
		# What is cut off is unknown as well.
		[ $history = shallow ] || say_wrong "$1: $2 is of $4, which is not in the history: $3"
	else
		# shellcheck disable=SC2086
		age=$(git rev-list --count "$4..HEAD" -- ${paths[$rule]})
		[ $ages = no ] || echo "$1: $2: $age changes since $4, of $limit: $3"
		[ "$limit" = - ] || [ "$age" -le "$limit" ] ||
			say_wrong "$1: $2 is $age changes old, of at most $limit: $3"
	fi
}

# check_table PAGE LINE NAMES COMMAND COMMITS SUM FIGURES
check_table()
{
	local commit

	if [ "$3" = '!' ]; then
		say_wrong "$1:$2: a $4"
		return
	fi
	[ "$6" = "$7" ] || say_wrong "$1:$2: $3 has other figures than were filled in (sum $7): $4"
	if ! rule_of "$1" "$3"; then
		say_wrong "$1:$2: $list does not say what $3 measures"
		return
	fi
	for commit in $5; do
		check_age "$1:$2" "$3" "$4" "$commit"
	done
}

read_rules
find_history
case $history in
none) echo "no history here: the age of figures is not checked" ;;
shallow) echo "a part of the history is not here: older figures are not checked for their age" ;;
esac
tables=0
while IFS=$'\t' read -r page line names command commits sum figures; do
	tables=$((tables + 1))
	check_table "$page" "$line" "$names" "$command" "$commits" "$sum" "$figures"
done < <(pages | xargs awk -f "$here/../bench/figures.awk")
for rule in "${rules[@]}"; do
	[ -n "${used[$rule]:-}" ] || say_wrong "$list: no table is ${rule#* } of ${rule%% *}"
done
[ $tables -gt 0 ] || say_wrong "no page has a table of figures"
[ $wrong = 0 ]
