// SPDX-License-Identifier: MIT
/*
 * Tests the rows for code sequences of HotSpot that walks of a running VM seldom meet.
 * Prints TAP.
 */
#include <stdio.h>

#include "../rows.h"
#include "../vm.h"

#define SP	CODE_FRE_BASE_SP
#define SAVED	CODE_FRE_FP_SAVED
#define UNKNOWN	CODE_FRE_UNKNOWN

/* The compared parts of a row: its start and its rule. */
struct expected {
	uint32_t off;
	int32_t cfa;
	int32_t ra;
	uint8_t info;
};

struct test {
	const char *name;
	struct code code;
	uint8_t bytes[48];
	struct expected rows[8];
};

static const struct test tests[] = {
	/* mov %eax, -0x14000(%rsp); push %rbp; sub $32, %rsp; nop; add; pop; ret; nop */
	{ "a method's prologue and epilogue, and its body behind them",
	  { .len = 20, .frame_size = 48, .begin = STATE_CALLED, .otherwise = STATE_BODY },
	  { 0x89, 0x84, 0x24, 0x00, 0xc0, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x90,
	    0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3, 0x90 },
	  { { 0, 8, -8, SP }, { 8, 16, -8, SP | SAVED }, { 12, 48, -8, SP | SAVED },
	    { 17, 16, -8, SP | SAVED }, { 18, 8, -8, SP }, { 19, 48, -8, SP | SAVED } } },
	/* sub $24, %rsp; mov %rbp, 16(%rsp); nop */
	{ "FP that is stored",
	  { .len = 10, .frame_size = 32, .begin = STATE_CALLED, .otherwise = STATE_BODY },
	  { 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x90 },
	  { { 0, 8, -8, SP }, { 4, 32, -8, SP }, { 9, 32, -8, SP | SAVED } } },
	/* jmp, and the rest of what was there; body at 12 */
	{ "a method that is no longer entered",
	  { .len = 14, .frame_size = 48, .body = 12, .begin = STATE_CALLED,
	    .otherwise = STATE_BODY },
	  { 0xe9, 0x00, 0x10, 0x00, 0x00, 0xfe, 0xff, 0x55, 0x48, 0x83, 0xec, 0x20, 0x90, 0x90 },
	  { { 0, 8, -8, SP }, { 5, 0, 0, UNKNOWN }, { 12, 48, -8, SP | SAVED } } },
	/* je 1f; add $8, %rsp; pop %rbp; ja 2f; ret; 1: push %rax; pop %rax; jmp; 2: nop */
	{ "branches forward, into the body and out of an epilogue",
	  { .len = 18, .frame_size = 24, .begin = STATE_BODY, .otherwise = STATE_BODY },
	  { 0x74, 0x08, 0x48, 0x83, 0xc4, 0x08, 0x5d, 0x77, 0x08, 0xc3, 0x50, 0x58, 0xe9, 0, 1,
	    0, 0, 0x90 },
	  { { 0, 24, -8, SP | SAVED }, { 6, 16, -8, SP | SAVED }, { 7, 8, -8, SP },
	    { 10, 24, -8, SP | SAVED }, { 11, 32, -8, SP | SAVED }, { 12, 24, -8, SP | SAVED },
	    { 17, 8, -8, SP } } },
	/* pop %rax; mov %rsp, %r13; sub $16, %rsp; mov %rax, (%rsp); jmp *%rcx */
	{ "an adapter that moves the return address",
	  { .len = 14, .begin = STATE_CALLED, .otherwise = STATE_CALLED, .any_fp = true },
	  { 0x58, 0x4c, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x04, 0x24, 0xff, 0xe1 },
	  { { 0, 8, -8, SP }, { 1, 0, 0, UNKNOWN }, { 12, 16, -16, SP } } },
	/* pop %rax; push %rax; push %rbp; mov %rsp, %rbp; push %r13; nop; leave; jmp *%rsi */
	{ "a method of the interpreter",
	  { .len = 12, .begin = STATE_LOST, .otherwise = STATE_INTERPRETED },
	  { 0x58, 0x50, 0x55, 0x48, 0x8b, 0xec, 0x41, 0x55, 0x90, 0xc9, 0xff, 0xe6 },
	  { { 0, 0, 0, UNKNOWN }, { 8, -8, 8, CODE_FRE_SP_SAVED | SAVED },
	    { 10, 0, 0, UNKNOWN } } },
	/* push %rbp; mov %rsp, %rbp; xor %ebp, %ebp; ret */
	{ "FP that is lost",
	  { .len = 7, .begin = STATE_CALLED, .otherwise = STATE_LOST, .any_fp = true },
	  { 0x55, 0x48, 0x8b, 0xec, 0x31, 0xed, 0xc3 },
	  { { 0, 8, -8, SP }, { 1, 16, -8, SP | SAVED }, { 4, 16, -8, SAVED },
	    { 6, 16, -8, SP | SAVED } } },
	/* push %rax; jmp 3f; 1: je 2f; ret; 2: pop %rax; ret; 3: jmp 1b */
	{ "what is reached from behind it, and leads on",
	  { .len = 10, .begin = STATE_CALLED, .otherwise = STATE_LOST, .any_fp = true },
	  { 0x50, 0xeb, 0x05, 0x74, 0x01, 0xc3, 0x58, 0xc3, 0xeb, 0xf9 },
	  { { 0, 8, -8, SP }, { 1, 16, -8, SP }, { 7, 8, -8, SP }, { 8, 16, -8, SP } } },
	/* push %rdx; sub $8, %rsp; and $-16, %rsp; nop; and $-32, %rsp; nop */
	{ "SP that is aligned already, and SP that may be not",
	  { .len = 15, .begin = STATE_JUMPED, .otherwise = STATE_LOST },
	  { 0x52, 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xe4, 0xf0, 0x90, 0x48, 0x83, 0xe4, 0xe0,
	    0x90 },
	  { { 0, 0, 0, UNKNOWN }, { 1, 8, -8, SP }, { 5, 16, -8, SP },
	    { 14, 0, 0, UNKNOWN } } },
	/* sub %rax, %rsp: SP is anywhere; push %rbp; mov; sub $16, %rsp; nop */
	{ "a frame that is made where SP is not known",
	  { .len = 12, .begin = STATE_CALLED, .otherwise = STATE_LOST, .any_fp = true },
	  { 0x48, 0x29, 0xc4, 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec, 0x10, 0x90 },
	  { { 0, 8, -8, SP }, { 3, 0, 0, UNKNOWN }, { 11, 16, -8, SAVED } } },
};

static int check(struct rows *rows, const struct test *test)
{
	struct code code = test->code;
	unsigned int i, nr = 0;

	while (nr < ARRAY_SIZE(test->rows) && (!nr || test->rows[nr].off))
		nr++;
	code.start = (uintptr_t)test->bytes;
	if (rows_of(rows, &code) || rows->nr != nr)
		return 0;
	for (i = 0; i < nr; i++) {
		const struct code_jit_unwind_fre *row = &rows->fre[i];

		if (row->ip_off != test->rows[i].off || row->cfa_off != test->rows[i].cfa ||
		    row->ra_off != test->rows[i].ra || row->info != test->rows[i].info)
			return 0;
	}

	return 1;
}

int main(void)
{
	struct rows rows = { 0 };
	unsigned int i, j;
	int failed = 0, ok;

	printf("1..%zu\n", ARRAY_SIZE(tests));
	for (i = 0; i < ARRAY_SIZE(tests); i++) {
		ok = check(&rows, &tests[i]);
		failed |= !ok;
		printf("%sok %u - %s\n", ok ? "" : "not ", i + 1, tests[i].name);
		for (j = 0; !ok && j < rows.nr; j++)
			printf("# at %u: cfa %d ra %d info %#x\n", rows.fre[j].ip_off,
			       rows.fre[j].cfa_off, rows.fre[j].ra_off, rows.fre[j].info);
	}
	rows_free(&rows);

	return failed;
}
