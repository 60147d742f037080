/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _JIT_CASE_H
#define _JIT_CASE_H

#include <kunit/test.h>
#include <linux/string.h>

#include "../jit.h"

/**
 * struct jit_case - a field of an image to change, and an address to look up
 * @name: what it is
 * @at: where the field is in the image
 * @bytes: its bytes
 * @val: what it becomes
 * @off: the address
 * @ret: the expected result
 * @cfa_off: the number of the expected row, which it has there; -1: a row that is not
 *	understood
 */
struct jit_case {
	const char	*name;
	unsigned int	at;
	unsigned int	bytes;
	u64		val;
	u32		off;
	int		ret;
	s32		cfa_off;
};

static inline void jit_case_change(const struct jit_case *c, void *image)
{
	memcpy(image + c->at, &c->val, c->bytes);
}

static inline void jit_case_look(struct kunit *test, const struct jit_case *c,
				 const struct jit_unwind *jit)
{
	struct code_jit_unwind_fre fre;
	int ret = jit_find(jit, c->off, &fre);

	KUNIT_EXPECT_EQ_MSG(test, ret, c->ret, "%s", c->name);
	if (ret)
		return;
	if (c->cfa_off < 0)
		KUNIT_EXPECT_EQ_MSG(test, fre.info, CODE_FRE_UNKNOWN, "%s",
				    c->name);
	else
		KUNIT_EXPECT_EQ_MSG(test, fre.cfa_off, c->cfa_off, "%s", c->name);
}

#endif /* _JIT_CASE_H */
