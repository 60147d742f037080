// SPDX-License-Identifier: GPL-2.0
/*
 * The worst possible tables: a walk looks at a limited number of their rows, and says
 * so.  Rows are counted, not time.
 */
#include "jit_table.h"
#include "trace_fixture.h"

#define BUDGET		65536
#define BUDGET_AT_ONCE	8192
#define MOST_ROWS	65535
#define CHAIN		64

/* Where the frames above the stub's return to, each to a place of its own. */
#define FRAMES		600
#define FRAMES_AT	1024

static uint64_t frame_at(const struct stub *stub, unsigned int nr)
{
	return addr_of(stub->text) + FRAMES_AT + 2 * nr + 1;
}

/* In place of the stub's one page of table. */
static int make_room(struct stub *stub, size_t room)
{
	munmap(stub->table, stub->table_room);
	stub->table_room = room;
	stub->table = map_pages(room / PAGE, PROT_READ | PROT_WRITE);
	return stub->table ? 0 : -1;
}

/* The stub's caller is the first of those frames, which are one above the other. */
static void run_below(const struct stub *stub)
{
	uint64_t words[FRAMES];

	for (unsigned int i = 0; i < FRAMES; i++)
		words[i] = frame_at(stub, i + 1);
	stub_plant = frame_at(stub, 0);
	stub_fp = addr_of(words);
	stub_run(stub, NULL);
	stub_plant = 0;
	stub_fp = 0;
}

static void expect_stop(struct __test_metadata *_metadata,
			FIXTURE_DATA(trace) * self, const char *reason)
{
	const struct trace_entry *e;
	struct trace_stop stop;

	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, &self->stack));
	EXPECT_STREQ(reason, self->stack.stop);
	e = trace_find(&self->log, NULL, "unwind_stop: ");
	ASSERT_NE(NULL, e);
	ASSERT_TRUE(trace_parse_stop(e, &stop));
	EXPECT_STREQ(reason, stop.reason);
	EXPECT_EQ(self->stack.nr, stop.nr);
}

#define ASK_FOR_STOPS() do {						\
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));			\
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/unwind_stop"));	\
} while (0)

/* Every one of @nr rows holds where the frames are, so that the last one does. */
static int register_rows(struct stub *stub, struct fre_spec *rows,
			 unsigned int nr)
{
	const struct fre_spec own = {
		0, FRE_INFO(FRE_SP, 4, FRE_WORD1),
		{ FLEX_CTL(DWARF_RBP, 0, 1), 0, FLEX_CTL(DWARF_RSP, 1, 1), 0 }
	};
	struct fde_spec fdes[2] = { stub_fde(stub), stub_fde(stub) };

	fdes[0].info2 = FDE_FLEX;
	fdes[0].nr_fres = 1;
	fdes[0].fre = &own;
	fdes[1].func += FRAMES_AT;
	fdes[1].size = PAGE - FRAMES_AT;
	fdes[1].nr_fres = nr;
	fdes[1].fre = rows;
	stub->table_size = sframe_build(stub->table, stub->table_room, fdes, 2,
					0);
	return stub_register(stub);
}

static void fill_rows(struct fre_spec *rows)
{
	for (unsigned int i = 0; i < MOST_ROWS; i++)
		rows[i] = (struct fre_spec) {
			0, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 8 }
		};
}

TEST_F(trace, rows_of_a_function)
{
	const struct {
		unsigned int rows;
		unsigned int frames;
		const char *stop;
	} cases[] = {
		{ MOST_ROWS, 2, "budget" },
		{ MOST_ROWS / 2, 4, "budget" },
		{ 1000, 2 + BUDGET / 1000, "budget" },
		{ 100, STACK_MAX, "limit" },
	};
	struct fre_spec *rows = calloc(MOST_ROWS, sizeof(*rows));
	struct stub stub;

	ASSERT_NE(NULL, rows);
	ASSERT_EQ(0, stub_map(&stub, 1));
	ASSERT_EQ(0, make_room(&stub, 64 * PAGE));
	fill_rows(rows);
	ASK_FOR_STOPS();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		ASSERT_EQ(0, register_rows(&stub, rows, cases[i].rows));
		ASSERT_EQ(0, tracefs_clear(&self->t));
		run_below(&stub);
		expect_stop(_metadata, self, cases[i].stop);
		EXPECT_EQ(cases[i].frames, self->stack.nr) {
			TH_LOG("%u rows", cases[i].rows);
		}
		ASSERT_EQ(0, stub_unregister(&stub));
	}
	free(rows);
	stub_unmap(&stub);
}

/* Everybody waits for a walk in an interrupt. */
TEST_F(trace, rows_of_a_function_at_once)
{
	const unsigned int frames = 2 + BUDGET_AT_ONCE / 1000;
	struct fre_spec *rows = calloc(MOST_ROWS, sizeof(*rows));
	struct sampler sampler;
	struct stack stack;
	struct stub stub;

	ASSERT_NE(NULL, rows);
	ASSERT_EQ(0, stub_map(&stub, 1));
	ASSERT_EQ(0, make_room(&stub, 64 * PAGE));
	fill_rows(rows);
	ASSERT_EQ(0, register_rows(&stub, rows, 1000));
	sampler_at_once = true;
	ASSERT_EQ(0, sampler_open_syscall(&sampler, MARKER_NR));
	run_below(&stub);
	ASSERT_TRUE(sampler_next(&sampler, &stack));
	/* From there on frame pointers are tried, of which there are none. */
	ASSERT_LE(frames, stack.nr);
	EXPECT_EQ(frame_at(&stub, frames - 2), stack.ip[frames - 1]);
	EXPECT_FALSE(stack.nr > frames &&
		     stack.ip[frames] == frame_at(&stub, frames - 1));
	sampler_close(&sampler);
	ASSERT_EQ(0, stub_unregister(&stub));
	free(rows);
	stub_unmap(&stub);
}

/*
 * As many tables as are read.  In the last one are the frames' rows, and where they
 * start, too, each has to be looked up twice.
 */
static void make_chain(struct stub *stub, size_t room)
{
	const jit_row own = { .size = STUB_SIZE, .cfa_off = 8, .ra_off = -8 };
	jit_table *table = NULL, *next;
	jit_row row = {
		.size = 1, .cfa_off = 8, .ra_off = -8, .info = CODE_FRE_BASE_SP,
	};

	for (unsigned int i = 0; i < CHAIN; i++) {
		next = jit_table_init(stub->table + i * PAGE,
				      i == CHAIN - 1 ? room - i * PAGE : PAGE);
		row.ip_off = STUB_SIZE + i;
		if (i < CHAIN - 1)
			jit_table_append(next, i ? &row : &own, 1);
		if (table)
			jit_table_link(table, next);
		table = next;
	}
	for (row.ip_off = FRAMES_AT; row.ip_off < PAGE; row.ip_off++)
		jit_table_append(table, &row, 1);
}

TEST_F(trace, tables_of_a_chain)
{
	const size_t room = (CHAIN + 32) * PAGE;
	const unsigned int lookup = CHAIN - 1 + 12; /* bisects 3072 rows */
	struct stub stub;

	ASSERT_EQ(0, stub_map(&stub, 1));
	ASSERT_EQ(0, make_room(&stub, room));
	make_chain(&stub, room);
	ASK_FOR_STOPS();
	ASSERT_EQ(0, stub_register_jit(&stub));
	run_below(&stub);
	expect_stop(_metadata, self, "budget");
	EXPECT_GE(2 + BUDGET / lookup, self->stack.nr);
	EXPECT_LE(2 + BUDGET / lookup / 2, self->stack.nr);
	ASSERT_EQ(0, stub_unregister(&stub));
	stub_unmap(&stub);
}

TEST_HARNESS_MAIN
