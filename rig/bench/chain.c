// SPDX-License-Identifier: GPL-2.0
#include <alloca.h>

#include "sampler.h"
#include "chain.h"

typedef long (*link)(long depth);
static const link chain[CHAIN_FUNCTIONS];

#define STRING(x) #x
#define VALUE(x) STRING(x)

asm(
"	.pushsection .text\n"
"	.globl	chain_base, chain_base_code, chain_base_end\n"
"	.type	chain_base, @function\n"
"chain_base:\n"
"chain_base_code:\n"
"	.cfi_startproc\n"
"	.cfi_undefined %rip\n"
"	push	%rbp\n"
"	xor	%ebp, %ebp\n"
"	mov	%rdi, %rax\n"
"	mov	%rsi, %rdi\n"
"	call	*%rax\n"
"	pop	%rbp\n"
"	ret\n"
"	.cfi_endproc\n"
"	.size	chain_base, . - chain_base\n"
"chain_base_end:\n"
"	.globl	chain_last_code, chain_last_end\n"
"chain_last_code:\n"
"	push	%rbp\n"
"	mov	%rsp, %rbp\n"
"	mov	$" VALUE(MARKER_NR) ", %eax\n"
"	syscall\n"
"	pop	%rbp\n"
"	ret\n"
"chain_last_end:\n"
"	.popsection\n"
);

static __attribute__((noipa)) void chain_call_nothing(void)
{
}

/* A function that calls nothing would need no frame. */
static __attribute__((noinline)) long chain_end(void)
{
	chain_call_nothing();
	return marker();
}

#define NEXT(i, depth)							\
	((depth) > 1 ? chain[((i) + CHAIN_STEP) % CHAIN_FUNCTIONS]((depth) - 1) \
		     : chain_end())

/* A small frame. */
#define LINK_SMALL(i)							\
static __attribute__((noinline)) long chain_##i(long depth)		\
{									\
	return NEXT(i, depth) + i;					\
}
/* Some room on the stack. */
#define LINK_ROOM(i)							\
static __attribute__((noinline)) long chain_##i(long depth)		\
{									\
	volatile char room[200];					\
									\
	room[depth & 127] = 1;						\
	return NEXT(i, depth) + room[i & 127];				\
}
/* Registers to save, %rbp among them. */
#define LINK_SAVE(i)							\
static __attribute__((noinline)) long chain_##i(long depth)		\
{									\
	long a = depth, b = depth, c = depth, d = depth, e = depth;	\
	long ret;							\
									\
	asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));	\
	ret = NEXT(i, depth);						\
	asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));	\
	return ret + a + b + c + d + e;					\
}
/* A frame pointer in any case. */
#define LINK_ALLOCA(i)							\
static __attribute__((noinline)) long chain_##i(long depth)		\
{									\
	volatile char *room = alloca(16 + (depth & 16));		\
									\
	room[0] = 1;							\
	return NEXT(i, depth) + room[0];				\
}

#define LINKS4(h, a, b, c, d)						\
	LINK_SMALL(h##a) LINK_SAVE(h##b) LINK_ROOM(h##c) LINK_ALLOCA(h##d)
#define LINKS16(h)							\
	LINKS4(h, 0, 1, 2, 3) LINKS4(h, 4, 5, 6, 7)			\
	LINKS4(h, 8, 9, a, b) LINKS4(h, c, d, e, f)
#define NAMES4(h, a, b, c, d)						\
	chain_##h##a, chain_##h##b, chain_##h##c, chain_##h##d,
#define NAMES16(h)							\
	NAMES4(h, 0, 1, 2, 3) NAMES4(h, 4, 5, 6, 7)			\
	NAMES4(h, 8, 9, a, b) NAMES4(h, c, d, e, f)
#define ALL256(of, h)							\
	of(h##0) of(h##1) of(h##2) of(h##3) of(h##4) of(h##5) of(h##6)	\
	of(h##7) of(h##8) of(h##9) of(h##a) of(h##b) of(h##c) of(h##d)	\
	of(h##e) of(h##f)

ALL256(LINKS16, 0x0)
ALL256(LINKS16, 0x1)
ALL256(LINKS16, 0x2)
ALL256(LINKS16, 0x3)

static const link chain[CHAIN_FUNCTIONS] = {
	ALL256(NAMES16, 0x0) ALL256(NAMES16, 0x1)
	ALL256(NAMES16, 0x2) ALL256(NAMES16, 0x3)
};

void chain_call(void *depth)
{
	chain_base((void *)chain[0], depth);
}
