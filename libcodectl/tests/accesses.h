/* SPDX-License-Identifier: MIT */
/*
 * The accesses of the library, as noted by order.h, and what may be done in between.
 * For a single file of a program.
 */
#ifndef CODECTL_ACCESSES_H
#define CODECTL_ACCESSES_H

#include <stdint.h>

#include "order.h"
#include "test.h"

struct event {
	enum order_kind kind;
	uint64_t at;
	int order;
};

static struct event events[20000];
static size_t nr_events;
/* What to do in between: before the access with that number. */
static void (*intrude)(void);
static size_t intrude_at;

void order_note(enum order_kind kind, const volatile void *at, int order)
{
	void (*now)(void) = intrude;

	if (now && nr_events == intrude_at) {
		intrude = NULL;
		now();
	}
	CHECK(nr_events < ARRAY_SIZE(events));
	events[nr_events++] = (struct event) {
		.kind = kind,
		.at = (uintptr_t)at,
		.order = order,
	};
}

static inline bool is_release(int order)
{
	return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL ||
	       order == __ATOMIC_SEQ_CST;
}

static inline bool stores(const struct event *e)
{
	return e->kind == ORDER_STORE || e->kind == ORDER_CHANGE;
}

static inline bool is_acquire(int order)
{
	return order == __ATOMIC_ACQUIRE || order == __ATOMIC_SEQ_CST;
}

static inline size_t find(enum order_kind kind, uint64_t at, size_t from)
{
	while (from < nr_events &&
	       (events[from].kind != kind || events[from].at != at))
		from++;
	CHECK(from < nr_events);

	return from;
}

#endif /* CODECTL_ACCESSES_H */
