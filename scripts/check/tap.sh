# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For scripts that print TAP.

count=0 failed=0

# result STATUS NAME
result()
{
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count $2"
	else
		failed=$((failed + 1))
		echo "not ok $count $2"
	fi
}

# run NAME COMMAND... - prints the output of the command if it fails
run()
{
	what=$1
	shift
	if said=$("$@" 2>&1); then
		result 0 "$what"
	else
		echo "$said" | sed 's/^/# /'
		result 1 "$what"
	fi
}

finish()
{
	echo "1..$count"
	[ $failed -eq 0 ]
	exit
}
