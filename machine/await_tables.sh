# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# await_tables SECONDS [COMMAND...] - for jobs of the machine, which source this: waits until the
# service codectl-attach has made its tables and COMMAND succeeds; if that takes longer than
# SECONDS, says so and fails. The caller stops its programs meanwhile: tables are made only while
# CPUs are idle.
#
# The service has finished if it is ready and has used less than a tenth of a second of CPU time
# in five seconds. Children count while they still run; the time starts at 0 if the service does.
await_tables()
{
	local limit=$1 end=$((SECONDS + $1)) before now=-1

	shift
	while [ $SECONDS -lt $end ]; do
		before=$now now=$(systemctl show -P CPUUsageNSec codectl-attach)
		# It is "[not set]" until the service has been started.
		[[ $now =~ ^[0-9]+$ ]] || now=-1
		if ((before >= 0 && now >= before && now - before < 100000000)) &&
			systemctl -q is-active codectl-attach && "${@:-true}"; then
			return 0
		fi
		sleep 5
	done
	echo "codectl-attach has not made its tables in $limit seconds" >&2
	return 1
}
