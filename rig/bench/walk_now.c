// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of walking a stack of 8, 64 and 256 frames at once, without waiting for
 * anything, as for perf record -g and BPF programs:
 *
 *	walk_now fp	of a program that has frame pointers
 *	walk_now tables	of one that has none
 */
#include "attach.h"
#include "proc_file.h"
#include "bench.h"
#include "walks.h"

static void attach_all(void)
{
	if (!attach_instead())
		die("cannot attach tables");
}

/* This program has no table, the C library has one. */
static void by_frame_pointer(void)
{
	if (!have_codectl()) {
		chain_walks("now-fp-stock", WALK_WARM);
		return;
	}
	chain_walks("now-fp-registered", WALK_WARM);
	if (proc_unregister_all())
		die("codectl");
	chain_walks("now-fp", WALK_WARM);
	if (sysctl_write("kernel/codectl_callchain", 0))
		die("sysctl");
	chain_walks("now-fp-off", WALK_WARM);
	sysctl_write("kernel/codectl_callchain", 1);
	attach_all();
	chain_walks("now-fp-attached", WALK_WARM);
}

int main(int argc, char **argv)
{
	walks_open("perf_callchain_user");
	if (argc == 2 && !strcmp(argv[1], "fp")) {
		by_frame_pointer();
		return 0;
	}
	touch_tables();
	chain_walks("now-registered", WALK_WARM);
	attach_all();
	chain_walks("now-attached", WALK_WARM);
	return 0;
}
