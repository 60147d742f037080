// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

#define REGIONS "/sys/kernel/slab/codectl_region/"
#define KMEMLEAK "/sys/kernel/debug/kmemleak"

/* What caches keep on two CPUs. */
#define SLAB_KEPT 2048
/* Fewer than any of these tests has rounds: one more program, started by others. */
#define REGIONS_KEPT 8

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

/* Makes the cache free what it keeps, so that its objects are those in use. */
static bool shrink_regions(void)
{
	FILE *file = fopen(REGIONS "shrink", "we");

	return file && fputs("1", file) >= 0 && !fclose(file);
}

bool memory_now(struct memory *m)
{
	if (!shrink_regions())
		return false;
	m->slab = number_in("/proc/meminfo", "SUnreclaim:");
	m->regions = number_in(REGIONS "objects", "");
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

#define CGROUP "/sys/fs/cgroup"

static bool group_write(const char *name, const char *file, const char *text)
{
	char path[256];
	bool ok;
	FILE *f;

	snprintf(path, sizeof(path), CGROUP "/%s/%s", name, file);
	f = fopen(path, "we");
	ok = f && fputs(text, f) >= 0;
	return f && !fclose(f) && ok;
}

bool memory_group_enter(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), CGROUP "/%s", name);
	return group_write(".", "cgroup.subtree_control", "+memory") &&
	       (!mkdir(path, 0755) || errno == EEXIST) &&
	       group_write(name, "cgroup.procs", "0");
}

void memory_group_leave(const char *name)
{
	char path[256];

	group_write(".", "cgroup.procs", "0");
	snprintf(path, sizeof(path), CGROUP "/%s", name);
	rmdir(path);
}

long memory_group_bytes(const char *name, const char *line)
{
	char path[256];

	snprintf(path, sizeof(path), CGROUP "/%s/%s", name,
		 line ? "memory.stat" : "memory.current");
	return number_in(path, line ?: "");
}
