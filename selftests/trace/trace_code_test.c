// SPDX-License-Identifier: GPL-2.0
/* User stacks in the trace: which functions of granule maps their frames are in. */
#include "granule_map.h"
#include "trace_fixture.h"

#define ID 0x123456789abcdef0

static jit_record *first_record(const struct granule_map *map)
{
	return (void *)(map->pool + CODE_JIT_RECORD_ALIGN);
}

/* The only function of the stub's map. */
static jit_record *register_map(struct stub *stub, uint64_t code_id)
{
	struct granule_map map;
	struct code_jit_info info;

	if (stub_map(stub, 1))
		return NULL;
	map = stub_granules(stub, 4);
	first_record(&map)->code_id = code_id;
	info = stub_granule_info(stub, &map);
	return register_jit(&info) ? NULL : first_record(&map);
}

static unsigned int nr_codes(const struct trace_stack *s)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < s->nr; i++)
		nr += s->frame[i].code_id != 0;
	return nr;
}

/* That of the frame which returns into the stub, if the stack is whole. */
static uint64_t code_of(const struct trace_stack *s, const struct stub *stub)
{
	for (unsigned int i = 0; s->in_order && i < s->nr; i++)
		if (s->frame[i].offset == addr_of(stub->text) + stub->call_off)
			return s->frame[i].code_id;
	return 0;
}

TEST_F(trace, function_that_a_frame_returns_to)
{
	struct trace_stack *s = &self->stack;
	struct stub stub;

	ASSERT_NE(NULL, register_map(&stub, ID));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	stub_run(&stub, stub_callback);
	READ_LOG();
	EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL, "sys_enter: "));
	EXPECT_EQ(ID, code_of(s, &stub));
	EXPECT_EQ(1, nr_codes(s));
}

TEST_F(trace, function_that_makes_the_call)
{
	struct trace_stack *s = &self->stack;
	struct stub stub;

	ASSERT_NE(NULL, register_map(&stub, ID));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	stub_run(&stub, NULL);
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_EQ(addr_of(stub.text) + stub.marker_off, s->frame[0].offset);
	EXPECT_EQ(ID, s->frame[0].code_id);
	EXPECT_TRUE(s->frame[0].exact);
	EXPECT_EQ(1, nr_codes(s));
}

/* One address, of a function and then of another one; or of one without a number. */
TEST_F(trace, record_used_again)
{
	static const uint64_t ids[] = { 1, UINT64_MAX, 0, 2 };
	struct trace_stack *s = &self->stack;
	struct stub stub;
	jit_record *record = register_map(&stub, ID);

	ASSERT_NE(NULL, record);
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		record->seq++;
		record->code_id = ids[i];
		record->seq++;
		stub_run(&stub, stub_callback);
		READ_LOG();
		ASSERT_TRUE(syscall_stack(&self->log, s));
		EXPECT_EQ(truth.nr, s->nr);
		EXPECT_EQ(ids[i], code_of(s, &stub));
	}
}

static noinline int recurse(unsigned int depth)
{
	if (depth)
		return recurse(depth - 1) + 1;
	marker();
	return 0;
}

static void deep_callback(void)
{
	recurse(100);
}

/* It is in the record that has the frame. */
TEST_F(trace, frame_of_a_long_stack)
{
	struct trace_stack *s = &self->stack;
	struct stub stub;

	ASSERT_NE(NULL, register_map(&stub, ID));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	stub_run(&stub, deep_callback);
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_STREQ("", s->stop);
	EXPECT_EQ(2, s->records);
	EXPECT_LT(100, s->nr);
	EXPECT_EQ(ID, code_of(s, &stub));
	EXPECT_EQ(1, nr_codes(s));
}

/* A chain of tables has no numbers, and what cannot be read has none. */
TEST_F(trace, functions_without_one)
{
	struct trace_stack *s = &self->stack;
	struct stub stub;

	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_jit_table(&stub);
	ASSERT_EQ(0, stub_register_jit(&stub));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	stub_run(&stub, stub_callback);
	READ_LOG();
	EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL, "sys_enter: "));
	EXPECT_EQ(0, nr_codes(s));
	stub_unmap(&stub);

	ASSERT_EQ(0, tracefs_clear(&self->t));
	ASSERT_NE(NULL, register_map(&stub, ID));
	ASSERT_EQ(0, munmap(stub.table, PAGE));
	stub_run(&stub, stub_callback);
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_STREQ("fault", s->stop);
	EXPECT_EQ(0, nr_codes(s));
}

TEST_HARNESS_MAIN
