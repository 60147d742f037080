# SPDX-License-Identifier: MIT
#
# usage: awk -f order.awk FOLDED
#
# Checks that stacks through compiled code have PostgreSQL's functions around it in the order of
# their calls: main(), the function of a backend or of a parallel worker, the executor, and
# then the compiled code, which only the executor calls.  Prints how many do, and the first
# one that does not; fails if there is one.

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
