// SPDX-License-Identifier: MIT
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_names.h"
#include "kernel_stacks.h"
#include "tool.h"

/* With 100 frames each they take 50 MiB. */
uint32_t kernel_stacks_max = 65536;

/* What is between an event of a wait and the task's own activity. */
#define SCHEDULER	"__schedule"

struct kernel_stack {
	uint32_t number, nr;
	uint64_t address[];
};

struct kernel_stacks {
	void *tree;			/* of struct kernel_stack */
	struct kernel_stack **list;	/* by number, from 1 */
	uint32_t nr, room;
	unsigned long left_out;
	struct kernel_names *names;	/* NULL until read */
};

struct kernel_stacks *kernel_stacks_new(void)
{
	return need(calloc(1, sizeof(struct kernel_stacks)));
}

static void keep_node(void *node)
{
	(void)node;
}

void kernel_stacks_free(struct kernel_stacks *stacks)
{
	tdestroy(stacks->tree, keep_node);
	for (uint32_t i = 0; i < stacks->nr; i++)
		free(stacks->list[i]);
	free(stacks->list);
	if (stacks->names)
		kernel_names_free(stacks->names);
	free(stacks);
}

static int compare_stacks(const void *one, const void *other)
{
	const struct kernel_stack *a = one, *b = other;

	if (a->nr != b->nr)
		return a->nr < b->nr ? -1 : 1;
	return memcmp(a->address, b->address, a->nr * sizeof(*a->address));
}

uint32_t kernel_stacks_add(struct kernel_stacks *stacks, const uint64_t *address, uint32_t nr)
{
	struct kernel_stack *stack, **found;

	if (!nr)
		return 0;
	stack = need(malloc(sizeof(*stack) + nr * sizeof(*address)));
	stack->nr = nr;
	memcpy(stack->address, address, nr * sizeof(*address));
	found = tfind(stack, &stacks->tree, compare_stacks);
	if (found || stacks->nr >= kernel_stacks_max) {
		free(stack);
		stacks->left_out += !found;
		return found ? (*found)->number : 0;
	}
	if (stacks->nr == stacks->room) {
		stacks->room = stacks->room ? 2 * stacks->room : 64;
		stacks->list = need(reallocarray(stacks->list, stacks->room,
						 sizeof(*stacks->list)));
	}
	stacks->list[stacks->nr++] = stack;
	stack->number = stacks->nr;
	need(tsearch(stack, &stacks->tree, compare_stacks));
	return stack->number;
}

unsigned long kernel_stacks_left_out(const struct kernel_stacks *stacks)
{
	return stacks->left_out;
}

/* How many of the innermost frames only belong to the event. */
static uint32_t leave_out(const struct kernel_stacks *stacks, const struct kernel_stack *stack)
{
	const char *function, *module;
	uint64_t distance;

	for (uint32_t i = stack->nr; i--;)
		if (kernel_names_find(stacks->names, stack->address[i] - 1, &function, &module,
				      &distance) && !strcmp(function, SCHEDULER))
			return i + 1;
	return 0;
}

uint32_t kernel_stacks_push(struct kernel_stacks *stacks, struct profile *profile,
			    uint32_t caller, uint32_t number)
{
	const struct kernel_stack *stack;
	uint32_t first;

	if (!number || number > stacks->nr)
		return caller;
	stack = stacks->list[number - 1];
	if (!stacks->names)
		stacks->names = kernel_names_read("/proc/kallsyms");
	first = leave_out(stacks, stack);
	for (uint32_t i = stack->nr; i-- > first;)
		caller = kernel_names_push(stacks->names, profile, caller, stack->address[i],
					   false);
	return caller;
}
