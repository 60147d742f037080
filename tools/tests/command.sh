# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
#
# For the tests of the codectl command $command on the host.

# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"

# expect STATUS TEXT ARG... - checks the exit status, and that a line contains the text
expect()
{
	wanted=$1 text=$2
	shift 2
	said=$("$CODECTL" "$command" "$@" 2>&1)
	status=$?
	echo "$said"
	[ "$status" = "$wanted" ] && echo "$said" | grep -q -F -- "$text"
}
