// SPDX-License-Identifier: MIT
/*
 * Rows of functions of the usual shapes.
 */
#include <errno.h>

#include "internal.h"

/* The length of "mov %rsp, %rbp", and that of "ret". */
#define MOV_LEN	3
#define RET_LEN	1

static bool shape_known(const struct codectl_shape *shape)
{
	return !shape->__reserved[0] && !shape->__reserved[1];
}

int codectl_rows_leaf(const struct codectl_shape *shape,
		      struct code_jit_unwind_fre *rows, uint32_t max)
{
	struct codectl_builder b;

	if (!shape_known(shape))
		return -EINVAL;

	codectl_build_start(&b, rows, max);

	return codectl_build_end(&b, shape->len);
}

int codectl_rows_sp(const struct codectl_shape *shape,
		    struct code_jit_unwind_fre *rows, uint32_t max)
{
	struct codectl_builder b;
	uint32_t i;

	if (!shape_known(shape) || shape->frame > INT32_MAX)
		return -EINVAL;

	codectl_build_start(&b, rows, max);
	codectl_build_adjust(&b, shape->prologue, shape->frame);
	codectl_build_save(&b);
	for (i = 0; i < shape->nr_rets; i++) {
		codectl_build_adjust(&b, shape->rets[i],
				     -(int32_t)shape->frame);
		codectl_build_resume(&b, shape->rets[i] + RET_LEN);
	}

	return codectl_build_end(&b, shape->len);
}

int codectl_rows_fp(const struct codectl_shape *shape,
		    struct code_jit_unwind_fre *rows, uint32_t max)
{
	struct codectl_builder b;
	uint32_t i;

	if (!shape_known(shape) || shape->prologue <= MOV_LEN)
		return -EINVAL;

	codectl_build_start(&b, rows, max);
	codectl_build_push_fp(&b, shape->prologue - MOV_LEN);
	codectl_build_set_fp(&b, shape->prologue);
	codectl_build_save(&b);
	for (i = 0; i < shape->nr_rets; i++) {
		codectl_build_leave(&b, shape->rets[i]);
		codectl_build_resume(&b, shape->rets[i] + RET_LEN);
	}

	return codectl_build_end(&b, shape->len);
}
