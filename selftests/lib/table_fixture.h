/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of the tests of right tables: the stub, and a stack at its marker. */
#ifndef CODECTL_TABLE_FIXTURE_H
#define CODECTL_TABLE_FIXTURE_H

#include "stub.h"
#include "unwind_common.h"

FIXTURE(table)
{
	struct sampler sampler;
	struct stack stack;
	struct stub stub;
};

FIXTURE_SETUP(table)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
	ASSERT_EQ(0, stub_map(&self->stub, 4));
}

FIXTURE_TEARDOWN(table)
{
	sampler_close(&self->sampler);
	stub_unmap(&self->stub);
}

/* Both walks end where @topmost and @below say: by default at _start. */
static void walk(struct __test_metadata *_metadata, FIXTURE_DATA(table) * self,
		 unsigned int topmost, unsigned int below)
{
	void (*const callbacks[])(void) = { NULL, stub_callback };
	const unsigned int lengths[] = { topmost, below };

	for (int i = 0; i < 2; i++) {
		unsigned int nr;

		truth_reset();
		sampler_drain(&self->sampler);
		stub_run(&self->stub, callbacks[i]);
		ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
		nr = lengths[i] ?: truth.nr;
		EXPECT_EQ(nr, self->stack.nr);
		EXPECT_EQ(nr, common_prefix(&self->stack, &truth)) {
			TH_LOG("%s", i ? "below a callback" : "topmost");
			print_stack(&self->stack, &truth);
		}
	}
}

#define COMPLETE 0

static inline void register_and_walk(struct __test_metadata *_metadata,
				     FIXTURE_DATA(table) * self,
				     unsigned int topmost, unsigned int below)
{
	ASSERT_NE(0, self->stub.table_size);
	ASSERT_EQ(0, stub_register(&self->stub));
	walk(_metadata, self, topmost, below);
	ASSERT_EQ(0, stub_unregister(&self->stub));
}

/* Words of a flexible row: the CFA of the stub. */
#define CFA_BY_SP FLEX_CTL(DWARF_RSP, 0, 1), STUB_FRAME

#endif /* CODECTL_TABLE_FIXTURE_H */
