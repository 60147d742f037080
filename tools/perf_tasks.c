// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "perf_tasks.h"
#include "report/index.h"
#include "tool.h"

/* For one process, the default of vm.max_map_count. */
#define MAX_OF_PROCESS	65536
/* Threads that have ended, for which a sample may still come. */
#define MAX_ENDED	4096
/* Ids to remember at most. */
#define MAX_CGROUPS	65536
/* As the kernel escapes paths. */
#define ESCAPED		"\\ "
#define MAX_PATH_BYTES	500
/* Limit for names and paths, with the overhead of a list and an index. */
#define MAX_TEXT_BYTES	(128UL << 20)
#define OVERHEAD	32

struct mapping {
	uint64_t start, end, offset;
	uint32_t file;		/* FILE_NONE: anonymous memory */
};

#define FILE_NONE	UINT32_MAX

struct process {
	int32_t pid;		/* first, for by_number() */
	uint32_t life;
	size_t nr_threads;
	struct mapping *list;	/* sorted, and not overlapping */
	size_t nr, room;
};

struct thread {
	int32_t tid;		/* first, for by_number() */
	struct process *process;
	const char *comm, *cgroup;
	bool asked;		/* for its cgroup */
	bool ended;
};

/* What distinguishes files, without padding. */
struct file {
	const char *path;
	uint64_t inode, generation;
	uint32_t major, minor;
};

struct cgroup {
	uint64_t id;		/* first, for by_id() */
	const char *path;
};

struct perf_tasks {
	char **texts;
	struct index index;	/* of texts */
	size_t text_bytes;
	void *threads, *processes, *cgroups;	/* trees */
	struct pool files;
	size_t nr_mappings, nr_cgroups;
	uint32_t nr_lives;
	int32_t ended[MAX_ENDED];	/* a ring */
	size_t next_ended;
	unsigned long left_out;
};

size_t perf_tasks_max_mappings = 4UL << 20;

struct perf_tasks *perf_tasks_new(void)
{
	struct perf_tasks *tasks = need(calloc(1, sizeof(*tasks)));

	tasks->files.size = sizeof(struct file);
	tasks->files.key_size = sizeof(struct file);
	return tasks;
}

static void free_process(void *node)
{
	struct process *process = node;

	free(process->list);
	free(process);
}

void perf_tasks_free(struct perf_tasks *tasks)
{
	tdestroy(tasks->threads, free);
	tdestroy(tasks->processes, free_process);
	tdestroy(tasks->cgroups, free);
	pool_free(&tasks->files);
	for (uint32_t i = 0; i < tasks->index.nr; i++)
		free(tasks->texts[i]);
	free(tasks->texts);
	index_free(&tasks->index);
	free(tasks);
}

unsigned long perf_tasks_left_out(const struct perf_tasks *tasks)
{
	return tasks->left_out;
}

static int by_number(const void *one, const void *other)
{
	const int32_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static int by_id(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

/* -------------------------------------------------------------------- texts */

/* The same pointer for the same text; NULL if there is no room for a new one. */
static const char *keep_text(struct perf_tasks *tasks, const char *text)
{
	const size_t len = strlen(text);
	const uint32_t hash = index_hash(text, len);
	uint32_t at = hash, nr;

	while ((nr = index_next(&tasks->index, hash, &at)) != INDEX_NONE)
		if (!strcmp(tasks->texts[nr], text))
			return tasks->texts[nr];
	if (len + OVERHEAD > MAX_TEXT_BYTES - tasks->text_bytes)
		return NULL;
	tasks->text_bytes += len + OVERHEAD;
	tasks->texts = need(reallocarray(tasks->texts, tasks->index.nr + 1,
					 sizeof(*tasks->texts)));
	tasks->texts[tasks->index.nr] = need(strdup(text));
	index_add(&tasks->index, hash, tasks->index.nr);
	return tasks->texts[tasks->index.nr - 1];
}

static const char *keep_path(struct perf_tasks *tasks, const char *path)
{
	char *escaped = escape(path, strnlen(path, MAX_PATH_BYTES), ESCAPED);
	const char *kept = keep_text(tasks, escaped);

	free(escaped);
	return kept;
}

/* ----------------------------------------------------------------- mappings */

static void unmap_all(struct perf_tasks *tasks, struct process *process)
{
	tasks->nr_mappings -= process->nr;
	free(process->list);
	process->list = NULL;
	process->nr = 0;
	process->room = 0;
}

/* The first one that ends after @address. */
static size_t find_mapping(const struct process *process, uint64_t address)
{
	size_t low = 0, high = process->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (process->list[middle].end > address)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Replaces @nr of them by @others. */
static void replace(struct perf_tasks *tasks, struct process *process, size_t at, size_t nr,
		    const struct mapping *others, size_t nr_others)
{
	size_t rest = process->nr - at - nr;

	if (process->nr + nr_others > process->room) {
		process->room = 2 * (process->nr + nr_others);
		process->list = need(reallocarray(process->list, process->room,
						  sizeof(*process->list)));
	}
	memmove(process->list + at + nr_others, process->list + at + nr,
		rest * sizeof(*process->list));
	memcpy(process->list + at, others, nr_others * sizeof(*others));
	process->nr = at + nr_others + rest;
	tasks->nr_mappings += nr_others;
	tasks->nr_mappings -= nr;
}

/* It replaces what was there; the rest of that stays. */
static void map(struct perf_tasks *tasks, struct process *process, struct mapping mapping)
{
	struct mapping parts[3];
	size_t nr = 0, first = find_mapping(process, mapping.start), last = first;

	if (process->nr >= MAX_OF_PROCESS || tasks->nr_mappings >= perf_tasks_max_mappings) {
		tasks->left_out++;
		return;
	}
	while (last < process->nr && process->list[last].start < mapping.end)
		last++;
	if (last > first && process->list[first].start < mapping.start) {
		parts[nr] = process->list[first];
		parts[nr++].end = mapping.start;
	}
	parts[nr++] = mapping;
	if (last > first && process->list[last - 1].end > mapping.end) {
		parts[nr] = process->list[last - 1];
		parts[nr].offset += mapping.end - parts[nr].start;
		parts[nr++].start = mapping.end;
	}
	replace(tasks, process, first, last - first, parts, nr);
}

/* ---------------------------------------------------------- threads, processes */

static struct process *find_process(const struct perf_tasks *tasks, int32_t pid)
{
	struct process **found = tfind(&pid, (void *const *)&tasks->processes, by_number);

	return found ? *found : NULL;
}

static struct process *get_process(struct perf_tasks *tasks, int32_t pid)
{
	struct process *process = find_process(tasks, pid);

	if (process)
		return process;
	process = need(calloc(1, sizeof(*process)));
	process->pid = pid;
	process->life = ++tasks->nr_lives;
	need(tsearch(process, &tasks->processes, by_number));
	return process;
}

static void leave_process(struct perf_tasks *tasks, struct process *process)
{
	if (--process->nr_threads)
		return;
	unmap_all(tasks, process);
	tdelete(process, &tasks->processes, by_number);
	free_process(process);
}

static struct thread *find_thread(const struct perf_tasks *tasks, int32_t tid)
{
	struct thread **found = tfind(&tid, (void *const *)&tasks->threads, by_number);

	return found ? *found : NULL;
}

/* It may be another one with that number, in another process. */
static struct thread *get_thread(struct perf_tasks *tasks, int32_t pid, int32_t tid)
{
	struct thread *thread = find_thread(tasks, tid);
	struct process *process = get_process(tasks, pid);

	if (thread && thread->process == process)
		return thread;
	process->nr_threads++;
	if (thread) {
		leave_process(tasks, thread->process);
		*thread = (struct thread){ .tid = tid, .process = process };
		return thread;
	}
	thread = need(calloc(1, sizeof(*thread)));
	thread->tid = tid;
	thread->process = process;
	need(tsearch(thread, &tasks->threads, by_number));
	return thread;
}

/* Unless the number has been reused. */
static void forget_thread(struct perf_tasks *tasks, int32_t tid)
{
	struct thread *thread = find_thread(tasks, tid);

	if (!thread || !thread->ended)
		return;
	tdelete(&tid, &tasks->threads, by_number);
	leave_process(tasks, thread->process);
	free(thread);
}

static void end_thread(struct perf_tasks *tasks, const struct perf_record *record)
{
	int32_t *place = &tasks->ended[tasks->next_ended++ % MAX_ENDED];

	/* It may be the same thread, if records were lost. */
	if (*place)
		forget_thread(tasks, *place);
	*place = record->tid;
	get_thread(tasks, record->pid, record->tid)->ended = true;
}

/* A new process has the mappings of its parent. */
static void fork_thread(struct perf_tasks *tasks, const struct perf_record *record)
{
	struct thread *parent = find_thread(tasks, record->fork.parent_tid);
	const char *comm = parent ? parent->comm : NULL;
	struct thread *thread = get_thread(tasks, record->pid, record->tid);
	struct process *process = thread->process, *from;

	*thread = (struct thread){ .tid = record->tid, .process = process, .comm = comm };
	if (record->pid == record->fork.parent_pid)
		return;
	if (!record->fork.synthesized)
		process->life = ++tasks->nr_lives;
	unmap_all(tasks, process);
	from = find_process(tasks, record->fork.parent_pid);
	if (record->fork.synthesized || !from || !from->nr)
		return;
	if (from->nr > perf_tasks_max_mappings - tasks->nr_mappings) {
		tasks->left_out += from->nr;
		return;
	}
	replace(tasks, process, 0, 0, from->list, from->nr);
}

static void name_thread(struct perf_tasks *tasks, const struct perf_record *record)
{
	struct thread *thread = get_thread(tasks, record->pid, record->tid);

	thread->comm = keep_text(tasks, record->comm.name);
	thread->ended = false;
	if (!record->comm.exec)
		return;
	/* Its creator may have moved it to its cgroup until now. */
	thread->asked = false;
	unmap_all(tasks, thread->process);
}

/* ------------------------------------------------------------- taking records */

static uint32_t file_of(struct perf_tasks *tasks, const struct perf_record *record)
{
	const struct file file = {
		.path = keep_path(tasks, record->mmap.path),
		.inode = record->mmap.inode, .generation = record->mmap.generation,
		.major = record->mmap.major, .minor = record->mmap.minor,
	};

	tasks->left_out += !file.path;
	if (!file.path || (!file.inode && strcmp(file.path, "[vdso]")))
		return FILE_NONE;
	return pool_intern(&tasks->files, &file);
}

static void take_mapping(struct perf_tasks *tasks, const struct perf_record *record)
{
	struct thread *thread;

	if (record->mmap.kernel || record->mmap.data || record->pid < 0)
		return;
	thread = get_thread(tasks, record->pid, record->tid);
	map(tasks, thread->process, (struct mapping){
		.start = record->mmap.start,
		.end = record->mmap.start + record->mmap.len,
		.offset = record->mmap.offset,
		.file = file_of(tasks, record),
	});
}

static void take_cgroup(struct perf_tasks *tasks, const struct perf_record *record)
{
	struct cgroup **found = tfind(&record->cgroup.id, &tasks->cgroups, by_id), *cgroup;

	if (!found && tasks->nr_cgroups >= MAX_CGROUPS)
		return;
	cgroup = found ? *found : need(calloc(1, sizeof(*cgroup)));
	cgroup->id = record->cgroup.id;
	cgroup->path = keep_text(tasks, record->cgroup.path);
	if (found)
		return;
	need(tsearch(cgroup, &tasks->cgroups, by_id));
	tasks->nr_cgroups++;
}

void perf_tasks_take(struct perf_tasks *tasks, const struct perf_record *record)
{
	switch (record->kind) {
	case PERF_KIND_MMAP:
		take_mapping(tasks, record);
		break;
	case PERF_KIND_COMM:
		name_thread(tasks, record);
		break;
	case PERF_KIND_FORK:
		fork_thread(tasks, record);
		break;
	case PERF_KIND_EXIT:
		end_thread(tasks, record);
		break;
	case PERF_KIND_CGROUP:
		take_cgroup(tasks, record);
		break;
	default:
		break;
	}
}

/* ------------------------------------------------------------- lookups */

bool perf_tasks_find(const struct perf_tasks *tasks, int32_t pid, uint64_t address,
		     struct perf_mapped *mapped, uint64_t *offset)
{
	const struct process *process = find_process(tasks, pid);
	const struct mapping *mapping;
	const struct file *file;
	size_t at;

	if (!process)
		return false;
	at = find_mapping(process, address);
	mapping = process->list + at;
	if (at == process->nr || mapping->start > address || mapping->file == FILE_NONE)
		return false;
	file = pool_at(&tasks->files, mapping->file);
	*mapped = (struct perf_mapped){
		.id = mapping->file + 1ULL, .path = file->path, .inode = file->inode,
		.major = file->major, .minor = file->minor,
	};
	*offset = mapping->offset + (address - mapping->start);
	return true;
}

uint32_t perf_tasks_life(const struct perf_tasks *tasks, int32_t pid)
{
	const struct process *process = find_process(tasks, pid);

	return process ? process->life : 0;
}

/* As it is now, in the unified hierarchy; NULL if it cannot be known. */
static const char *ask_cgroup(struct perf_tasks *tasks, int32_t tid)
{
	char *path = format("/proc/%d/cgroup", tid), *line = NULL;
	FILE *file = fopen(path, "re");
	const char *found = NULL;
	size_t room = 0;

	free(path);
	while (file && !found && getline(&line, &room, file) > 0)
		if (!strncmp(line, "0::", 3)) {
			line[strcspn(line, "\n")] = '\0';
			found = keep_text(tasks, line + 3);
		}
	if (file)
		fclose(file);
	free(line);
	return found;
}

struct profile_task perf_tasks_describe(struct perf_tasks *tasks, int32_t pid, int32_t tid,
					uint64_t cgroup)
{
	struct thread *thread = get_thread(tasks, pid, tid);
	struct profile_task task = { .comm = thread->comm, .pid = pid, .tid = tid };
	struct cgroup **found = cgroup ? tfind(&cgroup, &tasks->cgroups, by_id) : NULL;

	if (!found && !thread->asked) {
		thread->cgroup = ask_cgroup(tasks, tid) ?: thread->cgroup;
		thread->asked = true;
	}
	task.cgroup = found ? (*found)->path : thread->cgroup;
	return task;
}
