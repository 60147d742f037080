# SPDX-License-Identifier: MIT
#
# usage: awk -f order.awk FOLDED
#
# Whether stacks that go through compiled code have PostgreSQL's functions around it in the
# order in which these call each other: main(), that of a backend or of a parallel
# worker, the executor, and then compiled code, which the executor alone calls.  Says
# how many do, and the first of those that do not; fails if there are such.

BEGIN {
	start = "^(_start;)?(__libc_start_main[^;]*;|__libc_start_call_main;|libc[^;]*;)*main;PostmasterMain;"
	backend = "(.*;)?PostgresMain;(.*;)?PortalRun;(.*;)?"
	worker = "(.*;)?BackgroundWorkerMain;ParallelWorkerMain;ParallelQueryMain;(.*;)?"
	order = start "(" backend "|" worker ")standard_ExecutorRun;(.*;)?$"
}

{
	count = $NF
	sub(/ [0-9]+$/, "")
	if (!match($0, /(^|;)anon\+/))
		next
	if (substr($0, 1, RSTART) ~ order) {
		right += count
	} else {
		wrong += count
		if (!(wrong > count))
			first = $0
	}
}

END {
	printf "%d stacks through compiled code have the callers in order, %d have not\n", right, wrong
	if (wrong)
		print "FAILED: the first is " first
	exit wrong > 0 || !right
}
