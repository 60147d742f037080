/* SPDX-License-Identifier: MIT */
/*
 * Threads, what their processes have mapped executable, and cgroups, according to the
 * records of perf.
 */
#ifndef PERF_TASKS_H
#define PERF_TASKS_H

#include "perf_data.h"
#include "report/profile.h"

struct perf_tasks;

struct perf_tasks *perf_tasks_new(void);
void perf_tasks_free(struct perf_tasks *tasks);

/* Maximum number of mappings of all processes. */
extern size_t perf_tasks_max_mappings;

/* In order of time. */
void perf_tasks_take(struct perf_tasks *tasks, const struct perf_record *record);

/* The same for each mapping of the file; the id is not 0. */
struct perf_mapped {
	uint64_t id;
	const char *path;	/* escaped; "[vdso]" has no inode */
	uint64_t inode;
	uint32_t major, minor;
};

/*
 * Finds what is mapped at @address, and the offset in it.  False if it is unknown, or
 * anonymous memory.
 */
bool perf_tasks_find(const struct perf_tasks *tasks, int32_t pid, uint64_t address,
		     struct perf_mapped *mapped, uint64_t *offset);

/*
 * Name and cgroup, as the thread has chosen them, until perf_tasks_free(); @cgroup is
 * the id in the sample, or 0: then it is looked up, once.
 */
struct profile_task perf_tasks_describe(struct perf_tasks *tasks, int32_t pid, int32_t tid,
					uint64_t cgroup);

/* Which of the processes with that number it is now; 0 if it is unknown. */
uint32_t perf_tasks_life(const struct perf_tasks *tasks, int32_t pid);

/* Mappings that were dropped as there are too many. */
unsigned long perf_tasks_left_out(const struct perf_tasks *tasks);

#endif
