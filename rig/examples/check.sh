#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check.sh [DIR]
#
# Compiles the programs in the EXAMPLES of the manual pages, and the code in
# adding-codectl-to-your-jit.md with engines.c, against libcodectl, and runs
# them. CC, CPPFLAGS, CFLAGS, LDFLAGS and RUN, a command that runs a program,
# come from the environment; DIR keeps what was extracted. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
docs=$here/../../docs
# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"

if [ $# -gt 0 ]; then
	work=$1
	mkdir -p "$work" || exit 1
else
	work=$(mktemp -d) || exit 1
	trap 'rm -rf "$work"' EXIT
fi
read -ra compiler <<< "${CC:-cc} ${CPPFLAGS:-} ${CFLAGS:-} -O2 -Wall -Werror"
read -ra link <<< "${LDFLAGS:-} -lcodectl"
read -ra runner <<< "${RUN:-}"

# Extracts the C programs in a page's EXAMPLES, each to its own file.
extract_page()
{
	awk -v prefix="$2" '
		/^\.Sh/ { examples = $2 == "EXAMPLES" }
		/^\.Ed/ { inside = 0 }
		inside {
			gsub(/\\-/, "-")
			gsub(/\\&/, "")
			gsub(/\\e/, "\\")
			print > file
		}
		examples && first && /^(#[a-z]|\/\*)/ {
			inside = 1
			file = prefix "-" ++nr ".c"
			print > file
		}
		{ first = /^\.Bd -literal/ }' "$1"
}

# Extracts the blocks of C in a text, as one file.
extract_text()
{
	awk '/^```$/ { inside = 0 } inside { print } /^```c$/ { inside = 1 }' "$1"
}

# shellcheck disable=SC2317
compile()
{
	"${compiler[@]}" -o "$work/program" "$@" "${link[@]}"
}

# shellcheck disable=SC2317
compile_and_run()
{
	compile "$@" && "${runner[@]}" "$work/program"
}

# Pages of commands and files have no program, or one that needs the kernel.
for page in "$docs"/*.[0-9] "$docs"/man3/*.[0-9]; do
	name=$(basename "$page")
	rm -f "$work/$name"-*.c
	extract_page "$page" "$work/$name"
	case $name in
	*.[23] | codectl_jit.7)
		[ -e "$work/$name-1.c" ]
		result $? "$name has an example" ;;
	esac
	for source in "$work/$name"-*.c; do
		[ -e "$source" ] || continue
		case $name in
		*.5) run "$(basename "$source" .c) compiles" \
			compile "$source" ;;
		*) run "$(basename "$source" .c) compiles and runs" \
			compile_and_run "$source" ;;
		esac
	done
done

extract_text "$docs/adding-codectl-to-your-jit.md" > "$work/adding.h"
run "the code for each class of engine compiles and runs" \
	compile_and_run -I "$work" "$here/engines.c"

finish
