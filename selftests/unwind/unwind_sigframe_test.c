// SPDX-License-Identifier: GPL-2.0
/*
 * Signal frames, marked by a table or recognised by the code that a handler returns to: what
 * is read of them, and where the walk goes on.
 */
#include <signal.h>
#include <ucontext.h>

#include "table_fixture.h"

static const uint8_t int3_nop[] = { 0xcc, 0x90 };

static noinline void on_trap(int sig)
{
	marker();
	asm volatile("");
}

/* Registers other than SP and FP are known where a signal interrupts: they are in its frame. */
TEST_F(table, flexible_by_other_register_of_a_signal_frame)
{
	const struct fre_spec row = {
		0, FRE_INFO(FRE_SP, 4, 0),
		{ CFA_BY_SP, FLEX_CTL(4, 1, 1), 0 }
	};
	const struct sigaction sa = { .sa_handler = on_trap };
	struct fde_spec fde = stub_fde(&self->stub);
	uint8_t *insn = self->stub.text + self->stub.marker_off - 2;

	ASSERT_EQ(0, mprotect(self->stub.text, PAGE, PROT_READ | PROT_WRITE));
	memcpy(insn, int3_nop, sizeof(int3_nop));
	ASSERT_EQ(0, mprotect(self->stub.text, PAGE, PROT_READ | PROT_EXEC));
	ASSERT_EQ(0, sigaction(SIGTRAP, &sa, NULL));
	self->stub.marker_off--;
	fde.info2 = FDE_FLEX;
	fde.nr_fres = 1;
	fde.fre = &row;
	stub_table_of(&self->stub, &fde);
	ASSERT_EQ(0, stub_register(&self->stub));
	truth_reset();
	stub_run(&self->stub, NULL);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	/* Handler and trampoline come first. */
	EXPECT_EQ(2 + truth.nr, self->stack.nr);
	EXPECT_TRUE(same_tail(&self->stack, &truth, truth.nr)) {
		print_stack(&self->stack, &truth);
	}
}

/* A trampoline of its own making, which only its table tells for one. */
static const uint8_t own_trampoline[] = {
	0x90, 0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05,
};

static noinline void on_signal(int sig)
{
	uint64_t ip = marker();

	truth_reset();
	truth.ip[0] = ip;
	truth.ip[1] = (uint64_t)__builtin_return_address(0);
}

TEST_F(table, signal_flag)
{
	struct fde_spec fde = stub_fde(&self->stub);
	struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		unsigned long mask;
	} sa = { on_signal, 0x04000000, self->stub.text, 0 };
	uint64_t trampoline = addr_of(self->stub.text);
	unsigned int callers;

	ASSERT_EQ(0, mprotect(self->stub.text, PAGE, PROT_READ | PROT_WRITE));
	memcpy(self->stub.text, own_trampoline, sizeof(own_trampoline));
	ASSERT_EQ(0, mprotect(self->stub.text, PAGE, PROT_READ | PROT_EXEC));
	fde.info |= FDE_SIGNAL;
	fde.nr_fres = 0;
	stub_table_of(&self->stub, &fde);
	ASSERT_EQ(0, stub_register(&self->stub));
	ASSERT_EQ(0, syscall(__NR_rt_sigaction, SIGUSR1, &sa, NULL, 8));
	syscall(__NR_tgkill, getpid(), gettid(), SIGUSR1);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_EQ(2, common_prefix(&self->stack, &(struct truth) {
		.nr = 2, .ip = { truth.ip[0], trampoline } }));
	truth_callers();
	callers = truth.nr;
	/* on_signal, trampoline, syscall, this function, its callers */
	EXPECT_EQ(4 + callers, self->stack.nr);
	EXPECT_TRUE(same_tail(&self->stack, &truth, callers));
}

/*
 * As DWARF's 'S', beside rows: those are to be used, each at the very address
 * that the frame is at.
 */
TEST_F(table, signal_flag_beside_rows)
{
	struct fre_spec rows[] = {
		{ 0, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 8 } },
		{ 0, FRE_INFO(FRE_SP, 2, FRE_WORD1), { STUB_FRAME, STUB_FP_OFF } },
	};
	struct fde_spec fde = stub_fde(&self->stub);

	fde.info |= FDE_SIGNAL;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, COMPLETE, COMPLETE);

	fde.fre = rows;
	fde.nr_fres = ARRAY_SIZE(rows);
	rows[1].start = self->stub.call_off;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, COMPLETE, COMPLETE);
	rows[1].start++;
	stub_table_of(&self->stub, &fde);
	register_and_walk(_metadata, self, COMPLETE, 2);
}

/*
 * Its caller was interrupted: at the first instruction of a function here, which
 * nobody can have returned to.  The stack that was used there may be further down.
 */
TEST_F(table, signal_flag_makes_the_caller_exact)
{
	const struct fre_spec flexible[] = {
		{ 0, FRE_INFO(FRE_SP, 6, FRE_WORD1),
		  { FLEX_CTL(DWARF_RBP, 0, 1), -8, FLEX_CTL(DWARF_RSP, 1, 1), 0,
		    FLEX_CTL(DWARF_RBP, 1, 1), 0 } },
	};
	static uint64_t frame[2] = { 0x700000000000, 0 };
	struct fde_spec fdes[2];

	fdes[0] = stub_fde(&self->stub);
	fdes[0].info2 = FDE_FLEX;
	fdes[0].fre = flexible;
	fdes[0].nr_fres = ARRAY_SIZE(flexible);
	fdes[1] = stub_fde(&self->stub);
	fdes[1].func += 1024;
	stub_plant = fdes[1].func;
	stub_fp = addr_of(&frame[1]);
	for (int i = 0; i < 2; i++) {
		if (i)
			fdes[0].info |= FDE_SIGNAL;
		self->stub.table_size = sframe_build(self->stub.table,
						     self->stub.table_room,
						     fdes, 2, 0);
		ASSERT_EQ(0, stub_register(&self->stub));
		truth_reset();
		sampler_drain(&self->sampler);
		stub_run(&self->stub, NULL);
		ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
		ASSERT_EQ(0, stub_unregister(&self->stub));
		ASSERT_EQ(i ? 3 : 1, self->stack.nr);
	}
	EXPECT_EQ(stub_plant, self->stack.ip[1]);
	EXPECT_EQ(frame[0], self->stack.ip[2]);
	stub_plant = 0;
	stub_fp = 0;
}

/* mov $__NR_rt_sigreturn, %rax; syscall */
static const uint8_t restorer[] = {
	0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05,
};

/*
 * The stub has a caller that is about to return from a signal handler, with the
 * stack pointer at @uc, of which a page may be hidden.
 */
static void walk_signal_frame(struct __test_metadata *_metadata,
			      FIXTURE_DATA(table) * self, ucontext_t *uc,
			      void *page, bool hidden, unsigned int nr)
{
	uc->uc_mcontext.gregs[REG_RIP] = 0x700000000000;
	uc->uc_mcontext.gregs[REG_RBP] = 0;
	uc->uc_mcontext.gregs[REG_CSGSFS] = 0x33;
	stub_plant = addr_of(self->stub.text) + 1024;
	stub_fp = addr_of(uc);
	truth_reset();
	sampler_drain(&self->sampler);
	ASSERT_EQ(0, mprotect(page, PAGE, hidden ? PROT_NONE : PROT_READ));
	stub_run(&self->stub, NULL);
	ASSERT_EQ(0, mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	ASSERT_EQ(nr, self->stack.nr);
	EXPECT_TRUE(stub_is_topmost(&self->stub, &self->stack));
	EXPECT_EQ(stub_plant, self->stack.ip[1]);
	if (nr == 3)
		EXPECT_EQ(0x700000000000, self->stack.ip[2]);
}

/* What is read of it first is at its end: a page ends after each of the rest. */
TEST_F(table, signal_frame_of_which_a_part_cannot_be_read)
{
	const int regs[] = { REG_RBP, REG_RSP, REG_RIP, REG_CSGSFS };
	const struct fre_spec row = {
		0, FRE_INFO(FRE_SP, 4, FRE_WORD1),
		{ FLEX_CTL(DWARF_RBP, 0, 1), 0, FLEX_CTL(DWARF_RSP, 1, 1), 0 }
	};
	struct fde_spec fde = stub_fde(&self->stub);
	/* Further up the stack than the stub. */
	uint8_t pages[2 * PAGE] __attribute__((aligned(PAGE)));
	ucontext_t *uc;

	fde.info2 = FDE_FLEX;
	fde.nr_fres = 1;
	fde.fre = &row;
	stub_table_of(&self->stub, &fde);
	ASSERT_EQ(0, mprotect(self->stub.text, PAGE, PROT_READ | PROT_WRITE));
	memcpy(self->stub.text + 1024, restorer, sizeof(restorer));
	ASSERT_EQ(0, mprotect(self->stub.text, PAGE, PROT_READ | PROT_EXEC));
	ASSERT_EQ(0, stub_register(&self->stub));
	for (size_t i = 0; i < ARRAY_SIZE(regs); i++) {
		uc = (void *)(pages + PAGE -
			      offsetof(ucontext_t, uc_mcontext.gregs[regs[i] + 1]));
		uc->uc_mcontext.gregs[REG_RSP] = addr_of(uc);
		walk_signal_frame(_metadata, self, uc, pages, false, 3);
		walk_signal_frame(_metadata, self, uc, pages, true, 2);
		/* Nor is it one of a task whose stack lies askew. */
		uc->uc_mcontext.gregs[REG_RSP]++;
		walk_signal_frame(_metadata, self, uc, pages, false, 2);
	}
	stub_plant = 0;
	stub_fp = 0;
}

/* Where sigreturn() would be called there is no more than the first two bytes. */
TEST_F(table, memory_that_ends_in_a_restorer)
{
	static const uint8_t mov[] = { 0x48, 0xc7 };
	uint8_t *end = self->stub.table + PAGE;
	uint64_t frame[2] = { 0, addr_of(end) - sizeof(mov) };

	memcpy(end - sizeof(mov), mov, sizeof(mov));
	stub_fp = addr_of(frame);
	for (int i = 0; i < 2; i++) {
		truth_reset();
		sampler_drain(&self->sampler);
		stub_run(&self->stub, NULL);
		ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
		EXPECT_TRUE(stub_is_topmost(&self->stub, &self->stack));
		ASSERT_EQ(2, self->stack.nr);
		EXPECT_EQ(frame[1], self->stack.ip[1]);
		ASSERT_EQ(0, mprotect(end, PAGE, PROT_NONE));
	}
	stub_fp = 0;
}

TEST_HARNESS_MAIN
