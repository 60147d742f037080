#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: fill-figures.sh REPORT PAGE
#
# Puts the tables of the report into the page, between the markers that figures.awk
# describes, with the command and the commit that each is of. Tables that the report does
# not have stay as they are; it fails if the page has none of them.

set -eu

if [ $# != 2 ] || [ ! -s "$1" ] || [ ! -s "$2" ]; then
	echo "usage: fill-figures.sh REPORT PAGE" >&2
	exit 2
fi
new=$(mktemp)
trap 'rm -f "$new"' EXIT
awk -v fill=1 -f "$(dirname "$0")/figures.awk" "$1" "$2" > "$new"
cat "$new" > "$2"
