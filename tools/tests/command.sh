# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
#
# For the tests of a command of codectl on the host, which is $command.

# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"

# expect STATUS TEXT ARG... - the exit status, and a line that has the text
expect()
{
	wanted=$1 text=$2
	shift 2
	said=$("$CODECTL" "$command" "$@" 2>&1)
	status=$?
	echo "$said"
	[ "$status" = "$wanted" ] && echo "$said" | grep -q -F -- "$text"
}
