// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "code_names.h"
#include "tool.h"

#define PAGE		4096
/* Functions with more pages are in one list for the whole process. */
#define MAX_PAGES	64
#define ALL_PAGES	UINT64_MAX
/* Losses that are distinguished. */
#define MAX_LOSSES	1024

/* A record: from then on there is a function, or there is none any more. */
struct event {
	struct event *next;	/* of all */
	struct event *same_id;	/* reported before */
	uint64_t copy, id, start, end, time;
	struct process_id process;
	char *name;		/* NULL: there is none any more */
};

/* An entry of a list by time. */
struct link {
	struct link *older;
	const struct event *event;
};

/* The reports about a page of a process. */
struct place {
	uint64_t pid, life, page;	/* first, for by_place() */
	struct link *newest;
};

struct numbered {
	uint64_t id;		/* first, for by_id() */
	struct event *newest;
};

/* A copy of the library that has reported all of its names, and since when. */
struct copy {
	uint64_t copy;		/* first, for by_id() */
	uint64_t time;
	uint64_t loss;		/* the latest one before that, by its number */
};

struct code_names {
	void *places, *numbers, *copies;	/* trees */
	struct event *events;
	size_t bytes;
	uint64_t loss;				/* number of the latest loss */
	uint64_t *losses;			/* in order of time */
	size_t nr_losses;
};

struct code_names *code_names_new(void)
{
	struct code_names *names = need(calloc(1, sizeof(*names)));

	names->losses = need(calloc(MAX_LOSSES, sizeof(*names->losses)));
	return names;
}

static void free_place(void *node)
{
	struct place *place = node;
	struct link *link, *older;

	for (link = place->newest; link; link = older) {
		older = link->older;
		free(link);
	}
	free(place);
}

void code_names_free(struct code_names *names)
{
	struct event *event, *next;

	tdestroy(names->places, free_place);
	tdestroy(names->numbers, free);
	tdestroy(names->copies, free);
	for (event = names->events; event; event = next) {
		next = event->next;
		free(event->name);
		free(event);
	}
	free(names->losses);
	free(names);
}

static int by_id(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

static int by_place(const void *one, const void *other)
{
	const uint64_t *a = one, *b = other;

	return by_id(a, b) ?: by_id(a + 1, b + 1) ?: by_id(a + 2, b + 2);
}

/* ------------------------------------------------------------------ keeping */

/* The node that begins with the key, of @size bytes, created if necessary. */
static void *get_node(struct code_names *names, void **tree, const void *key,
		      size_t key_size, size_t size, int (*compare)(const void *, const void *))
{
	void **found = tfind(key, tree, compare), *node;

	if (found)
		return *found;
	node = need(calloc(1, size));
	memcpy(node, key, key_size);
	need(tsearch(node, tree, compare));
	names->bytes += size;
	return node;
}

static void add_to_page(struct code_names *names, const struct event *event, uint64_t page)
{
	const uint64_t key[] = { event->process.pid, event->process.life, page };
	struct place *place = get_node(names, &names->places, key, sizeof(key), sizeof(*place),
				       by_place);
	struct link **at = &place->newest, *link = need(malloc(sizeof(*link)));

	/* Records of another CPU may come late. */
	while (*at && (*at)->event->time > event->time)
		at = &(*at)->older;
	*link = (struct link){ *at, event };
	*at = link;
	names->bytes += sizeof(*link);
}

static void add_to_pages(struct code_names *names, const struct event *event)
{
	uint64_t page = event->start / PAGE, last = (event->end - 1) / PAGE;

	if (last - page >= MAX_PAGES) {
		add_to_page(names, event, ALL_PAGES);
		return;
	}
	for (; page <= last; page++)
		add_to_page(names, event, page);
}

static void add_number(struct code_names *names, struct event *event)
{
	struct numbered *numbered = get_node(names, &names->numbers, &event->id,
					     sizeof(event->id), sizeof(*numbered), by_id);

	event->same_id = numbered->newest;
	numbered->newest = event;
}

static void add_event(struct code_names *names, struct process_id process, uint64_t time,
		      const struct name_record *record, bool added)
{
	struct event *event = need(calloc(1, sizeof(*event)));

	*event = (struct event){
		.next = names->events, .copy = record->copy, .id = record->id,
		.start = record->start, .end = record->start + record->len,
		.time = time, .process = process,
	};
	names->events = event;
	names->bytes += sizeof(*event);
	if (added) {
		event->name = need(strdup(record->name));
		names->bytes += strlen(record->name) + 1;
		add_number(names, event);
	}
	add_to_pages(names, event);
}

/* From here on each function that comes or goes is reported. */
static void add_end(struct code_names *names, uint64_t id, uint64_t time)
{
	struct copy *copy = get_node(names, &names->copies, &id, sizeof(id), sizeof(*copy),
				     by_id);

	if (!copy->time || copy->loss != names->loss)
		copy->time = time;
	copy->loss = names->loss;
}

void code_names_add(struct code_names *names, struct process_id process, uint64_t time,
		    const struct name_record *record)
{
	bool empty = !record->len || record->start + record->len < record->start;

	if (names->bytes >= CODE_NAMES_MAX_BYTES)
		code_names_lost(names, time);
	else if (record->action == NAME_END)
		add_end(names, record->copy, time);
	else if (!empty && record->action == NAME_ADD && record->id)
		add_event(names, process, time, record, true);
	else if (!empty && record->action == NAME_RETIRE)
		add_event(names, process, time, record, false);
}

void code_names_lost(struct code_names *names, uint64_t time)
{
	size_t at = names->nr_losses;

	names->loss++;
	while (at && names->losses[at - 1] > time)
		at--;
	if (at && (names->losses[at - 1] == time || names->nr_losses == MAX_LOSSES)) {
		names->losses[at - 1] = time;
		return;
	}
	if (names->nr_losses == MAX_LOSSES)
		return;
	memmove(names->losses + at + 1, names->losses + at,
		(names->nr_losses - at) * sizeof(*names->losses));
	names->losses[at] = time;
	names->nr_losses++;
}

/* ------------------------------------------------------------------ finding */

static bool lost_between(const struct code_names *names, uint64_t from, uint64_t to)
{
	for (size_t i = names->nr_losses; i-- && names->losses[i] >= from;)
		if (names->losses[i] <= to)
			return true;
	return false;
}

/* The reports about an address: the last before a time, and the first after it. */
struct told {
	const struct event *last, *next;
};

static void look_at(const struct code_names *names, const uint64_t key[3],
		    uint64_t address, uint64_t time, struct told *told)
{
	struct place **place = tfind(key, (void *const *)&names->places, by_place);
	const struct link *link = place ? (*place)->newest : NULL;

	for (; link; link = link->older) {
		const struct event *event = link->event;

		if (address < event->start || address >= event->end)
			continue;
		if (event->time <= time) {
			if (!told->last || told->last->time < event->time)
				told->last = event;
			return;
		}
		if (!told->next || told->next->time > event->time)
			told->next = event;
	}
}

/* Has its copy reported each function that has come or gone since @time? */
static bool tells_all_since(const struct code_names *names, const struct event *event,
			    uint64_t time)
{
	struct copy **copy = tfind(&event->copy, (void *const *)&names->copies, by_id);

	return copy && (*copy)->loss == names->loss && (*copy)->time <= time;
}

uint64_t code_names_id(const struct code_names *names, struct process_id process,
		       uint64_t address, uint64_t time)
{
	const uint64_t page[] = { process.pid, process.life, address / PAGE };
	const uint64_t all[] = { process.pid, process.life, ALL_PAGES };
	struct told told = { NULL, NULL };

	look_at(names, page, address, time, &told);
	look_at(names, all, address, time, &told);
	if (told.last && told.last->name)
		return lost_between(names, told.last->time, time) ? 0 : told.last->id;
	/* It runs before it is reported. */
	if (told.next && told.next->name && tells_all_since(names, told.next, time))
		return told.next->id;
	return 0;
}

static bool is_of(const struct event *event, struct process_id process)
{
	return event->process.pid == process.pid && event->process.life == process.life;
}

struct symbol code_names_find(const struct code_names *names, struct process_id process,
			      uint64_t id, uint64_t address)
{
	struct numbered **found = tfind(&id, (void *const *)&names->numbers, by_id);
	const struct event *event, *first = found ? (*found)->newest : NULL;

	for (event = first; event && !is_of(event, process);)
		event = event->same_id;
	if (!event)
		event = first;
	if (!event)
		return (struct symbol){ 0 };
	return (struct symbol){
		.name	= escape(event->name, strlen(event->name), ""),
		.offset	= address - event->start,
	};
}
