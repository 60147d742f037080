// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "stacks.h"
#include "tool.h"

/* Overhead of a tree, a list and malloc() per item. */
#define OVERHEAD	64

size_t stacks_max_bytes = 1UL << 30;

struct process {
	int32_t pid;		/* first, for by_tid() */
	uint64_t life;		/* process_life() */
	bool again;		/* another one had its number before */
};

struct thread {
	int32_t tid;		/* first, for by_tid() */
	const struct process *process;
	bool known;		/* to be its process, and not merely to have its number */
	uint64_t life;		/* process_life() */
	time_t looked;		/* when it was last checked to be the same thread */
	char *comm, *cgroup;	/* NULL if unknown */
	bool told;		/* @comm is from saved_cmdlines */
};

struct kept {
	struct thread *thread;	/* for its process */
	uint32_t stop, nr;
	uint32_t stack;		/* in the profile, once that is filled */
	struct frame *frames;
};

/* Events of a thread with the same stack, in the same tick. */
struct counted {
	const struct kept *kept;
	const struct thread *thread;
	const struct thread *woken;	/* the one it has woken, or NULL */
	uint64_t tick;
	struct traced_event event;
	unsigned long count;
};

struct list {
	void **items;
	size_t nr, room;
};

struct stacks {
	void *tree;		/* of struct kept */
	void *counts;		/* tree of struct counted */
	void *threads;		/* tree of struct thread: the latest with each number */
	void *processes;	/* and of struct process */
	struct list kept, counted, all_threads, all_processes;
	size_t bytes;		/* of these */
	uint64_t start;
};

struct stacks *stacks_new(void)
{
	return need(calloc(1, sizeof(struct stacks)));
}

void stacks_begin(struct stacks *stacks, uint64_t time)
{
	stacks->start = time;
}

static void keep_node(void *node)
{
	(void)node;
}

static void free_thread(struct thread *thread)
{
	free(thread->comm);
	free(thread->cgroup);
	free(thread);
}

void stacks_free(struct stacks *stacks)
{
	tdestroy(stacks->tree, keep_node);
	tdestroy(stacks->counts, keep_node);
	tdestroy(stacks->threads, keep_node);
	for (size_t i = 0; i < stacks->all_threads.nr; i++)
		free_thread(stacks->all_threads.items[i]);
	free(stacks->all_threads.items);
	tdestroy(stacks->processes, keep_node);
	for (size_t i = 0; i < stacks->all_processes.nr; i++)
		free(stacks->all_processes.items[i]);
	free(stacks->all_processes.items);
	for (size_t i = 0; i < stacks->kept.nr; i++) {
		struct kept *kept = stacks->kept.items[i];

		free(kept->frames);
		free(kept);
	}
	for (size_t i = 0; i < stacks->counted.nr; i++)
		free(stacks->counted.items[i]);
	free(stacks->kept.items);
	free(stacks->counted.items);
	free(stacks);
}

static void list_add(struct list *list, void *item)
{
	if (list->nr == list->room) {
		list->room = list->room ? 2 * list->room : 64;
		list->items = need(reallocarray(list->items, list->room, sizeof(*list->items)));
	}
	list->items[list->nr++] = item;
}

/* False, and takes nothing, if that would be too much. */
static bool take_bytes(struct stacks *stacks, size_t bytes)
{
	bytes += OVERHEAD;
	if (bytes > stacks_max_bytes - stacks->bytes)
		return false;
	stacks->bytes += bytes;
	return true;
}

/* ------------------------------------------------------- processes and threads */

static int by_tid(const void *one, const void *other)
{
	const int32_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

/*
 * A process that has ended is the last one that was seen with its number.  NULL: there is no
 * room for another one.
 */
static const struct process *get_process(struct stacks *stacks, pid_t pid)
{
	struct process **found = tfind(&pid, &stacks->processes, by_tid), *process;
	const uint64_t life = process_life(pid);
	const bool again = found;

	if (found && (!life || life == (*found)->life))
		return *found;
	if (!take_bytes(stacks, sizeof(*process)))
		return NULL;
	if (found)
		tdelete(&pid, &stacks->processes, by_tid);
	process = need(calloc(1, sizeof(*process)));
	*process = (struct process){ pid, life, again };
	list_add(&stacks->all_processes, process);
	need(tsearch(process, &stacks->processes, by_tid));
	return process;
}

/* Has the number been given to another thread since? */
static bool is_another(struct thread *thread)
{
	time_t now = now_seconds();
	uint64_t life;

	if (now == thread->looked)
		return false;
	thread->looked = now;
	life = process_life(thread->tid);
	return life && life != thread->life;
}

static size_t text_size(const char *text)
{
	return text ? strlen(text) + 1 : 0;
}

/* As it is now; NULL if there is no room for it. */
static struct thread *look_at(struct stacks *stacks, int32_t tid)
{
	struct thread *thread;
	pid_t pid;

	if (!take_bytes(stacks, sizeof(*thread)))
		return NULL;
	thread = need(calloc(1, sizeof(*thread)));
	thread->tid = tid;
	thread->life = process_life(tid);
	thread->looked = now_seconds();
	pid = proc_tgid(tid);
	thread->known = pid;
	/* Most processes have one thread, which has their id. */
	thread->process = get_process(stacks, pid ? pid : tid);
	thread->comm = proc_value(tid, "status", "Name:\t");
	thread->cgroup = proc_value(tid, "cgroup", "0::");
	if (thread->process &&
	    take_bytes(stacks, text_size(thread->comm) + text_size(thread->cgroup)))
		return thread;
	free_thread(thread);
	return NULL;
}

/* NULL if there is no room for another one. */
static struct thread *get_thread(struct stacks *stacks, int32_t tid)
{
	struct thread **found = tfind(&tid, &stacks->threads, by_tid);
	struct thread *thread;

	if (found && !is_another(*found))
		return *found;
	if (found)
		tdelete(&tid, &stacks->threads, by_tid);
	thread = look_at(stacks, tid);
	if (!thread)
		return NULL;
	list_add(&stacks->all_threads, thread);
	need(tsearch(thread, &stacks->threads, by_tid));
	return thread;
}

static struct thread *find_thread(const struct stacks *stacks, int32_t tid)
{
	struct thread **found = tfind(&tid, (void *const *)&stacks->threads, by_tid);

	return found ? *found : NULL;
}

static const char *next_line(const char *line)
{
	line = strchr(line, '\n');
	return line ? line + 1 : NULL;
}

/* Of several with that number it remains unknown which. */
static void find_process(struct stacks *stacks, struct thread *thread, pid_t pid)
{
	const struct process *process = get_process(stacks, pid);

	if (!process || process->again)
		return;
	thread->process = process;
	thread->known = true;
}

void stacks_find_processes(struct stacks *stacks, const char *saved_tgids)
{
	for (const char *line = saved_tgids; line; line = next_line(line)) {
		struct thread *thread;
		int32_t tid;
		int pid;

		if (sscanf(line, "%d %d", &tid, &pid) != 2)
			continue;
		thread = find_thread(stacks, tid);
		if (thread && !thread->known)
			find_process(stacks, thread, pid);
	}
}

static void take_name(struct thread *thread, const char *name)
{
	if (thread->told) {
		free(thread->comm);
		thread->comm = NULL;
	} else if (!thread->comm) {
		thread->comm = need(strndup(name, strcspn(name, "\n")));
		thread->told = true;
	}
}

/*
 * A name may contain a newline, and lines for others: known names stay, and of two for
 * one thread neither is believed.
 */
void stacks_find_names(struct stacks *stacks, const char *saved_cmdlines)
{
	for (const char *line = saved_cmdlines; line; line = next_line(line)) {
		struct thread *thread;
		int32_t tid;
		int start = 0;

		if (sscanf(line, "%d%n", &tid, &start) != 1 || line[start++] != ' ')
			continue;
		thread = find_thread(stacks, tid);
		if (thread)
			take_name(thread, line + start);
	}
}

static struct process_id id_of(const struct process *process)
{
	return (struct process_id){ process->pid, process->life };
}

struct process_id stacks_process(struct stacks *stacks, int32_t tid, pid_t otherwise)
{
	const struct thread *thread = get_thread(stacks, tid);
	const struct process *process;

	if (thread && (thread->known || tid == otherwise))
		return id_of(thread->process);
	process = get_process(stacks, otherwise);
	return process ? id_of(process) : (struct process_id){ .pid = otherwise };
}

/* ------------------------------------------------------------------- stacks */

/* Threads whose process is known need not be distinguished. */
static int compare_owners(const struct thread *a, const struct thread *b)
{
	if (a->known != b->known)
		return a->known < b->known ? -1 : 1;
	if (!a->known)
		return by_tid(a, b);
	return a->process < b->process ? -1 : a->process > b->process;
}

static int compare_kept(const void *one, const void *other)
{
	const struct kept *a = one, *b = other;

	if (a->stop != b->stop)
		return a->stop < b->stop ? -1 : 1;
	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	return memcmp(a->frames, b->frames, a->nr * sizeof(*a->frames)) ?:
	       compare_owners(a->thread, b->thread);
}

static int compare_counted(const void *one, const void *other)
{
	const struct counted *a = one, *b = other;

	if (a->kept != b->kept)
		return a->kept < b->kept ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->woken != b->woken)
		return a->woken < b->woken ? -1 : 1;
	if (a->tick != b->tick)
		return a->tick < b->tick ? -1 : 1;
	if (a->event.type != b->event.type)
		return a->event.type < b->event.type ? -1 : 1;
	if (a->event.kernel != b->event.kernel)
		return a->event.kernel < b->event.kernel ? -1 : 1;
	return a->event.kind < b->event.kind ? -1 : a->event.kind > b->event.kind;
}

/* NULL: it is dropped. */
static const struct kept *keep_stack(struct stacks *stacks, const struct join_stack *stack)
{
	struct kept key = {
		.thread	= get_thread(stacks, stack->tid),
		.stop	= stack->stop,
		.nr	= stack->nr,
		.frames	= (struct frame *)stack->frames,
	};
	struct kept **found, *kept;

	if (!key.thread)
		return NULL;
	found = tfind(&key, &stacks->tree, compare_kept);
	if (found)
		return *found;
	if (!take_bytes(stacks, sizeof(*kept) + (stack->nr + 1) * sizeof(*kept->frames)))
		return NULL;
	kept = need(malloc(sizeof(*kept)));
	*kept = key;
	kept->frames = need(calloc(stack->nr + 1, sizeof(*kept->frames)));
	memcpy(kept->frames, stack->frames, stack->nr * sizeof(*kept->frames));
	list_add(&stacks->kept, kept);
	need(tsearch(kept, &stacks->tree, compare_kept));
	return kept;
}

/* Records of different CPUs need not come in order. */
static uint64_t tick_of(const struct stacks *stacks, uint64_t time)
{
	return time > stacks->start ? (time - stacks->start) / PROFILE_TICK_NS : 0;
}

bool stacks_add(struct stacks *stacks, const struct traced_event *event, unsigned long count,
		const struct join_stack *stack)
{
	struct counted key = {
		.kept	= keep_stack(stacks, stack),
		.thread	= get_thread(stacks, stack->tid),
		.woken	= event->woken ? get_thread(stacks, event->woken) : NULL,
		.tick	= tick_of(stacks, stack->time),
		.event	= *event,
		.count	= count,
	};
	struct counted **found, *counted;

	if (!key.kept || !key.thread || !key.woken != !event->woken)
		return false;
	found = tfind(&key, &stacks->counts, compare_counted);
	if (found) {
		(*found)->count += count;
		add_ns(&(*found)->event.ns, event->ns);
		return true;
	}
	if (!take_bytes(stacks, sizeof(*counted)))
		return false;
	counted = need(malloc(sizeof(*counted)));
	*counted = key;
	list_add(&stacks->counted, counted);
	need(tsearch(counted, &stacks->counts, compare_counted));
	return true;
}

bool stacks_lack_ids(const struct stacks *stacks, const struct frames *frames)
{
	for (size_t i = 0; i < stacks->kept.nr; i++) {
		const struct kept *kept = stacks->kept.items[i];

		for (uint32_t n = 0; n < kept->nr; n++)
			if (kept->frames[n].id &&
			    !frames_knows(frames, kept->frames[n].id))
				return true;
	}
	return false;
}

/* ----------------------------------------------------------------- profiles */

/* Frees @text. */
static uint32_t push_mark(struct profile *profile, uint32_t caller, char *text)
{
	const struct profile_frame mark = { .flags = PROFILE_MARK, .function = text };
	uint32_t frame = profile_frame(profile, &mark);

	free(text);
	return profile_stack(profile, caller, frame);
}

/* A stack that ends early lacks its outermost frame. */
static uint32_t push_stack(const struct kept *kept, struct frames *frames,
			   struct profile *profile, uint32_t stack)
{
	if (kept->stop != STOP_COMPLETE)
		stack = push_mark(profile, stack,
				  format("[truncated: %s]", stop_name(kept->stop)));
	for (uint32_t i = kept->nr; i--;)
		stack = frames_push(frames, profile, stack, kept->frames[i],
				    id_of(kept->thread->process));
	return stack;
}

/* Below the woken task comes the task that woke it, and then how. */
static uint32_t push_waker(const struct counted *counted, struct frames *frames,
			   struct profile *profile)
{
	const struct thread *waker = counted->thread;
	uint32_t stack = push_mark(profile, PROFILE_NO_STACK,
				   format("[woken by %s]", waker->comm ? waker->comm : "?"));

	return push_stack(counted->kept, frames, profile, stack);
}

static bool add_counted(const struct counted *counted, struct frames *frames,
			const struct event_names *names, struct profile *profile)
{
	const struct thread *thread = counted->woken ? counted->woken : counted->thread;
	const struct profile_event event =
		names->describe(names->context, counted->event.type, counted->event.kind);
	const struct profile_task task = {
		.comm = thread->comm, .cgroup = thread->cgroup,
		.pid = thread->process->pid, .tid = thread->tid,
	};
	const uint32_t user = counted->woken ? push_waker(counted, frames, profile) :
			      counted->kept->stack;
	const struct profile_sample sample = {
		.stack = names->kernel ? kernel_stacks_push(names->kernel, profile, user,
							    counted->event.kernel) : user,
		.task = profile_task(profile, &task),
		.event = profile_event(profile, &event),
		.time = counted->tick * PROFILE_TICK_NS,
		.events = counted->count,
		.ns = event.timed ? counted->event.ns : 0,
	};

	return profile_add(profile, &sample);
}

static void want_names(const struct stacks *stacks, struct frames *frames)
{
	for (size_t i = 0; i < stacks->kept.nr; i++) {
		const struct kept *kept = stacks->kept.items[i];

		frames_want(frames, kept->frames, kept->nr, id_of(kept->thread->process));
	}
}

unsigned long stacks_fill(struct stacks *stacks, struct frames *frames,
			  const struct event_names *names, struct profile *profile)
{
	unsigned long left_out = 0;

	want_names(stacks, frames);
	for (size_t i = 0; i < stacks->kept.nr; i++) {
		struct kept *kept = stacks->kept.items[i];

		kept->stack = push_stack(kept, frames, profile, PROFILE_NO_STACK);
	}
	for (size_t i = 0; i < stacks->counted.nr; i++) {
		const struct counted *counted = stacks->counted.items[i];

		if (!add_counted(counted, frames, names, profile))
			left_out += counted->count;
	}
	return left_out;
}
