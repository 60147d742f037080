// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "codectl_test.h"
#include "stub.h"

/*
 * void stub(void (*callback)(void), uint64_t *return_address, uint64_t plant,
 *	     long nr, uint64_t fp)
 */
asm(
"	.pushsection .rodata\n"
"stub_code:\n"
"	push	%rbp\n"			/*  0 */
"	mov	%r8, %rbp\n"		/*  1 */
"	sub	$32, %rsp\n"		/*  4 */
"	mov	40(%rsp), %rax\n"	/*  8 */
"	mov	%rax, (%rsi)\n"
"	mov	%rdx, (%rsp)\n"
"	test	%rdi, %rdi\n"
"	jz	1f\n"
"	call	*%rdi\n"
"stub_after_call:\n"
"	jmp	2f\n"
"1:	mov	%ecx, %eax\n"
"	syscall\n"
"stub_after_marker:\n"
"2:	add	$32, %rsp\n"
"stub_epilogue:\n"
"	pop	%rbp\n"
"	ret\n"
"stub_code_end:\n"
"	.popsection\n"
);

extern const uint8_t stub_code[], stub_after_call[], stub_after_marker[],
	       stub_code_end[];

#define EPILOGUE 37

const struct fre_spec stub_rows[] = {
	{ 0, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 8 } },
	{ 1, FRE_INFO(FRE_SP, 2, FRE_WORD1), { 16, STUB_FP_OFF } },
	{ 8, FRE_INFO(FRE_SP, 2, FRE_WORD1), { STUB_FRAME, STUB_FP_OFF } },
	{ EPILOGUE, FRE_INFO(FRE_SP, 2, FRE_WORD1), { 16, STUB_FP_OFF } },
	{ EPILOGUE + 1, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 8 } },
};
const unsigned int stub_nr_rows = ARRAY_SIZE(stub_rows);

int stub_map(struct stub *stub, unsigned int table_pages)
{
	extern const uint8_t stub_epilogue[];

	if (stub_epilogue - stub_code != EPILOGUE)
		return -1;
	stub->text = map_pages(1, PROT_READ | PROT_WRITE);
	stub->table = map_pages(table_pages, PROT_READ | PROT_WRITE);
	if (!stub->text || !stub->table)
		return -1;
	stub->table_room = table_pages * PAGE;
	stub->marker_off = stub_after_marker - stub_code;
	stub->call_off = stub_after_call - stub_code;
	memset(stub->text, 0xcc, PAGE);
	memcpy(stub->text, stub_code, stub_code_end - stub_code);
	return mprotect(stub->text, PAGE, PROT_READ | PROT_EXEC);
}

void stub_unmap(struct stub *stub)
{
	munmap(stub->text, PAGE);
	munmap(stub->table, stub->table_room);
}

struct fde_spec stub_fde(const struct stub *stub)
{
	return (struct fde_spec) {
		.func = addr_of(stub->text),
		.size = STUB_SIZE,
		.info = FDE_ADDR1,
		.nr_fres = stub_nr_rows,
		.fre = stub_rows,
	};
}

void stub_table_of(struct stub *stub, const struct fde_spec *fde)
{
	stub->table_size = sframe_build(stub->table, stub->table_room, fde,
					1, 0);
}

void stub_table(struct stub *stub)
{
	const struct fde_spec fde = stub_fde(stub);

	stub_table_of(stub, &fde);
}

int stub_table_at(struct stub *stub, uint64_t addr, size_t pages)
{
	void *p = mmap((void *)addr, pages * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		       0);

	if (p == MAP_FAILED || addr_of(p) != addr)
		return -1;
	munmap(stub->table, stub->table_room);
	stub->table = p;
	stub->table_room = pages * PAGE;
	return 0;
}

int stub_text_at(struct stub *stub, void *addr)
{
	if (mremap(stub->text, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   addr) != addr)
		return -1;
	stub->text = addr;
	return 0;
}

int stub_text_in_file(struct stub *stub)
{
	int fd = memfd_create("compiled", MFD_CLOEXEC);
	void *copy = MAP_FAILED;

	if (write(fd, stub->text, PAGE) == PAGE)
		copy = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);
	if (copy == MAP_FAILED)
		return -1;
	munmap(stub->text, PAGE);
	stub->text = copy;
	return 0;
}

int stub_register(const struct stub *stub)
{
	return register_text(addr_of(stub->text), addr_of(stub->text) + PAGE,
			     stub->table, stub->table_size);
}

struct code_elf_info stub_elf_info(const struct stub *stub)
{
	uint64_t text = addr_of(stub->text), table = addr_of(stub->table);

	return (struct code_elf_info) {
		.elf_start = text,
		.elf_end = text + PAGE,
		.text_start = text,
		.text_end = text + PAGE,
		.sframe_start = table,
		.sframe_end = table + stub->table_size,
	};
}

int stub_register_unread(const struct stub *stub)
{
	struct code_elf_info info = stub_elf_info(stub);

	info.elf_flags = CODE_ELF_HEADER_LATER;
	return register_elf(&info);
}

int stub_unregister(const struct stub *stub)
{
	return unregister_text(addr_of(stub->text),
			       addr_of(stub->text) + PAGE);
}

bool stub_rules_kept;
uint64_t stub_plant;
bool stub_plant_cfa;
uint64_t stub_fp;
int64_t stub_fp_off;

static uint64_t callback_ip;

__attribute__((noinline)) void stub_callback(void)
{
	callback_ip = marker();
}

bool stub_is_topmost(const struct stub *stub, const struct stack *stack)
{
	return stack->nr && stack->ip[0] - addr_of(stub->text) < STUB_SIZE;
}

typedef void (*stub_function)(void (*callback)(void), uint64_t *ra,
			      uint64_t plant, long nr, uint64_t fp);

void stub_run_exit(const struct stub *stub)
{
	stub_function run = (stub_function)stub->text;
	uint64_t ra;

	run(NULL, &ra, 0, __NR_exit_group, 0);
}

/* libgcc knows no rule for the stub: its frame is put in by hand. */
__attribute__((noinline)) void stub_run(const struct stub *stub,
					void (*callback)(void))
{
	stub_function run = (stub_function)stub->text;
	uint64_t own[3], cfa;

	if (!stub_rules_kept)
		forget_rules();
	truth_callers();
	/* All arguments are in registers: the call is made with this SP. */
	asm volatile("mov %%rsp, %0" : "=r"(cfa));
	run(callback, &own[2], stub_plant_cfa ? cfa : stub_plant, MARKER_NR,
	    stub_fp_off ? cfa + stub_fp_off : stub_fp);
	own[1] = addr_of(stub->text) +
		 (callback ? stub->call_off : stub->marker_off);
	own[0] = callback_ip;
	truth_prepend(callback ? own : own + 1, callback ? 3 : 2);
}
