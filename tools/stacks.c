// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "stacks.h"
#include "tally.h"
#include "tool.h"

struct thread {
	int32_t tid;		/* first, for by_tid() */
	pid_t pid;		/* of its process; 0: not known yet */
};

struct kept {
	struct thread *thread;
	uint32_t type, stop, nr;
	unsigned long count;
	struct frame *frames;
};

struct stacks {
	void *tree;		/* of struct kept */
	void *threads;		/* tree of struct thread */
	struct kept **list;
	size_t nr, room;
};

struct stacks *stacks_new(void)
{
	return need(calloc(1, sizeof(struct stacks)));
}

static void keep_node(void *node)
{
	(void)node;
}

void stacks_free(struct stacks *stacks)
{
	tdestroy(stacks->tree, keep_node);
	tdestroy(stacks->threads, free);
	for (size_t i = 0; i < stacks->nr; i++) {
		free(stacks->list[i]->frames);
		free(stacks->list[i]);
	}
	free(stacks->list);
	free(stacks);
}

bool stacks_any(const struct stacks *stacks)
{
	return stacks->nr;
}

/* ------------------------------------------------------------------ threads */

static int by_tid(const void *one, const void *other)
{
	const int32_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

/* 0 if the thread is gone. */
static pid_t process_of(int32_t tid)
{
	char *path = format("/proc/%d/status", tid);
	FILE *file = fopen(path, "re");
	char line[256];
	pid_t pid = 0;

	free(path);
	if (!file)
		return 0;
	while (!pid && fgets(line, sizeof(line), file))
		if (!strncmp(line, "Tgid:", 5))
			pid = atoi(line + 5);
	fclose(file);
	return pid;
}

static struct thread *get_thread(struct stacks *stacks, int32_t tid)
{
	struct thread **found = tfind(&tid, &stacks->threads, by_tid);
	struct thread *thread;

	if (found)
		return *found;
	thread = need(calloc(1, sizeof(*thread)));
	thread->tid = tid;
	thread->pid = process_of(tid);
	need(tsearch(thread, &stacks->threads, by_tid));
	return thread;
}

void stacks_find_processes(struct stacks *stacks, const char *saved_tgids)
{
	const char *line = saved_tgids;

	while (line) {
		struct thread **found;
		int32_t tid;
		int pid;

		if (sscanf(line, "%d %d", &tid, &pid) == 2) {
			found = tfind(&tid, &stacks->threads, by_tid);
			if (found && !(*found)->pid)
				(*found)->pid = pid;
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
}

/* Most processes have one thread, which has their id. */
static pid_t pid_of(const struct kept *kept)
{
	return kept->thread->pid ? kept->thread->pid : kept->thread->tid;
}

pid_t stacks_process(struct stacks *stacks, int32_t tid)
{
	return get_thread(stacks, tid)->pid;
}

/* ------------------------------------------------------------------- stacks */

/* Threads whose process is known need not be told apart. */
static int compare_owners(const struct thread *a, const struct thread *b)
{
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->pid ? 0 : by_tid(a, b);
}

static int compare_kept(const void *one, const void *other)
{
	const struct kept *a = one, *b = other;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->stop != b->stop)
		return a->stop < b->stop ? -1 : 1;
	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	return memcmp(a->frames, b->frames, a->nr * sizeof(*a->frames)) ?:
	       compare_owners(a->thread, b->thread);
}

void stacks_add(struct stacks *stacks, uint32_t type, const struct join_stack *stack)
{
	struct kept key = {
		.thread	= get_thread(stacks, stack->tid),
		.type	= type,
		.stop	= stack->stop,
		.nr	= stack->nr,
		.frames	= (struct frame *)stack->frames,
	};
	struct kept **found = tfind(&key, &stacks->tree, compare_kept), *kept;

	if (found) {
		(*found)->count++;
		return;
	}
	kept = need(malloc(sizeof(*kept)));
	*kept = key;
	kept->count = 1;
	kept->frames = need(calloc(stack->nr + 1, sizeof(*kept->frames)));
	memcpy(kept->frames, stack->frames, stack->nr * sizeof(*kept->frames));
	if (stacks->nr == stacks->room) {
		stacks->room = stacks->room ? 2 * stacks->room : 64;
		stacks->list = need(reallocarray(stacks->list, stacks->room,
						 sizeof(*stacks->list)));
	}
	stacks->list[stacks->nr++] = kept;
	need(tsearch(kept, &stacks->tree, compare_kept));
}

bool stacks_lack_ids(const struct stacks *stacks, const struct frames *frames)
{
	for (size_t i = 0; i < stacks->nr; i++) {
		const struct kept *kept = stacks->list[i];

		for (uint32_t n = 0; n < kept->nr; n++)
			if (kept->frames[n].id &&
			    !frames_knows(frames, kept->frames[n].id))
				return true;
	}
	return false;
}

/* ------------------------------------------------------------------ as text */

typedef char *(*frame_text_fn)(struct frames *frames, struct frame frame,
			       pid_t pid);

/* The texts of its frames, the topmost first, to be freed. */
static char **frame_texts(const struct kept *kept, struct frames *frames,
			  frame_text_fn text)
{
	char **texts = need(calloc(kept->nr + 1, sizeof(*texts)));

	for (uint32_t i = 0; i < kept->nr; i++)
		texts[i] = text(frames, kept->frames[i], pid_of(kept));
	return texts;
}

static void free_texts(char **texts)
{
	for (size_t i = 0; texts[i]; i++)
		free(texts[i]);
	free(texts);
}

static char *shown(const struct kept *kept, struct frames *frames,
		   const char *event)
{
	char **texts = frame_texts(kept, frames, frames_show), *text;
	size_t size;
	FILE *to = need(open_memstream(&text, &size));

	fprintf(to, "%s\n", event);
	for (size_t i = 0; texts[i]; i++)
		fprintf(to, "\t%s\n", texts[i]);
	if (kept->stop != STOP_COMPLETE)
		fprintf(to, "\t[truncated: %s]\n", stop_name(kept->stop));
	if (fclose(to))
		need(NULL);
	free_texts(texts);
	return text;
}

static char *folded(const struct kept *kept, struct frames *frames,
		    const char *event)
{
	char **texts = frame_texts(kept, frames, frames_fold), *text;
	size_t size, nr = 0;
	FILE *to = need(open_memstream(&text, &size));

	fputs(event, to);
	if (kept->stop != STOP_COMPLETE)
		fprintf(to, ";[truncated: %s]", stop_name(kept->stop));
	while (texts[nr])
		nr++;
	while (nr-- > 0)
		fprintf(to, ";%s", texts[nr]);
	if (fclose(to))
		need(NULL);
	free_texts(texts);
	return text;
}

typedef char *(*stack_text_fn)(const struct kept *kept, struct frames *frames,
			       const char *event);

static struct tally *count_texts(const struct stacks *stacks,
				 struct frames *frames, stack_text_fn as_text,
				 const struct event_names *names)
{
	struct tally *tally = tally_new();

	for (size_t i = 0; i < stacks->nr; i++) {
		const struct kept *kept = stacks->list[i];
		char *text = as_text(kept, frames,
				     names->name(names->context, kept->type));

		tally_add(tally, text, kept->count);
		free(text);
	}
	return tally;
}

/* Returns how many there are. */
static size_t write_texts(const struct stacks *stacks, struct frames *frames,
			  stack_text_fn as_text, bool count_first,
			  const struct event_names *names, FILE *to)
{
	struct tally *tally = count_texts(stacks, frames, as_text, names);
	struct tally_line **lines;
	size_t nr;

	lines = tally_sorted(tally, &nr);
	for (size_t i = 0; i < nr; i++) {
		if (count_first)
			fprintf(to, "%lu %s\n", lines[i]->count, lines[i]->text);
		else
			fprintf(to, "%s %lu\n", lines[i]->text, lines[i]->count);
	}
	free(lines);
	tally_free(tally);
	return nr;
}

size_t stacks_print(const struct stacks *stacks, struct frames *frames,
		    const struct event_names *names, FILE *to)
{
	return write_texts(stacks, frames, shown, true, names, to);
}

void stacks_fold(const struct stacks *stacks, struct frames *frames,
		 const struct event_names *names, FILE *to)
{
	write_texts(stacks, frames, folded, false, names, to);
}
