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
docs=$here/..
count=0 bad=0

if [ $# -gt 0 ]; then
	work=$1
	mkdir -p "$work" || exit 1
else
	work=$(mktemp -d) || exit 1
	trap 'rm -rf "$work"' EXIT
fi
read -ra compile <<< "${CC:-cc} ${CPPFLAGS:-} ${CFLAGS:-} -O2 -Wall -Werror"
read -ra link <<< "${LDFLAGS:-} -lcodectl"
read -ra run <<< "${RUN:-}"

# report NAME STATUS LOG
report()
{
	local ok=ok

	count=$((count + 1))
	if [ "$2" -ne 0 ]; then
		ok='not ok'
		bad=$((bad + 1))
		sed 's/^/# /' "$3"
	fi
	echo "$ok $count $1"
}

# The literal displays in a page's EXAMPLES, each into its own file.
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
		examples && /^\.Bd -literal/ {
			inside = 1
			file = prefix "-" ++nr ".c"
		}' "$1"
}

# The blocks of C in a text, as one file.
extract_text()
{
	awk '/^```$/ { inside = 0 } inside { print } /^```c$/ { inside = 1 }' "$1"
}

# try NAME SOURCE...
try()
{
	local name=$1 log=$work/log status
	shift

	"${compile[@]}" -o "$work/program" "$@" "${link[@]}" > "$log" 2>&1 &&
		"${run[@]}" "$work/program" >> "$log" 2>&1
	status=$?
	report "$name" $status "$log"
}

for page in "$docs"/*.[0-9] "$docs"/man3/*.[0-9]; do
	name=$(basename "$page")
	extract_page "$page" "$work/$name"
	[ -e "$work/$name-1.c" ]
	report "$name has an example" $? /dev/null
	for source in "$work/$name"-*.c; do
		[ -e "$source" ] && try "$(basename "$source" .c) compiles and runs" "$source"
	done
done

extract_text "$docs/adding-codectl-to-your-jit.md" > "$work/adding.h"
try "the code for each class of engine compiles and runs" -I "$work" "$here/engines.c"

echo "1..$count"
exit $((bad > 0))
