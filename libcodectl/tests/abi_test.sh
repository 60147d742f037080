#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the shared library exports.

# shellcheck disable=SC2317
here=$(cd "$(dirname "$0")" && pwd)
library=$(dirname "$here")
# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"
shared=.libs/libcodectl.so.0

exported()
{
	nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sort
}

# What the map lists, each with its version.
listed()
{
	awk '/^CODECTL_/ { version = $1 } /^\tcodectl_.*;/ { sub(/;/, "")
		print $1 "@@" version }' "$library/libcodectl.map" | sort
}

declared()
{
	sed -n 's/^[a-z].*[ *]\(codectl_[a-z_]*\)(.*/\1/p' \
		"$library/include/codectl.h" | sort
}

compare()
{
	printf '%s\n--\n%s\n' "$1" "$2"
	[ -n "$1" ] && [ "$1" = "$2" ]
}

# Changes that users would see need a new baseline: "make update-abi".
compare_abi()
{
	"$ABIDIFF" "$library/abi/libcodectl.abi" "$shared"
}

# Static programs share their names with the library.
static_names()
{
	! nm -g --defined-only .libs/libcodectl.a |
		awk 'NF == 3 && $3 !~ /^codectl_/' | grep .
}

run "exported is what the map lists" compare "$(exported)" "$(listed)"
run "declared is what is exported" compare "$(declared)" "$(exported | sed 's/@.*//')"
if [ -n "$ABIDIFF" ]; then
	run "the interface is that of the baseline" compare_abi
else
	result 0 "the interface is that of the baseline # SKIP abigail-tools is missing"
fi
run "the static library has no names of others" static_names
run "the soname is that of the version" sh -c "objdump -p $shared | grep -q 'SONAME *libcodectl.so.0\$'"
finish
