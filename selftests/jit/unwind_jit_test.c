// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks in which compiled code, C and the C library call each other: each
 * frame by its own method, and every address compared.
 */
#include <signal.h>

#include "jit_code.h"
#include "step_fixture.h"

#define TEXT_PAGES 64
#define NR_TABLES 32

static struct jit_region region;

static void map_region(struct __test_metadata *_metadata, uint32_t flags)
{
	ASSERT_EQ(0, jit_region_map(&region, TEXT_PAGES, NR_TABLES, PAGE));
	region.info.jit_flags = flags;
	ASSERT_EQ(0, register_jit(&region.info));
}

/* The first call alone takes a stack: who calls decides how often. */
static bool taken;

static noinline void leaf_once(void)
{
	if (taken)
		return;
	taken = true;
	NOTE_FRAME();
	leaf();
}

static const uint8_t *inner_function;

static noinline void call_inner(void)
{
	NOTE_FRAME();
	jit_call(inner_function, NULL);
}

static noinline int compare(const void *a, const void *b)
{
	leaf_once();
	return 0;
}

static const void *qsort_compare;

static noinline void sort(void)
{
	int values[] = { 2, 1, 3 };

	NOTE_FRAME();
	qsort(values, ARRAY_SIZE(values), sizeof(int), qsort_compare);
}

/* C, compiled, C, libc, compiled, C */
TEST_F(unwind, through_the_c_library)
{
	map_region(_metadata, 0);
	for (int i = 0; i < NR_JIT_SHAPES * NR_JIT_SHAPES; i++) {
		const struct jit_shape *outer = jit_shapes[i / NR_JIT_SHAPES];
		const struct jit_shape *inner = jit_shapes[i % NR_JIT_SHAPES];
		uint8_t *function = jit_make(&region, outer, sort);

		qsort_compare = jit_make(&region, inner, compare);
		ASSERT_NE(NULL, function);
		ASSERT_NE(NULL, qsort_compare);
		truth_reset();
		taken = false;
		jit_call(function, NULL);
		EXPECT_LT(7, truth.nr);
		EXPECT_TRUE_STACK_TO_START();
	}
}

/* Twice through compiled code with C in between, in another region each. */
TEST_F(unwind, through_two_regions)
{
	struct jit_region other;
	uint8_t *outer;

	map_region(_metadata, 0);
	ASSERT_EQ(0, jit_region_map(&other, 1, 1, PAGE));
	other.info.jit_flags = CODE_JIT_DESCENDING;
	ASSERT_EQ(0, register_jit(&other.info));
	for (int i = 0; i < NR_JIT_SHAPES; i++) {
		inner_function = jit_make(&region, jit_shapes[i], leaf_once);
		outer = jit_make(&other, jit_shapes[NR_JIT_SHAPES - 1 - i],
				 call_inner);
		truth_reset();
		taken = false;
		jit_call(outer, NULL);
		EXPECT_TRUE_STACK_TO_START();
	}
}

/*
 * What the walk is to find of compiled code that calls compiled code: it ends
 * in a frame that needs an FP which an inner frame has lost.
 */
static unsigned int frames_found(const struct jit_shape *const *shape,
				 unsigned int nr)
{
	bool lost = false;

	for (unsigned int i = 0; i < nr; i++) {
		if (shape[i]->by_fp && lost)
			return i + 1;
		if (shape[i]->saves_fp)
			lost = false;
		if (shape[i]->loses_fp)
			lost = true;
	}
	return 0;
}

#define CHAIN 3

/*
 * Calls @function with a frame on the stack that a walk by a lost FP would take
 * for the next one.
 */
static noinline void call_beside_invented_frame(const uint8_t *function)
{
	const void *volatile invented[2] = { NULL, printf };

	NOTE_FRAME();
	jit_call(function, (void *)invented);
}

static void check_chain(struct __test_metadata *_metadata,
			FIXTURE_DATA(unwind) * self,
			const struct jit_shape *const *shape)
{
	const void *target = leaf;
	unsigned int nr;

	for (int i = 0; i < CHAIN; i++) {
		target = jit_make(&region, shape[i], target);
		ASSERT_NE(NULL, target);
	}
	truth_reset();
	call_beside_invented_frame(target);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	nr = frames_found(shape, CHAIN);
	/* leaf() is a frame, too. */
	nr = nr ? nr + 1 : truth.nr;
	EXPECT_LT(CHAIN + 1, truth.nr);
	EXPECT_EQ(nr, self->stack.nr);
	EXPECT_TRUE(stack_is_prefix(&self->stack, &truth)) {
		print_stack(&self->stack, &truth);
	}
}

TEST_F(unwind, chains_of_every_shape)
{
	const struct jit_shape *shape[CHAIN];

	for (int flags = 0; flags <= CODE_JIT_DESCENDING;
	     flags += CODE_JIT_DESCENDING) {
		map_region(_metadata, flags);
		for (int i = 0; i < 6 * 6 * 6; i++) {
			shape[0] = jit_shapes[i % 6];
			shape[1] = jit_shapes[i / 6 % 6];
			shape[2] = jit_shapes[i / 36];
			check_chain(_metadata, self, shape);
		}
	}
}

static noinline uint64_t inner_work(uint64_t a)
{
	volatile uint64_t sum = a;

	for (int i = 0; i < 2; i++)
		sum += i;
	return sum;
}

static const uint8_t *step_function;

static noinline void call_step_function(void)
{
	jit_call(step_function, NULL);
}

/* A signal at each instruction of prologues, bodies and epilogues. */
TEST_F(unwind, each_instruction)
{
	for (int flags = 0; flags <= CODE_JIT_DESCENDING;
	     flags += CODE_JIT_DESCENDING) {
		const void *target = inner_work;

		map_region(_metadata, flags);
		for (int i = 0; i < NR_JIT_SHAPES; i++) {
			step_function = jit_make(&region, jit_shapes[i],
						 inner_work);
			step_through(_metadata, self, call_step_function, 20);
			/* All of them on the stack, but what loses FP. */
			if (!jit_shapes[i]->loses_fp)
				target = jit_make(&region, jit_shapes[i],
						  target);
		}
		step_function = target;
		step_through(_metadata, self, call_step_function, 50);
	}
}

/*
 * The frames of a chain of leaf(), a function of shape @inner, and one of shape
 * @outer; the rows of both can be changed in between.
 */
struct pair {
	uint8_t *inner;
	uint8_t *outer;
	jit_row *inner_row;	/* of the call */
	jit_row *outer_row;
};

#define INNERMOST_FRAMES 3	/* leaf(), inner and outer */

static void make_pair(struct __test_metadata *_metadata, struct pair *p,
		      const struct jit_shape *inner,
		      const struct jit_shape *outer)
{
	p->inner = jit_make(&region, inner, leaf);
	p->outer = jit_make(&region, outer, p->inner);
	ASSERT_NE(NULL, p->inner);
	ASSERT_NE(NULL, p->outer);
	p->inner_row = jit_row_at(&region, (void *)jit_return_address(p->inner,
								      inner));
	p->outer_row = jit_row_at(&region, (void *)jit_return_address(p->outer,
								      outer));
	ASSERT_NE(NULL, p->inner_row);
	ASSERT_NE(NULL, p->outer_row);
}

/* Complete, or cut off after @frames. */
static void check_pair(struct __test_metadata *_metadata,
		       FIXTURE_DATA(unwind) * self, const struct pair *p,
		       unsigned int frames)
{
	truth_reset();
	forget_rules();
	call_beside_invented_frame(p->outer);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_LT(INNERMOST_FRAMES, truth.nr);
	EXPECT_EQ(frames ?: truth.nr, self->stack.nr);
	EXPECT_TRUE(stack_is_prefix(&self->stack, &truth)) {
		print_stack(&self->stack, &truth);
	}
}

#define COMPLETE 0

/* What ends at the call is found by the byte before the return address. */
static void end_row_at(jit_row *row, uint64_t addr)
{
	row->size = addr - region.info.text_start - row->ip_off;
}

static void start_row_at(jit_row *row, uint64_t addr)
{
	uint32_t end = row->ip_off + row->size;

	row->ip_off = addr - region.info.text_start;
	row->size = end - row->ip_off;
}

TEST_F(unwind, function_that_ends_with_the_call)
{
	struct pair p;

	map_region(_metadata, 0);
	make_pair(_metadata, &p, &jit_small, &jit_small);
	end_row_at(p.outer_row, jit_return_address(p.outer, &jit_small));
	end_row_at(p.inner_row, jit_return_address(p.inner, &jit_small));
	check_pair(_metadata, self, &p, COMPLETE);
	p.outer_row->size--;
	check_pair(_metadata, self, &p, INNERMOST_FRAMES);
	p.inner_row->size--;
	check_pair(_metadata, self, &p, INNERMOST_FRAMES - 1);
}

/* Below a signal row the address is exact. */
TEST_F(unwind, signal_row)
{
	uint64_t back;
	struct pair p;

	map_region(_metadata, 0);
	make_pair(_metadata, &p, &jit_small, &jit_small);
	back = jit_return_address(p.outer, &jit_small);
	p.inner_row->info |= CODE_FRE_SIGNAL;
	check_pair(_metadata, self, &p, COMPLETE);
	end_row_at(p.outer_row, back);
	check_pair(_metadata, self, &p, INNERMOST_FRAMES);
	p.inner_row->info &= ~CODE_FRE_SIGNAL;
	check_pair(_metadata, self, &p, COMPLETE);

	make_pair(_metadata, &p, &jit_small, &jit_small);
	back = jit_return_address(p.outer, &jit_small);
	start_row_at(p.outer_row, back);
	check_pair(_metadata, self, &p, INNERMOST_FRAMES);
	p.inner_row->info |= CODE_FRE_SIGNAL;
	check_pair(_metadata, self, &p, COMPLETE);
}

TEST_F(unwind, outermost_row)
{
	struct pair p;

	map_region(_metadata, 0);
	make_pair(_metadata, &p, &jit_fp, &jit_fp);
	p.outer_row->info |= CODE_FRE_OUTERMOST;
	check_pair(_metadata, self, &p, INNERMOST_FRAMES);
	p.inner_row->info |= CODE_FRE_OUTERMOST;
	check_pair(_metadata, self, &p, INNERMOST_FRAMES - 1);
}

/* There is a right frame pointer, and it must not be taken. */
TEST_F(unwind, no_frame_pointer_for_gaps)
{
	struct pair p;

	map_region(_metadata, 0);
	make_pair(_metadata, &p, &jit_fp, &jit_fp);
	check_pair(_metadata, self, &p, COMPLETE);
	p.outer_row->size = 0;
	check_pair(_metadata, self, &p, INNERMOST_FRAMES);
	p.inner_row->size = 0;
	check_pair(_metadata, self, &p, INNERMOST_FRAMES - 1);
	p.inner_row->size = 1;
	p.inner_row->info |= CODE_FRE_UNKNOWN;
	check_pair(_metadata, self, &p, INNERMOST_FRAMES - 1);
	/* Registered by nobody, it is. */
	ASSERT_EQ(0, unregister_text(region.info.text_start,
				     region.info.text_end));
	check_pair(_metadata, self, &p, COMPLETE);
}

/* Two frame pointer functions of a region with such a default rule. */
TEST_F(unwind, default_rule_of_frame_pointers)
{
	struct pair p;

	ASSERT_EQ(0, jit_region_map(&region, 1, 1, PAGE));
	region.info.jit_flags = CODE_JIT_DEFAULT_RULE;
	region.info.cfa_off = 16;
	region.info.ra_off = -8;
	region.info.fp_off = -16;
	region.info.info = CODE_FRE_FP_SAVED;
	ASSERT_EQ(0, register_jit(&region.info));
	make_pair(_metadata, &p, &jit_small, &jit_fp);
	check_pair(_metadata, self, &p, COMPLETE);
	/* Retired: the rule of the region is right for this one. */
	p.outer_row->size = 0;
	check_pair(_metadata, self, &p, COMPLETE);
	/* It is wrong here: the frame's caller is skipped. */
	p.inner_row->size = 0;
	truth_reset();
	jit_call(p.outer, NULL);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_EQ(2, common_prefix(&self->stack, &truth));
	EXPECT_EQ(truth.nr - 1, self->stack.nr);
}

/* A frame by FP in text that nobody registered, after FP was lost. */
TEST_F(unwind, lost_frame_pointer_is_not_tried)
{
	uint8_t *text = map_pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
	const struct jit_shape *const inner[] = { &jit_small, &jit_saved,
						  &jit_lost };

	ASSERT_NE(NULL, text);
	map_region(_metadata, 0);
	for (size_t i = 0; i < ARRAY_SIZE(inner); i++) {
		struct pair p = { .outer = text + i * 256 };

		p.inner = jit_make(&region, inner[i], leaf);
		jit_write(p.outer, &jit_fp, p.inner);
		jit_describe(p.outer, &jit_fp);
		check_pair(_metadata, self, &p, inner[i]->loses_fp ?
			   INNERMOST_FRAMES : COMPLETE);
		/* Nor is it by a row below which the address is exact. */
		p.inner_row = jit_row_at(&region,
					 (void *)jit_return_address(p.inner, inner[i]));
		ASSERT_NE(NULL, p.inner_row);
		p.inner_row->info |= CODE_FRE_SIGNAL;
		check_pair(_metadata, self, &p, inner[i]->loses_fp ?
			   INNERMOST_FRAMES : COMPLETE);
	}
}

/* Handlers that return to code of a region. */
static const uint8_t sigreturn_bytes[] = {
	0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05,
};

static noinline void on_signal(int sig)
{
	NOTE_FRAME();
	leaf();
}

static noinline void raise_here(void)
{
	NOTE_FRAME();
	syscall(__NR_tgkill, getpid(), gettid(), SIGUSR1);
}

static int catch_with_restorer(const uint8_t *restorer)
{
	const struct {
		void (*handler)(int);
		unsigned long flags;
		const void *restorer;
		unsigned long mask;
	} sa = { on_signal, 0x04000000 /* SA_RESTORER */, restorer, 0 };

	return syscall(__NR_rt_sigaction, SIGUSR1, &sa, NULL, 8);
}

/*
 * Two functions with the trampoline in the gap between them; the byte before
 * it may belong to the first.
 */
TEST_F(unwind, trampoline_in_a_gap)
{
	uint8_t *first, *second, *restorer;
	jit_row *row;

	map_region(_metadata, 0);
	first = jit_make(&region, &jit_saved, raise_here);
	restorer = first + 64;
	memcpy(restorer, sigreturn_bytes, sizeof(sigreturn_bytes));
	ASSERT_EQ(0, catch_with_restorer(restorer));
	row = jit_row_at(&region, first + (jit_saved.code_end -
					   jit_saved.code) - 1);
	ASSERT_NE(NULL, row);
	/* For as long as it takes to write the next function after it. */
	row->size = restorer + 16 - region.text - row->ip_off;
	second = jit_make(&region, &jit_fp, first);
	ASSERT_LT(restorer + sizeof(sigreturn_bytes), second);
	row->size -= 16;
	for (int i = 0; i < 2; i++) {
		truth_reset();
		jit_call(second, NULL);
		EXPECT_TRUE_STACK_TO_START();
		/* And with a gap before the trampoline. */
		row->size = 1;
	}
}

/* A trampoline right after a region or section, whose last rule ends there. */
#define TEXT_SIZE 256

static int register_default_rule(uint64_t start, jit_table *t)
{
	const struct code_jit_info info = {
		.text_start = start,
		.text_end = start + TEXT_SIZE,
		.unwind_head = addr_of(t),
		.jit_flags = CODE_JIT_DEFAULT_RULE,
		.cfa_off = 64,
		.ra_off = -8,
		.info = CODE_FRE_BASE_SP,
	};

	return register_jit(&info);
}

static int register_one_row(uint64_t start, jit_table *t, uint32_t size)
{
	const jit_row row = { size, 0, 64, -8, 0, CODE_FRE_BASE_SP };
	const struct code_jit_info info = {
		.text_start = start,
		.text_end = start + TEXT_SIZE,
		.unwind_head = addr_of(t),
	};

	return jit_table_append(t, &row, 1) ?: register_jit(&info);
}

static int register_one_fde(uint64_t start, void *section, uint32_t size)
{
	const struct fre_spec row = {
		0, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 64 }
	};
	const struct fde_spec fde = {
		.func = start, .size = size, .nr_fres = 1, .fre = &row,
	};

	return register_text(start, start + TEXT_SIZE, section,
			     sframe_build(section, PAGE, &fde, 1, 0));
}

static int register_kind(int kind, uint64_t start, void *table)
{
	jit_table *t = jit_table_init(table, PAGE);

	switch (kind) {
	case 0:
		return register_default_rule(start, NULL);
	case 1:
		return register_default_rule(start, t);
	case 2:
		return register_one_row(start, t, TEXT_SIZE);
	case 3:
		return register_one_row(start, t, ~0U);
	case 4:
		return register_one_fde(start, table, TEXT_SIZE);
	default:
		return register_one_fde(start, table, 2 * TEXT_SIZE);
	}
}

TEST_F(unwind, trampoline_behind_the_text)
{
	uint8_t *text = map_pages(1, PROT_READ | PROT_WRITE | PROT_EXEC);
	void *table = map_pages(1, PROT_READ | PROT_WRITE);
	uint64_t start = addr_of(text);

	ASSERT_NE(NULL, text);
	ASSERT_NE(NULL, table);
	memcpy(text + TEXT_SIZE, sigreturn_bytes, sizeof(sigreturn_bytes));
	ASSERT_EQ(0, catch_with_restorer(text + TEXT_SIZE));
	for (int kind = 0; kind < 6; kind++) {
		TH_LOG("kind %d", kind);
		ASSERT_EQ(0, register_kind(kind, start, table));
		truth_reset();
		raise_here();
		EXPECT_TRUE_STACK_TO_START();
		ASSERT_EQ(0, unregister_text(start, start + TEXT_SIZE));
	}
}

/* More frames than are recorded: the innermost ones are. */
#define DEEP (STACK_MAX + 20)

TEST_F(unwind, deeper_than_what_is_recorded)
{
	static const uint8_t *function[DEEP];
	const void *target = jit_leaf;

	map_region(_metadata, 0);
	for (int i = 0; i < DEEP; i++) {
		function[i] = jit_emit(&region, &jit_small, target);
		ASSERT_NE(NULL, function[i]);
		target = function[i];
	}
	jit_call(target, NULL);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	ASSERT_EQ(STACK_MAX, self->stack.nr);
	for (int i = 1; i < STACK_MAX; i++)
		ASSERT_EQ(jit_return_address(function[i - 1], &jit_small),
			  self->stack.ip[i]);
}

TEST_HARNESS_MAIN
