/* SPDX-License-Identifier: GPL-2.0 */
/* A stack through several objects: each step calls the next one of a list. */
#ifndef CODECTL_MIXED_H
#define CODECTL_MIXED_H

struct mixed {
	void (*const *next)(struct mixed *m);
};

static inline void mixed_go(struct mixed *m)
{
	(*m->next++)(m);
}

/* Four steps with different frames. */
#define MIXED_STEPS(name) MIXED_STEPS_OF(name)
#define MIXED_STEPS_OF(name)						\
void name##_small(struct mixed *m)					\
{									\
	mixed_go(m);							\
}									\
									\
void name##_room(struct mixed *m)					\
{									\
	volatile char room[300];					\
									\
	room[0] = 1;							\
	mixed_go(m);							\
	(void)room[0];							\
}									\
									\
void name##_save(struct mixed *m)					\
{									\
	long a = (long)m, b = a, c = a, d = a, e = a;			\
									\
	asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));	\
	mixed_go(m);							\
	asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));	\
}									\
									\
void name##_alloca(struct mixed *m)					\
{									\
	volatile char *room = alloca(16 + ((long)m & 16));		\
									\
	room[0] = 1;							\
	mixed_go(m);							\
	(void)room[0];							\
}

#define MIXED_DECLARE(name)						\
void name##_small(struct mixed *m);					\
void name##_room(struct mixed *m);					\
void name##_save(struct mixed *m);					\
void name##_alloca(struct mixed *m)

MIXED_DECLARE(own);
MIXED_DECLARE(liba);
MIXED_DECLARE(libb);

#endif /* CODECTL_MIXED_H */
