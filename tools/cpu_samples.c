// SPDX-License-Identifier: MIT
#include <linux/perf_event.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_samples.h"
#include "frames.h"
#include "kernel_names.h"
#include "perf_tasks.h"
#include "report/index.h"
#include "tool.h"

/* Newer than some headers of the C library. */
#define CONTEXT_USER_DEFERRED	((uint64_t)-640)

/*
 * Whoever is watched for long has names and tasks that no longer exist, and has waited
 * for names as long as symbols ever do: then all of it starts anew.
 */
#define CLEARS_PER_RENEWAL	64

enum node_kind { NODE_CODE, NODE_KERNEL, NODE_MARK };

static const char *const marks[] = { "[kernel]", "[no user stack]" };

enum mark { MARK_KERNEL, MARK_NO_USER_STACK };

/* A frame on top of its caller, without padding. */
struct node {
	struct frame frame;	/* with NODE_MARK the offset is the number of a mark */
	uint32_t caller;	/* PROFILE_NO_STACK if outermost */
	uint32_t kind;
	int32_t pid;		/* 0 if the file is all that matters */
	uint32_t life;		/* of the process, or 0 */
};

/* Without padding, too. */
struct sample {
	uint64_t tick;
	uint32_t node, task;
	uint64_t events, ns;	/* not part of the key */
};

/* A sample whose user stack is to come. */
struct pending {
	struct pending *next;
	uint64_t time, ns;
	uint32_t task;
	uint32_t nr;		/* addresses in the kernel, the innermost first */
	uint64_t ips[];
};

/* Samples that wait for the same user stack. */
struct group {
	uint64_t cookie;	/* first two, for by_cookie() */
	int64_t tid;
	struct group *next;	/* in the order of their first samples */
	struct group **link;	/* the reference to it there */
	struct pending *list;
	uint64_t time;		/* of the first */
};

struct cpu_samples {
	bool kernel;
	struct perf_tasks *tasks;
	struct frames *frames;
	struct kernel_names *kernel_names;
	struct profile *known;	/* for the numbers of tasks */
	struct pool nodes, samples;
	void *groups;		/* tree */
	struct group *oldest, **end;
	size_t nr_pending;	/* and their addresses */
	uint64_t start, latest;
	bool any;
	unsigned long nr_clears;
	struct cpu_counts counts;
};

size_t cpu_samples_max_nodes = 4UL << 20;
size_t cpu_samples_max_pending = 8UL << 20;

static void begin(struct cpu_samples *samples)
{
	samples->nodes = (struct pool){ .size = sizeof(struct node),
					.key_size = sizeof(struct node) };
	samples->samples = (struct pool){ .size = sizeof(struct sample),
					  .key_size = offsetof(struct sample, events) };
}

struct cpu_samples *cpu_samples_new(bool kernel)
{
	struct cpu_samples *samples = need(calloc(1, sizeof(*samples)));

	samples->kernel = kernel;
	samples->known = profile_new();
	samples->tasks = perf_tasks_new();
	samples->frames = frames_new(NULL);
	samples->end = &samples->oldest;
	begin(samples);
	return samples;
}

static void end(struct cpu_samples *samples)
{
	pool_free(&samples->nodes);
	pool_free(&samples->samples);
}

struct cpu_counts cpu_samples_counts(const struct cpu_samples *samples)
{
	return samples->counts;
}

unsigned long cpu_samples_unnamed(const struct cpu_samples *samples)
{
	return frames_lost(samples->frames) + perf_tasks_left_out(samples->tasks);
}

uint64_t cpu_samples_latest(const struct cpu_samples *samples)
{
	return samples->latest;
}

/* -------------------------------------------------------------------- stacks */

/* Too many: returns the caller; add() then drops the sample. */
static uint32_t push(struct cpu_samples *samples, const struct node *node)
{
	return samples->nodes.nr < cpu_samples_max_nodes ?
	       pool_intern(&samples->nodes, node) : node->caller;
}

static uint32_t push_mark(struct cpu_samples *samples, enum mark mark)
{
	const struct node node = {
		.frame.offset = mark, .caller = PROFILE_NO_STACK, .kind = NODE_MARK,
	};

	return push(samples, &node);
}

static uint32_t push_kernel(struct cpu_samples *samples, uint32_t caller, uint64_t address,
			    bool exact)
{
	const struct node node = {
		.frame = { .offset = address, .exact = exact },
		.caller = caller, .kind = NODE_KERNEL,
	};

	return push(samples, &node);
}

/* Best opened while the process still exists. */
static void add_file(struct cpu_samples *samples, const struct perf_mapped *mapped, int32_t pid)
{
	struct file_record record = {
		.id = mapped->id, .inode = mapped->inode, .by_inode = true,
		.dev_major = mapped->major, .dev_minor = mapped->minor,
		.verified = true, .unit = UNIT_FILE,
	};

	if (frames_knows(samples->frames, mapped->id))
		return;
	snprintf(record.path, sizeof(record.path), "%s", mapped->path);
	frames_add_file(samples->frames, &record, pid);
}

static struct process_id process_of(const struct node *node)
{
	return (struct process_id){ node->pid, node->life };
}

static uint32_t push_user(struct cpu_samples *samples, uint32_t caller, int32_t pid,
			  uint64_t address, bool exact)
{
	struct node node = {
		.frame = { .offset = address, .exact = exact },
		.caller = caller, .kind = NODE_CODE, .pid = pid,
		.life = perf_tasks_life(samples->tasks, pid),
	};
	struct perf_mapped mapped;
	uint64_t offset;

	/* A return address may be the end of a mapping. */
	if (perf_tasks_find(samples->tasks, pid, address - !exact, &mapped, &offset)) {
		node.frame.offset = offset + !exact;
		node.frame.id = mapped.id;
		node.pid = 0;
		node.life = 0;
		add_file(samples, &mapped, pid);
	} else {
		frames_note(samples->frames, &node.frame, 1, process_of(&node));
	}
	return push(samples, &node);
}

/* ------------------------------------------------------------------- samples */

struct parts {
	struct perf_chain kernel, user;
	uint64_t cookie;	/* of a user stack that comes later */
	bool deferred;
};

/* What comes after each PERF_CONTEXT_*, except guests'.  @user: also what comes first. */
static struct parts split(const struct perf_chain *chain, bool user)
{
	struct parts parts = { .user.ips = chain->ips };
	struct perf_chain other, *part = user ? &parts.user : &other;

	for (uint64_t i = 0; i < chain->nr; i++) {
		uint64_t ip = perf_chain_at(chain, i);

		if (ip == CONTEXT_USER_DEFERRED && i + 1 < chain->nr) {
			parts.cookie = perf_chain_at(chain, ++i);
			parts.deferred = true;
			part = &other;
		} else if (ip >= PERF_CONTEXT_MAX) {
			part = ip == PERF_CONTEXT_KERNEL ? &parts.kernel :
			       ip == PERF_CONTEXT_USER ? &parts.user : &other;
			*part = (struct perf_chain){ chain->ips + (i + 1) * sizeof(ip), 0 };
		} else if (part != &other) {
			part->nr++;
		}
	}
	return parts;
}

static uint32_t push_chain(struct cpu_samples *samples, const struct perf_chain *chain,
			   int32_t pid)
{
	uint32_t node = PROFILE_NO_STACK;

	for (uint64_t i = chain->nr; i--;)
		node = push_user(samples, node, pid, perf_chain_at(chain, i), !i);
	return node;
}

static void add(struct cpu_samples *samples, uint32_t node, const struct pending *of)
{
	struct sample sample = {
		.tick = of->time > samples->start ?
			(of->time - samples->start) / PROFILE_TICK_NS : 0,
		.node = node, .task = of->task,
	}, *kept;

	if (samples->samples.nr >= cpu_samples_max_nodes ||
	    samples->nodes.nr >= cpu_samples_max_nodes) {
		samples->counts.left_out++;
		return;
	}
	kept = pool_at(&samples->samples, pool_intern(&samples->samples, &sample));
	kept->events++;
	add_ns(&kept->ns, of->ns);
}

static void finish(struct cpu_samples *samples, const struct pending *of, uint32_t node)
{
	for (uint32_t i = of->nr; i--;)
		node = push_kernel(samples, node, of->ips[i], !i);
	add(samples, node, of);
}

/* Without frames only the place is known: user space, or the kernel. */
static uint32_t push_place(struct cpu_samples *samples, const struct perf_record *record,
			   const struct pending *of)
{
	if (!record->sample.kernel)
		return push_user(samples, PROFILE_NO_STACK, record->pid, record->sample.ip, true);
	return of->nr ? PROFILE_NO_STACK : push_mark(samples, MARK_KERNEL);
}

/* ------------------------------------------------------------------- pending */

static int by_cookie(const void *one, const void *other)
{
	const struct group *a = one, *b = other;

	if (a->cookie != b->cookie)
		return a->cookie < b->cookie ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* PROFILE_NO_STACK: it will remain unknown what called the kernel. */
static void finish_group(struct cpu_samples *samples, struct group *group, uint32_t node)
{
	const bool none = node == PROFILE_NO_STACK;
	struct pending *pending;

	if (none)
		node = push_mark(samples, MARK_NO_USER_STACK);
	while ((pending = group->list)) {
		const unsigned long left_out = samples->counts.left_out;

		group->list = pending->next;
		samples->nr_pending -= 1 + pending->nr;
		finish(samples, pending, node);
		samples->counts.no_stack += none && samples->counts.left_out == left_out;
		free(pending);
	}
}

static void drop_group(struct cpu_samples *samples, struct group *group)
{
	tdelete(group, &samples->groups, by_cookie);
	*group->link = group->next;
	if (group->next)
		group->next->link = group->link;
	else
		samples->end = group->link;
	free(group);
}

/* It will remain unknown what called the kernel. */
static void finish_oldest(struct cpu_samples *samples)
{
	finish_group(samples, samples->oldest, PROFILE_NO_STACK);
	drop_group(samples, samples->oldest);
}

void cpu_samples_settle(struct cpu_samples *samples, uint64_t before)
{
	while (samples->oldest && samples->oldest->time < before)
		finish_oldest(samples);
}

static void keep_pending(struct cpu_samples *samples, int32_t tid, uint64_t cookie,
			 struct pending *pending)
{
	struct group key = { .cookie = cookie, .tid = tid }, *group;
	struct group **found = tfind(&key, &samples->groups, by_cookie);

	if (found) {
		group = *found;
	} else {
		group = need(calloc(1, sizeof(*group)));
		group->cookie = cookie;
		group->tid = tid;
		group->time = pending->time;
		need(tsearch(group, &samples->groups, by_cookie));
		group->link = samples->end;
		*samples->end = group;
		samples->end = &group->next;
	}
	pending->next = group->list;
	group->list = pending;
	samples->nr_pending += 1 + pending->nr;
	while (samples->nr_pending > cpu_samples_max_pending)
		finish_oldest(samples);
}

static void take_chain(struct cpu_samples *samples, const struct perf_record *record)
{
	const struct group key = { .cookie = record->chain.cookie, .tid = record->tid };
	struct group **found = tfind(&key, &samples->groups, by_cookie), *group;
	struct parts parts;

	if (!found)
		return;
	parts = split(&record->chain.chain, true);
	group = *found;
	finish_group(samples, group, push_chain(samples, &parts.user, record->pid));
	drop_group(samples, group);
}

/* ------------------------------------------------------------------- records */

static struct pending *describe(struct cpu_samples *samples, const struct perf_record *record,
				const struct perf_chain *kernel)
{
	const uint64_t nr = samples->kernel ? kernel->nr : 0;
	struct pending *pending = need(calloc(1, sizeof(*pending) + nr * sizeof(uint64_t)));
	const struct profile_task task = perf_tasks_describe(samples->tasks, record->pid,
							     record->tid,
							     record->sample.cgroup);

	pending->time = record->time;
	pending->ns = record->sample.period;
	pending->task = profile_task(samples->known, &task);
	for (; pending->nr < nr; pending->nr++)
		pending->ips[pending->nr] = perf_chain_at(kernel, pending->nr);
	return pending;
}

/* A task that has ended no longer has a number. */
static void take_sample(struct cpu_samples *samples, struct perf_record *record)
{
	const struct parts parts = split(&record->sample.chain, false);
	struct pending *pending;

	if (!record->pid)
		return;
	if (record->pid < 0 || record->tid < 0) {
		record->pid = 0;
		record->tid = 0;
	}
	if (!samples->any)
		samples->start = record->time;
	samples->any = true;
	samples->latest = record->time;
	samples->counts.events++;
	pending = describe(samples, record, &parts.kernel);
	if (parts.deferred) {
		keep_pending(samples, record->tid, parts.cookie, pending);
		return;
	}
	finish(samples, pending, parts.user.nr ?
	       push_chain(samples, &parts.user, record->pid) :
	       push_place(samples, record, pending));
	free(pending);
}

void cpu_samples_take(void *context, const struct perf_record *record)
{
	struct cpu_samples *samples = context;
	struct perf_record copy = *record;

	if (record->kind == PERF_KIND_SAMPLE)
		take_sample(samples, &copy);
	else if (record->kind == PERF_KIND_CHAIN)
		take_chain(samples, record);
	else if (record->kind == PERF_KIND_LOST)
		samples->counts.lost += record->lost;
	else
		perf_tasks_take(samples->tasks, record);
}

void cpu_samples_clear(struct cpu_samples *samples)
{
	end(samples);
	begin(samples);
	samples->any = false;
	if (++samples->nr_clears % CLEARS_PER_RENEWAL)
		return;
	/* Unfinished samples have numbers of tasks. */
	cpu_samples_settle(samples, UINT64_MAX);
	end(samples);
	begin(samples);
	profile_free(samples->known);
	samples->known = profile_new();
	frames_free(samples->frames);
	samples->frames = frames_new(NULL);
}

void cpu_samples_free(struct cpu_samples *samples)
{
	cpu_samples_settle(samples, UINT64_MAX);
	end(samples);
	profile_free(samples->known);
	perf_tasks_free(samples->tasks);
	frames_free(samples->frames);
	if (samples->kernel_names)
		kernel_names_free(samples->kernel_names);
	free(samples);
}

/* ------------------------------------------------------------------- profiles */

/* Finds the nodes that samples have, and requests all their names together. */
static bool *want_nodes(struct cpu_samples *samples)
{
	bool *wanted = need(calloc(samples->nodes.nr + 1UL, sizeof(*wanted)));

	for (uint32_t i = 0; i < samples->samples.nr; i++) {
		const struct sample *sample = pool_at(&samples->samples, i);

		for (uint32_t nr = sample->node; nr != PROFILE_NO_STACK && !wanted[nr];) {
			const struct node *node = pool_at(&samples->nodes, nr);

			wanted[nr] = true;
			if (node->kind == NODE_CODE)
				frames_want(samples->frames, &node->frame, 1, process_of(node));
			nr = node->caller;
		}
	}
	return wanted;
}

static uint32_t fill_kernel(struct cpu_samples *samples, const struct node *node,
			    struct profile *profile, uint32_t caller)
{
	if (!samples->kernel_names)
		samples->kernel_names = kernel_names_read("/proc/kallsyms");
	return kernel_names_push(samples->kernel_names, profile, caller, node->frame.offset,
				 node->frame.exact);
}

static uint32_t fill_node(struct cpu_samples *samples, const struct node *node,
			  struct profile *profile, uint32_t caller)
{
	const struct profile_frame mark = {
		.function = marks[node->kind == NODE_MARK ? node->frame.offset : 0],
		.flags = PROFILE_MARK,
	};

	if (node->kind == NODE_CODE)
		return frames_push(samples->frames, profile, caller, node->frame,
				   process_of(node));
	if (node->kind == NODE_KERNEL)
		return fill_kernel(samples, node, profile, caller);
	return profile_stack(profile, caller, profile_frame(profile, &mark));
}

static bool fill_sample(struct cpu_samples *samples, const struct sample *sample,
			struct profile *profile, const uint32_t *stacks)
{
	const struct profile_event event = { .name = CPU_EVENT, .timed = true };
	const struct profile_task task = profile_task_at(samples->known, sample->task);
	const struct profile_sample added = {
		.stack = sample->node == PROFILE_NO_STACK ? PROFILE_NO_STACK :
			 stacks[sample->node],
		.task = profile_task(profile, &task),
		.event = profile_event(profile, &event),
		.time = sample->tick * PROFILE_TICK_NS,
		.events = sample->events, .ns = sample->ns,
	};

	return profile_add(profile, &added);
}

unsigned long cpu_samples_fill(struct cpu_samples *samples, struct profile *profile)
{
	bool *wanted = want_nodes(samples);
	uint32_t *stacks = need(calloc(samples->nodes.nr + 1UL, sizeof(*stacks)));
	unsigned long refused = 0;

	for (uint32_t i = 0; i < samples->nodes.nr; i++) {
		const struct node *node = pool_at(&samples->nodes, i);

		if (wanted[i])
			stacks[i] = fill_node(samples, node, profile,
					      node->caller == PROFILE_NO_STACK ?
					      PROFILE_NO_STACK : stacks[node->caller]);
	}
	for (uint32_t i = 0; i < samples->samples.nr; i++) {
		const struct sample *sample = pool_at(&samples->samples, i);

		if (!fill_sample(samples, sample, profile, stacks))
			refused += sample->events;
	}
	free(wanted);
	free(stacks);
	return refused;
}
