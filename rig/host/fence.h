/* SPDX-License-Identifier: GPL-2.0 */
/* Memory with a detectable end, and code that may die. */
#ifndef HOST_FENCE_H
#define HOST_FENCE_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

extern sigjmp_buf fence_death;

void fence_init(void);
void *fence_alloc(size_t size);
void fence_free_all(void);
void fence_enter(void);
void fence_leave(void);

/* Runs @call with malloc() fenced; false if it died. */
#define fence_survives(call)						\
({									\
	bool alive = !sigsetjmp(fence_death, 1);			\
									\
	if (alive) {							\
		fence_enter();						\
		call;							\
	}								\
	fence_leave();							\
	alive;								\
})

#endif /* HOST_FENCE_H */
