// SPDX-License-Identifier: GPL-2.0
/*
 * Kernel memory per registration, from /proc/slabinfo before and after several processes have each
 * made many: all slabs, including tree nodes and the registry itself.
 */
#include <sys/wait.h>

#include "codectl_test.h"
#include "bench.h"

/* At least this many registrations, so that other activity does not show. */
#define NR_LEAST	2000

struct slabs {
	double objects;
	double pages;
};

/* Free objects kept for the next allocation are not in use. */
static void shrink_caches(void)
{
	if (system("for s in /sys/kernel/slab/*/shrink; do echo 1 > $s; done"))
		die("shrink");
}

/* Bytes of all objects in use, and of all slabs. */
static struct slabs read_slabs(void)
{
	unsigned long active, size, slabs, pages;
	struct slabs sum = {};
	char line[256];
	FILE *file;

	/* Let RCU and workers finish freeing. */
	sleep(2);
	shrink_caches();
	file = fopen("/proc/slabinfo", "r");
	if (!file)
		die("/proc/slabinfo");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line,
			   "%*s %lu %*u %lu %*u %lu : tunables %*u %*u %*u : slabdata %*u %lu",
			   &active, &size, &pages, &slabs) != 4)
			continue;
		sum.objects += active * size;
		sum.pages += slabs * pages * PAGE;
	}
	fclose(file);
	return sum;
}

/* Reports that it has started, registers when told, reports that, and stays to the end. */
static _Noreturn void child(int go, int done, int end, int nr)
{
	uint64_t text = addr_of(map_pages(2 * nr, PROT_READ | PROT_EXEC));
	char byte;

	if (write(done, "", 1) != 1 || read(go, &byte, 1) != 1)
		_exit(1);
	for (int i = 0; i < nr; i++) {
		uint64_t start = text + 2 * PAGE * i;

		if (register_elf_text(start, start + PAGE))
			_exit(1);
	}
	if (write(done, "", 1) != 1)
		_exit(1);
	_exit(read(end, &byte, 1) != 0);
}

static void wait_for(int done, int nr)
{
	char byte;

	while (nr--)
		if (read(done, &byte, 1) != 1)
			die("a child");
}

static void tell(int go, int nr)
{
	while (nr--)
		if (write(go, "", 1) != 1)
			die("write");
}

static void measure(int nr)
{
	int processes = nr < NR_LEAST ? NR_LEAST / nr : 1;
	struct slabs before, after;
	int go[2], done[2], end[2];

	if (pipe(go) || pipe(done) || pipe(end))
		die("pipe");
	for (int i = 0; i < processes; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid) {
			close(done[0]);
			close(end[1]);
			child(go[0], done[1], end[0], nr);
		}
	}
	close(done[1]);
	close(end[0]);
	wait_for(done[0], processes);
	before = read_slabs();
	tell(go[1], processes);
	wait_for(done[0], processes);
	after = read_slabs();
	close(go[0]);
	close(go[1]);
	close(done[0]);
	close(end[1]);
	while (wait(NULL) > 0)
		;
	result("memory", "objects", nr,
	       (after.objects - before.objects) / nr / processes, "bytes");
	/* With fewer, one additional slab in each cache would matter. */
	if (nr < 10000)
		return;
	result("memory", "slabs", nr,
	       (after.pages - before.pages) / nr / processes, "bytes");
}

int main(void)
{
	const int sizes[] = { 10, 100, 1000, 10000, 65000 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		measure(sizes[i]);
	return 0;
}
