// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that frame pointers alone make whole: those that are taken at once are what
 * they were before there were any tables.  Compiled with frame pointers.
 */
#include "unwind_fixture.h"
#include "attach.h"
#include "proc_file.h"

/* ----------------------------------------------------- a table that is not in memory */

static struct {
	char *first;
	size_t len;
	bool was_mapped;
} table;

static noinline void walk_without_table(void)
{
	NOTE_FRAME();
	table.was_mapped = madvise(table.first, table.len, MADV_DONTNEED) ||
			   page_is_mapped(table.first);
	marker();
	asm volatile("");
}

static noinline void call_without_table(void)
{
	NOTE_FRAME();
	walk_without_table();
	asm volatile("");
}

/* Nobody has it read in for a walk that cannot wait, nor stops there. */
TEST_F(unwind, table_that_is_not_in_memory)
{
	struct attach_args args;

	ASSERT_EQ(0, attach_args_of(call_without_table, &args));
	close(args.info.fd);
	table.first = (char *)(args.info.table & -PAGE);
	table.len = args.info.table + args.info.table_len - addr_of(table.first);
	call_without_table();
	EXPECT_FALSE(table.was_mapped);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_TRUE(stack_has_noted(&self->stack)) {
		print_stack(&self->stack, &truth);
	}
}

/* --------------------------------------------------------- a stack on several stacks */

#define STACK_SIZE (16 * PAGE)

static char *stacks;

/* The frame pointer leads back. */
static noinline void run_on(char *top, void (*function)(void))
{
	NOTE_FRAME();
	asm volatile("mov %%rsp, %%rbx\n\t"
		     "mov %0, %%rsp\n\t"
		     "call *%1\n\t"
		     "mov %%rbx, %%rsp"
		     : "+r"(top), "+r"(function)
		     :
		     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
		       "r11", "memory", "cc");
}

static noinline void walk_on_higher_stack(void)
{
	NOTE_FRAME();
	marker();
	asm volatile("");
}

static noinline void run_on_lower_stack(void)
{
	NOTE_FRAME();
	run_on(stacks + 2 * STACK_SIZE, walk_on_higher_stack);
	asm volatile("");
}

/* Where nobody has a table for this program, though for something else. */
TEST_F(unwind, caller_on_a_lower_stack)
{
	struct attach_args args;
	int attached;

	stacks = mmap(NULL, 2 * STACK_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, stacks);
	ASSERT_EQ(0, attach_args_of(getenv, &args));
	attached = attach_file(&args.info);
	ASSERT_LE(0, attached);
	ASSERT_EQ(0, proc_unregister_all());
	sampler_drain(&self->sampler);
	truth_reset();
	run_on(stacks + STACK_SIZE, run_on_lower_stack);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	/* Those that may wait go by stacks that grow in one direction only. */
	EXPECT_EQ(sampler_at_once, stack_has_noted(&self->stack)) {
		print_stack(&self->stack, &truth);
	}
	close(args.info.fd);
	close(attached);
}

TEST_HARNESS_MAIN
