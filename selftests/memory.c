// SPDX-License-Identifier: GPL-2.0
#include "memory.h"

#define REGIONS "/sys/kernel/slab/codectl_region/objects"
#define KMEMLEAK "/sys/kernel/debug/kmemleak"

/* What a cache keeps on two CPUs. */
#define SLAB_KEPT 2048
#define REGIONS_KEPT 2048

/* The first number in a line that starts with @name. */
static long number_in(const char *file_name, const char *name)
{
	FILE *file = fopen(file_name, "re");
	size_t len = strlen(name);
	char line[128];
	long nr = -1;

	while (file && nr < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, len))
			sscanf(line + len, "%ld", &nr);
	if (file)
		fclose(file);
	return nr;
}

bool memory_now(struct memory *m)
{
	m->slab = number_in("/proc/meminfo", "SUnreclaim:");
	m->regions = number_in(REGIONS, "");
	return m->slab >= 0 && m->regions >= 0;
}

bool memory_is_back(const struct memory *before)
{
	double end = now() + scaled_seconds(20);
	struct memory m;
	bool back;

	if (!access(KMEMLEAK, F_OK))
		return true;
	do {
		usleep(100000);
		back = memory_now(&m) && m.slab <= before->slab + SLAB_KEPT &&
		       m.regions <= before->regions + REGIONS_KEPT;
	} while (!back && now() < end);
	printf("# %ld kB in slabs, before: %ld; %ld registrations, before: %ld\n",
	       m.slab, before->slab, m.regions, before->regions);
	return back;
}
