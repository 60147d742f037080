// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of walking a stack that alternates between the program, two libraries, the C
 * library's qsort() and compiled code.
 */
#include <alloca.h>

#include "bench.h"
#include "chain.h"
#include "mixed.h"
#include "walks.h"
#include "jit_code.h"

#define STEPS_MAX	256
#define JIT_SHAPES	4

typedef void (*step)(struct mixed *m);

static step steps[STEPS_MAX];
static step jit[JIT_SHAPES];
static struct mixed walk;
static bool taken;

MIXED_STEPS(own)

static int compare(const void *a, const void *b)
{
	if (!taken)
		mixed_go(&walk);
	return 0;
}

static void sort(struct mixed *m)
{
	int values[2] = {};

	qsort(values, 2, sizeof(*values), compare);
}

static void end(struct mixed *m)
{
	taken = true;
	marker();
}

static __attribute__((noinline)) void from_jit(struct mixed *m)
{
	mixed_go(m);
}

static void make_jit(void)
{
	static const struct jit_shape *const shapes[JIT_SHAPES] = {
		&jit_small, &jit_saved, &jit_fp, &jit_small,
	};
	static struct jit_region r;

	if (jit_region_map(&r, 1, 1, PAGE))
		die("region");
	for (int i = 0; i < JIT_SHAPES; i++)
		jit[i] = (step)jit_emit(&r, shapes[i], from_jit);
	if (register_jit(&r.info))
		die("codectl");
}

static void run_steps(void *unused)
{
	taken = false;
	walk.next = steps;
	chain_base((void *)from_jit, &walk);
}

/* The numbers of rounds through all objects, and of functions of the program. */
static void make_steps(int rounds, int own)
{
	static const step in_turn[][3] = {
		{ own_small, liba_save, libb_room },
		{ own_room, liba_small, libb_save },
		{ own_save, liba_alloca, libb_small },
		{ own_alloca, liba_room, libb_alloca },
	};
	step *next = steps;

	for (int i = 0; i < rounds; i++) {
		for (int j = 0; j < 3; j++)
			*next++ = in_turn[i % 4][j];
		*next++ = sort;
		*next++ = jit[i % JIT_SHAPES];
	}
	while (own-- > 0)
		*next++ = own_small;
	*next = end;
}

/* The C library determines how many frames a round has. */
static void make_stack(unsigned int frames)
{
	unsigned int empty, round, rounds;

	make_steps(0, 0);
	empty = walk_frames(run_steps, NULL);
	make_steps(1, 0);
	round = walk_frames(run_steps, NULL) - empty;
	rounds = (frames - empty) / round;
	make_steps(rounds, frames - empty - rounds * round);
}

static void mixed_walks(const char *name, enum walk_kind kind)
{
	for (size_t i = 0; i < WALK_DEPTHS; i++) {
		make_stack(walk_depths[i]);
		walk_result(name, walk_depths[i],
			    walk_cost(run_steps, NULL, walk_depths[i], kind,
				      NULL));
	}
}

int main(void)
{
	walks_open("unwind_user");
	make_jit();
	mixed_walks("mixed-first", WALK_FIRST);
	mixed_walks("mixed-second", WALK_SECOND);
	mixed_walks("mixed-cold", WALK_COLD);
	mixed_walks("mixed-elsewhere", WALK_ELSEWHERE);
	mixed_walks("mixed-warm", WALK_WARM);
	return 0;
}
