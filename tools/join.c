// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "join.h"
#include "tool.h"

/* Events of a CPU that are kept until their cookie record comes. */
#define MAX_RECENT	4096

/* Nesting levels: a task, softirq, hardirq, NMI. */
#define NR_NESTED	4

/* The latest event of a task and type on a CPU. */
struct recent {
	int32_t tid;
	uint32_t context;
	bool asked;		/* its cookie has come, and it is counted there */
	uint64_t cookie;
	struct traced_event event;
};

struct cpu {
	void *recent, *older;	/* trees of struct recent */
	size_t nr_recent;
	struct recent *latest[NR_NESTED];	/* the last one first */
};

struct type_count {
	struct traced_event event;
	unsigned long count;
};

/* Everything with one cookie. */
struct joint {
	uint64_t cookie;	/* first, for compare_cookies() */
	struct joint *next;
	struct type_count *types;	/* of the events */
	size_t nr_types;
	unsigned long pass;	/* in which the last record came */
	struct join_stack *stack;
	uint32_t got;		/* number of frames of the stack */
	bool *have;		/* which ones, unless all came at once */
};

struct join {
	join_fn joined;
	void *context;
	struct cpu *cpus;
	int nr_cpus;
	void *cookies;		/* tree of struct joint */
	struct joint *entries;
	unsigned long pass;
	unsigned long given_up;	/* events whose stack is no longer waited for */
	struct join_counts counts;
};

size_t join_max_waiting = 1 << 17;

struct join *join_new(join_fn joined, void *context)
{
	struct join *join = need(calloc(1, sizeof(*join)));

	join->joined = joined;
	join->context = context;
	return join;
}

static void free_entry(struct joint *entry)
{
	free(entry->types);
	free(entry->stack);
	free(entry->have);
	free(entry);
}

static void forget_events(struct cpu *cpu)
{
	tdestroy(cpu->recent, free);
	tdestroy(cpu->older, free);
	*cpu = (struct cpu){ 0 };
}

static void keep_node(void *node)
{
	(void)node;
}

void join_free(struct join *join)
{
	struct joint *entry, *next;

	tdestroy(join->cookies, keep_node);
	for (entry = join->entries; entry; entry = next) {
		next = entry->next;
		free_entry(entry);
	}
	for (int i = 0; i < join->nr_cpus; i++)
		forget_events(&join->cpus[i]);
	free(join->cpus);
	free(join);
}

/* ----------------------------------------------------------------- events */

static int compare_recent(const void *one, const void *other)
{
	const struct recent *a = one, *b = other;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->event.type < b->event.type ? -1 : a->event.type > b->event.type;
}

static struct cpu *get_cpu(struct join *join, int cpu)
{
	if (cpu >= join->nr_cpus) {
		join->cpus = need(reallocarray(join->cpus, cpu + 1,
					       sizeof(*join->cpus)));
		memset(join->cpus + join->nr_cpus, 0,
		       (cpu + 1 - join->nr_cpus) * sizeof(*join->cpus));
		join->nr_cpus = cpu + 1;
	}
	return &join->cpus[cpu];
}

static struct recent *keep_recent(struct cpu *cpu, const struct recent *key)
{
	struct recent **found = tfind(key, &cpu->recent, compare_recent), *recent;

	if (found) {
		**found = *key;
		return *found;
	}
	recent = need(malloc(sizeof(*recent)));
	*recent = *key;
	need(tsearch(recent, &cpu->recent, compare_recent));
	cpu->nr_recent++;
	return recent;
}

void join_event(struct join *join, int cpu_nr, int32_t tid, uint32_t context,
		const struct traced_event *event)
{
	struct cpu *cpu = get_cpu(join, cpu_nr);
	const struct recent key = { .tid = tid, .context = context, .event = *event };

	join->counts.events++;
	memmove(cpu->latest + 1, cpu->latest, sizeof(cpu->latest) - sizeof(*cpu->latest));
	cpu->latest[0] = keep_recent(cpu, &key);
}

void join_lost(struct join *join, int cpu)
{
	forget_events(get_cpu(join, cpu));
}

/* ---------------------------------------------------------------- cookies */

static int compare_cookies(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static struct joint *get_entry(struct join *join, uint64_t cookie)
{
	void *node = tfind(&cookie, &join->cookies, compare_cookies);
	struct joint *entry;

	if (node) {
		entry = *(struct joint **)node;
	} else {
		entry = need(calloc(1, sizeof(*entry)));
		entry->cookie = cookie;
		entry->next = join->entries;
		join->entries = entry;
		need(tsearch(entry, &join->cookies, compare_cookies));
	}
	entry->pass = join->pass;
	return entry;
}

static bool is_alike(const struct traced_event *a, const struct traced_event *b)
{
	return a->type == b->type && a->kind == b->kind && a->woken == b->woken &&
	       a->kernel == b->kernel;
}

static void count_event(struct joint *entry, const struct traced_event *event)
{
	struct type_count *type = entry->types;
	size_t i = 0;

	while (i < entry->nr_types && !is_alike(&type[i].event, event))
		i++;
	if (i == entry->nr_types) {
		type = need(reallocarray(type, i + 1, sizeof(*type)));
		type[i] = (struct type_count){
			.event = { .type = event->type, .kind = event->kind,
				   .woken = event->woken, .kernel = event->kernel },
		};
		entry->types = type;
		entry->nr_types++;
	}
	add_ns(&type[i].event.ns, event->ns);
	type[i].count++;
}

void join_cookie(struct join *join, int cpu_nr, int32_t tid,
		 const struct cookie_record *record)
{
	struct cpu *cpu = get_cpu(join, cpu_nr);
	struct recent key = { .tid = tid, .event.type = record->event }, **found;

	found = tfind(&key, &cpu->recent, compare_recent);
	if (!found)
		found = tfind(&key, &cpu->older, compare_recent);
	if (!found) {
		join->counts.stray_cookies++;
		return;
	}
	(*found)->asked = true;
	(*found)->cookie = record->cookie;
	count_event(get_entry(join, record->cookie), &(*found)->event);
	join->counts.asked++;
}

/* Undoes count_event(), unless it is settled. */
static void uncount_event(struct join *join, const struct recent *recent)
{
	void *node = tfind(&recent->cookie, &join->cookies, compare_cookies);
	struct joint *entry = node ? *(struct joint **)node : NULL;

	for (size_t i = 0; entry && i < entry->nr_types; i++) {
		struct type_count *type = &entry->types[i];

		if (!is_alike(&type->event, &recent->event))
			continue;
		/* Too long a time says nothing anyway. */
		type->event.ns -= recent->event.ns;
		if (!--type->count)
			*type = entry->types[--entry->nr_types];
		return;
	}
}

static void set_kernel(struct join *join, struct recent *recent, uint32_t kernel)
{
	if (recent->asked)
		uncount_event(join, recent);
	recent->event.kernel = kernel;
	if (recent->asked)
		count_event(get_entry(join, recent->cookie), &recent->event);
}

void join_kernel(struct join *join, int cpu_nr, int32_t tid, uint32_t context,
		 uint32_t kernel)
{
	struct cpu *cpu = get_cpu(join, cpu_nr);

	for (int i = 0; i < NR_NESTED; i++) {
		struct recent *recent = cpu->latest[i];

		if (!recent || recent->tid != tid || recent->context != context)
			continue;
		if (!recent->event.kernel)
			set_kernel(join, recent, kernel);
		return;
	}
}

/* ----------------------------------------------------------------- stacks */

/* For an entry that has a stack. */
static bool is_whole(const struct joint *entry)
{
	return entry->got == entry->stack->nr;
}

static void add_frames(struct joint *entry, const struct stack_record *record)
{
	struct join_stack *stack = entry->stack;

	if (!entry->have)
		entry->have = need(calloc(stack->nr + 1, sizeof(bool)));
	for (uint32_t i = 0; i < record->count; i++) {
		uint32_t at = record->first + i;

		entry->got += !entry->have[at];
		entry->have[at] = true;
		stack->frames[at] = record->frames[i];
	}
}

void join_stack(struct join *join, int32_t tid,
		const struct stack_record *record)
{
	struct joint *entry = get_entry(join, record->cookie);
	struct join_stack *stack = entry->stack;

	if (!stack) {
		stack = need(calloc(1, sizeof(*stack) +
				    record->nr * sizeof(stack->frames[0])));
		stack->cookie = record->cookie;
		stack->time = record->time;
		stack->nr = record->nr;
		stack->stop = record->stop;
		stack->tid = tid;
		entry->stack = stack;
	} else if (stack->nr != record->nr || stack->tid != tid) {
		return;
	}
	add_frames(entry, record);
}

/* ---------------------------------------------------------------- settling */

static void settle(struct join *join, struct joint *entry)
{
	struct join_counts *counts = &join->counts;
	struct join_stack *stack = entry->stack;

	if (!entry->nr_types)
		counts->stray_stacks++;
	for (size_t i = 0; i < entry->nr_types; i++) {
		const struct type_count *type = &entry->types[i];

		if (!is_whole(entry)) {
			counts->incomplete += type->count;
			continue;
		}
		counts->joined += type->count;
		if (stack->stop != STOP_COMPLETE)
			counts->truncated += type->count;
		join->joined(join->context, &type->event, type->count, stack);
	}
}

static unsigned long events_of(const struct joint *entry)
{
	unsigned long events = 0;

	for (size_t i = 0; i < entry->nr_types; i++)
		events += entry->types[i].count;
	return events;
}

/* Its stack, or the rest of that, is lost, or its task is blocked. */
static void give_up(struct join *join, struct joint *entry)
{
	if (entry->stack)
		settle(join, entry);
	else
		join->given_up += events_of(entry);
}

/*
 * Settles entries that have their stack and are not of this pass; all that have one, if
 * this is the end.  Too many others are given up, the oldest of them, which come last.
 */
static void settle_entries(struct join *join, bool end)
{
	struct joint **link = &join->entries, *entry;
	size_t waiting = 0;

	join->counts.pending = 0;
	while ((entry = *link)) {
		const bool old = entry->pass < join->pass;

		if (entry->stack && (end || (is_whole(entry) && old))) {
			settle(join, entry);
		} else if (old && waiting >= join_max_waiting) {
			give_up(join, entry);
		} else {
			waiting++;
			join->counts.pending += entry->stack ? 0 : events_of(entry);
			link = &entry->next;
			continue;
		}
		*link = entry->next;
		tdelete(entry, &join->cookies, compare_cookies);
		free_entry(entry);
	}
	join->counts.pending += join->given_up;
}

void join_pass(struct join *join)
{
	settle_entries(join, false);
	for (int i = 0; i < join->nr_cpus; i++) {
		struct cpu *cpu = &join->cpus[i];

		if (cpu->nr_recent < MAX_RECENT)
			continue;
		tdestroy(cpu->older, free);
		cpu->older = cpu->recent;
		memset(cpu->latest, 0, sizeof(cpu->latest));
		cpu->recent = NULL;
		cpu->nr_recent = 0;
	}
	join->pass++;
}

void join_finish(struct join *join)
{
	settle_entries(join, true);
}

const struct join_counts *join_counts(const struct join *join)
{
	return &join->counts;
}
