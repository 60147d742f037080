/* SPDX-License-Identifier: MIT */
/*
 * Included before the library's sources: notes each access that other threads may see,
 * just before it is made.
 */
#ifndef CODECTL_ORDER_H
#define CODECTL_ORDER_H

#include <sched.h>
#include <unistd.h>

enum order_kind {
	ORDER_LOAD,
	ORDER_STORE,
	ORDER_CHANGE,		/* load and store in one */
	ORDER_FENCE,
	ORDER_CALL,		/* @at is the number, @order the first argument */
};

void order_note(enum order_kind kind, const volatile void *at, int order);
/* Called instead of yielding to other threads. */
void order_yield(void);

#define __atomic_load_n(at, order)					\
	(order_note(ORDER_LOAD, at, order), __atomic_load_n(at, order))
#define __atomic_store_n(at, value, order)				\
	(order_note(ORDER_STORE, at, order),				\
	 __atomic_store_n(at, value, order))
#define __atomic_fetch_add(at, value, order)				\
	(order_note(ORDER_CHANGE, at, order),				\
	 __atomic_fetch_add(at, value, order))
#define __atomic_fetch_sub(at, value, order)				\
	(order_note(ORDER_CHANGE, at, order),				\
	 __atomic_fetch_sub(at, value, order))
#define __atomic_fetch_or(at, value, order)				\
	(order_note(ORDER_CHANGE, at, order),				\
	 __atomic_fetch_or(at, value, order))
#define __atomic_fetch_and(at, value, order)				\
	(order_note(ORDER_CHANGE, at, order),				\
	 __atomic_fetch_and(at, value, order))
#define __atomic_thread_fence(order)					\
	(order_note(ORDER_FENCE, NULL, order), __atomic_thread_fence(order))
#define syscall(nr, ...)						\
	(order_note(ORDER_CALL, (void *)(nr), ORDER_FIRST(__VA_ARGS__, 0)), \
	 (syscall)(nr, __VA_ARGS__))
#define ORDER_FIRST(first, ...)	((int)(uintptr_t)(first))
#define sched_yield()		order_yield()

#endif /* CODECTL_ORDER_H */
