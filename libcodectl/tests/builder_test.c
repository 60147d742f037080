// SPDX-License-Identifier: MIT
/*
 * Rows of the builder and of the usual shapes, at each instruction.
 */
#include "test.h"

#define SAVED	CODE_FRE_FP_SAVED
#define SP	CODE_FRE_BASE_SP

static struct code_jit_unwind_fre rows[16];

struct expected {
	uint32_t from;
	uint32_t to;
	uint32_t info;
	int32_t cfa_off;
	int32_t fp_off;
};

static void compare(int nr, const struct expected *want, int want_nr)
{
	int i;

	CHECK_EQ(nr, want_nr);
	for (i = 0; i < nr; i++) {
		CHECK_EQ(rows[i].ip_off, want[i].from);
		CHECK_EQ(rows[i].ip_off + rows[i].size, want[i].to);
		CHECK_EQ(rows[i].info, want[i].info);
		CHECK_EQ(rows[i].cfa_off, want[i].cfa_off);
		CHECK_EQ(rows[i].fp_off, want[i].fp_off);
		CHECK_EQ(rows[i].ra_off, -8);
		CHECK_EQ(rows[i].__reserved[0] | rows[i].__reserved[1] |
			 rows[i].__reserved[2], 0);
	}
}

#define COMPARE(nr, ...) do {						\
	static const struct expected want[] = { __VA_ARGS__ };		\
									\
	compare(nr, want, ARRAY_SIZE(want));				\
} while (0)

static void leaf(void)
{
	struct codectl_shape shape = { .len = 10 };

	COMPARE(codectl_rows_leaf(&shape, rows, ARRAY_SIZE(rows)),
		{ 0, 10, SP, 8, 0 });
}

/* sub $24, %rsp; ...; add $24, %rsp; ret; ...; add $24, %rsp; ret */
static void fixed_frame(void)
{
	static const uint32_t rets[] = { 15, 29 };
	struct codectl_shape shape = {
		.len = 30, .frame = 24, .prologue = 4, .nr_rets = 2,
		.rets = rets,
	};

	COMPARE(codectl_rows_sp(&shape, rows, ARRAY_SIZE(rows)),
		{ 0, 4, SP, 8, 0 }, { 4, 15, SP, 32, 0 },
		{ 15, 16, SP, 8, 0 }, { 16, 29, SP, 32, 0 },
		{ 29, 30, SP, 8, 0 });
}

/* push %rbp; mov %rsp, %rbp; ...; leave; ret; ...; pop %rbp; ret; ... */
static void frame_pointer(void)
{
	static const uint32_t rets[] = { 20, 30 };
	struct codectl_shape shape = {
		.len = 40, .prologue = 4, .nr_rets = 2, .rets = rets,
	};

	COMPARE(codectl_rows_fp(&shape, rows, ARRAY_SIZE(rows)),
		{ 0, 1, SP, 8, 0 }, { 1, 4, SP | SAVED, 16, -16 },
		{ 4, 20, SAVED, 16, -16 }, { 20, 21, SP, 8, 0 },
		{ 21, 30, SAVED, 16, -16 }, { 30, 31, SP, 8, 0 },
		{ 31, 40, SAVED, 16, -16 });
	/* endbr64 first */
	shape.prologue = 8;
	shape.nr_rets = 0;
	COMPARE(codectl_rows_fp(&shape, rows, ARRAY_SIZE(rows)),
		{ 0, 5, SP, 8, 0 }, { 5, 8, SP | SAVED, 16, -16 },
		{ 8, 40, SAVED, 16, -16 });
}

/* FP saved and used for something else; words pushed and popped. */
static void fp_as_any_register(void)
{
	struct codectl_builder b;

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	codectl_build_push(&b, 2);
	codectl_build_push_fp(&b, 3);
	codectl_build_adjust(&b, 7, 40);
	codectl_build_push(&b, 12);
	codectl_build_adjust(&b, 13, -8);
	codectl_build_save(&b);
	codectl_build_adjust(&b, 17, -40);
	codectl_build_pop_fp(&b, 18);
	codectl_build_adjust(&b, 20, -8);
	codectl_build_resume(&b, 21);
	COMPARE(codectl_build_end(&b, 25),
		{ 0, 2, SP, 8, 0 }, { 2, 3, SP, 16, 0 },
		{ 3, 7, SP | SAVED, 24, -24 }, { 7, 12, SP | SAVED, 64, -24 },
		{ 12, 13, SP | SAVED, 72, -24 }, { 13, 17, SP | SAVED, 64, -24 },
		{ 17, 18, SP | SAVED, 24, -24 }, { 18, 20, SP, 16, 0 },
		{ 20, 21, SP, 8, 0 }, { 21, 25, SP | SAVED, 64, -24 });
}

/* "sub $40, %rsp; mov %rbp, 32(%rsp)", and back. */
static void fp_stored(void)
{
	struct codectl_builder b;

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	codectl_build_adjust(&b, 4, 40);
	codectl_build_store_fp(&b, 9, 32);
	codectl_build_load_fp(&b, 20);
	codectl_build_adjust(&b, 24, -40);
	COMPARE(codectl_build_end(&b, 25),
		{ 0, 4, SP, 8, 0 }, { 4, 9, SP, 48, 0 },
		{ 9, 20, SP | SAVED, 48, -16 }, { 20, 24, SP, 48, 0 },
		{ 24, 25, SP, 8, 0 });
}

/* With FP as the base, SP may go anywhere. */
static void fp_base(void)
{
	struct codectl_builder b;

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	codectl_build_push(&b, 1);
	codectl_build_push_fp(&b, 2);
	codectl_build_set_fp(&b, 5);
	codectl_build_adjust(&b, 9, 100);
	codectl_build_push(&b, 11);
	codectl_build_leave(&b, 12);
	codectl_build_adjust(&b, 13, -8);
	COMPARE(codectl_build_end(&b, 14),
		{ 0, 1, SP, 8, 0 }, { 1, 2, SP, 16, 0 },
		{ 2, 5, SP | SAVED, 24, -24 }, { 5, 12, SAVED, 24, -24 },
		{ 12, 13, SP, 16, 0 }, { 13, 14, SP, 8, 0 });
}

static void fp_lost(void)
{
	struct codectl_builder b;

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	codectl_build_fp_undef(&b, 3);
	codectl_build_push(&b, 5);
	COMPARE(codectl_build_end(&b, 9),
		{ 0, 3, SP, 8, 0 }, { 3, 5, SP | CODE_FRE_FP_UNDEF, 8, 0 },
		{ 5, 9, SP | CODE_FRE_FP_UNDEF, 16, 0 });
}

/* What changes nothing makes no row; two changes at one place make one. */
static void no_empty_rows(void)
{
	struct codectl_builder b;

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	codectl_build_adjust(&b, 0, 16);
	codectl_build_adjust(&b, 5, 0);
	codectl_build_push(&b, 6);
	codectl_build_push(&b, 6);
	codectl_build_adjust(&b, 8, -16);
	COMPARE(codectl_build_end(&b, 8),
		{ 0, 6, SP, 24, 0 }, { 6, 8, SP, 40, 0 });
	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	CHECK_EQ(codectl_build_end(&b, 0), 0);
}

static void may_be_copied(void)
{
	struct codectl_builder b, copy;

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	codectl_build_push(&b, 4);
	copy = b;
	memset(&b, 0xff, sizeof(b));
	COMPARE(codectl_build_end(&copy, 6),
		{ 0, 4, SP, 8, 0 }, { 4, 6, SP, 16, 0 });
}

static void full(void)
{
	struct codectl_builder b;

	rows[2].size = 77;
	codectl_build_start(&b, rows, 2);
	codectl_build_push(&b, 1);
	codectl_build_push(&b, 2);
	CHECK_EQ(codectl_build_end(&b, 3), -ENOSPC);
	CHECK_EQ(rows[2].size, 77);
	codectl_build_start(&b, rows, 3);
	codectl_build_push(&b, 1);
	codectl_build_push(&b, 2);
	CHECK_EQ(codectl_build_end(&b, 3), 3);
}

static int build(void (*steps)(struct codectl_builder *b))
{
	struct codectl_builder b;

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	steps(&b);

	return codectl_build_end(&b, 100);
}

static void goes_down(struct codectl_builder *b)
{
	codectl_build_push(b, 5);
	codectl_build_push(b, 4);
}

static void goes_down_unchanged(struct codectl_builder *b)
{
	codectl_build_push(b, 5);
	codectl_build_adjust(b, 4, 0);
}

static void above_cfa(struct codectl_builder *b)
{
	codectl_build_adjust(b, 5, -16);
}

static void overflow(struct codectl_builder *b)
{
	codectl_build_adjust(b, 5, INT32_MAX);
}

static void pop_without_push(struct codectl_builder *b)
{
	codectl_build_pop_fp(b, 5);
}

static void pop_elsewhere(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 1);
	codectl_build_push(b, 2);
	codectl_build_pop_fp(b, 3);
}

static void leave_without_base(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 1);
	codectl_build_leave(b, 5);
}

static void push_twice(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 1);
	codectl_build_push_fp(b, 2);
}

static void push_what_is_lost(struct codectl_builder *b)
{
	codectl_build_fp_undef(b, 1);
	codectl_build_push_fp(b, 2);
}

static void lose_the_base(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 1);
	codectl_build_set_fp(b, 4);
	codectl_build_fp_undef(b, 5);
}

static void leave_from_elsewhere(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 1);
	codectl_build_push(b, 2);
	codectl_build_set_fp(b, 5);
	codectl_build_leave(b, 6);
}

static void pop_from_base(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 1);
	codectl_build_set_fp(b, 4);
	codectl_build_adjust(b, 8, 32);
	codectl_build_pop_fp(b, 9);
}

static void leave_what_was_not_saved(struct codectl_builder *b)
{
	codectl_build_set_fp(b, 3);
	codectl_build_leave(b, 4);
}

static void store_twice(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 1);
	codectl_build_store_fp(b, 5, 0);
}

static void load_what_was_not_stored(struct codectl_builder *b)
{
	codectl_build_load_fp(b, 5);
}

static void store_twice_apart(struct codectl_builder *b)
{
	codectl_build_adjust(b, 1, 32);
	codectl_build_store_fp(b, 5, 0);
	codectl_build_store_fp(b, 9, 8);
}

static void store_below(struct codectl_builder *b)
{
	codectl_build_adjust(b, 1, 32);
	codectl_build_store_fp(b, 5, -8);
}

static void use_the_base(struct codectl_builder *b,
			 void (*step)(struct codectl_builder *b))
{
	codectl_build_adjust(b, 1, 32);
	codectl_build_set_fp(b, 4);
	step(b);
}

static void push_base(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 9);
}

static void push_from_base(struct codectl_builder *b)
{
	use_the_base(b, push_base);
}

static void store_base(struct codectl_builder *b)
{
	codectl_build_store_fp(b, 9, 0);
}

static void store_from_base(struct codectl_builder *b)
{
	use_the_base(b, store_base);
}

static void load_base(struct codectl_builder *b)
{
	codectl_build_load_fp(b, 9);
}

static void load_from_base(struct codectl_builder *b)
{
	codectl_build_push_fp(b, 1);
	use_the_base(b, load_base);
}

/* The caller's FP is lost, and the frame is found all the same. */
static void base_without_save(void)
{
	struct codectl_builder b;

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	codectl_build_set_fp(&b, 3);
	COMPARE(codectl_build_end(&b, 9),
		{ 0, 3, SP, 8, 0 }, { 3, 9, CODE_FRE_FP_UNDEF, 8, 0 });
}

static void errors(void)
{
	static void (*const wrong[])(struct codectl_builder *b) = {
		goes_down, goes_down_unchanged, above_cfa, overflow,
		pop_without_push, pop_elsewhere, leave_without_base, push_twice,
		push_what_is_lost, lose_the_base, leave_from_elsewhere,
		pop_from_base, leave_what_was_not_saved, store_twice,
		load_what_was_not_stored, store_twice_apart, store_below,
		push_from_base, store_from_base, load_from_base,
	};
	struct codectl_shape shape = { .len = 10, .prologue = 3 };
	static const uint32_t rets[] = { 8, 7 };
	struct codectl_builder b;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (build(wrong[i]) != -EINVAL)
			printf("# case %zu\n", i);
		CHECK_EQ(build(wrong[i]), -EINVAL);
	}

	codectl_build_start(&b, rows, ARRAY_SIZE(rows));
	codectl_build_push(&b, 5);
	CHECK_EQ(codectl_build_end(&b, 4), -EINVAL);

	CHECK_EQ(codectl_rows_fp(&shape, rows, ARRAY_SIZE(rows)), -EINVAL);
	shape.frame = 1U << 31;
	CHECK_EQ(codectl_rows_sp(&shape, rows, ARRAY_SIZE(rows)), -EINVAL);
	/* Negative, if it were signed. */
	shape.frame = -8;
	CHECK_EQ(codectl_rows_sp(&shape, rows, ARRAY_SIZE(rows)), -EINVAL);
	shape.frame = 8;
	shape.__reserved[1] = 1;
	CHECK_EQ(codectl_rows_leaf(&shape, rows, ARRAY_SIZE(rows)), -EINVAL);
	CHECK_EQ(codectl_rows_sp(&shape, rows, ARRAY_SIZE(rows)), -EINVAL);
	CHECK_EQ(codectl_rows_fp(&shape, rows, ARRAY_SIZE(rows)), -EINVAL);
	shape.__reserved[1] = 0;
	shape.__reserved[0] = 1;
	CHECK_EQ(codectl_rows_leaf(&shape, rows, ARRAY_SIZE(rows)), -EINVAL);
	shape.__reserved[0] = 0;
	shape.rets = rets;
	shape.nr_rets = 2;
	CHECK_EQ(codectl_rows_sp(&shape, rows, ARRAY_SIZE(rows)), -EINVAL);
	shape.nr_rets = 1;
	CHECK_EQ(codectl_rows_sp(&shape, rows, 2), -ENOSPC);
}

static const struct test tests[] = {
	TEST(leaf),
	TEST(fixed_frame),
	TEST(frame_pointer),
	TEST(fp_as_any_register),
	TEST(fp_stored),
	TEST(fp_base),
	TEST(base_without_save),
	TEST(fp_lost),
	TEST(no_empty_rows),
	TEST(may_be_copied),
	TEST(full),
	TEST(errors),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}
