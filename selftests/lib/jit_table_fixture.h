/* SPDX-License-Identifier: GPL-2.0 */
/* Regions of compiled code for the fixture of table_fixture.h. */
#ifndef CODECTL_JIT_TABLE_FIXTURE_H
#define CODECTL_JIT_TABLE_FIXTURE_H

#include "jit_table.h"
#include "table_fixture.h"

/* Where the frame's rule is none, the walk ends in the stub. */
#define NONE 1, 2

static void walk_region(struct __test_metadata *_metadata,
			FIXTURE_DATA(table) * self,
			const struct code_jit_info *info, unsigned int topmost,
			unsigned int below)
{
	ASSERT_EQ(0, register_jit(info));
	walk(_metadata, self, topmost, below);
	ASSERT_EQ(0, unregister_text(info->text_start, info->text_end));
}

static inline jit_table *table_of(FIXTURE_DATA(table) * self,
				  const jit_row *row, unsigned int nr)
{
	jit_table *t = jit_table_init(self->stub.table, self->stub.table_room);

	jit_table_append(t, row, nr);
	return t;
}

#define BODY STUB_FRAME, -8, STUB_FP_OFF, CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED
#define OUTERMOST 0, 0, 0, CODE_FRE_OUTERMOST
#define RIGHT_INFO (CODE_FRE_BASE_SP | CODE_FRE_FP_SAVED)

static struct code_jit_info with_default(const struct stub *stub)
{
	struct code_jit_info info = stub_jit_info(stub);

	info.jit_flags = CODE_JIT_DEFAULT_RULE;
	info.cfa_off = STUB_FRAME;
	info.ra_off = -8;
	info.fp_off = STUB_FP_OFF;
	info.info = RIGHT_INFO;
	return info;
}

#endif /* CODECTL_JIT_TABLE_FIXTURE_H */
