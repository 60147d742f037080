// SPDX-License-Identifier: MIT
/*
 * Translated code of QEMU is entered by one call, through a pointer that the program exports.
 * The pointer is changed to lead here, where the CFA of the frame that will be made and the
 * caller's rbp are noted: the walk has to find exactly these.  A jump continues to the
 * original target, so that nothing else changes.
 */
#include <dlfcn.h>
#include <stdio.h>

#include "../../walk/walk.h"

/* At least from the start of the prologue to the end of the epilogue. */
#define PROLOGUE_SIZE	80

void *truth_next __attribute__((__visibility__("hidden")));
__thread struct { uint64_t cfa, fp; } truth_entry
	__attribute__((__visibility__("hidden"), __tls_model__("initial-exec")));

static struct {
	unsigned long checked, prologue;
} seen;

/* Entered instead of the prologue: the return address is at (%rsp). */
void truth_mark(void);
__asm__(".text\n"
	".hidden truth_mark\n"
	"truth_mark:\n"
	"	.cfi_startproc\n"
	"	lea 8(%rsp), %rax\n"
	"	mov truth_entry@gottpoff(%rip), %rcx\n"
	"	mov %rax, %fs:(%rcx)\n"
	"	mov %rbp, %fs:8(%rcx)\n"
	"	jmp *truth_next(%rip)\n"
	"	.cfi_endproc\n");

bool truth_ready(void)
{
	static void **tb_exec;

	if (!tb_exec)
		tb_exec = dlsym(RTLD_DEFAULT, "tcg_qemu_tb_exec");
	if (!tb_exec || !*tb_exec)
		return false;
	if (!truth_next) {
		truth_next = *tb_exec;
		__atomic_store_n(tb_exec, (void *)truth_mark, __ATOMIC_RELEASE);
	}
	return truth_entry.cfa;
}

static bool in_prologue(uint64_t ip)
{
	return ip - (uintptr_t)truth_next < PROLOGUE_SIZE;
}

/* The list for debuggers does not contain the prologue. */
bool truth_has_none(uint64_t ip)
{
	return in_prologue(ip);
}

bool truth_judge(const struct walk_frame *frames, int nr, const char **why)
{
	int i, at = -1;

	for (i = 0; i < nr; i++) {
		if (!frames[i].compiled)
			continue;
		if (at >= 0) {
			*why = "two frames of translated code";
			return false;
		}
		at = i;
	}
	if (at < 0)
		return true;
	if (frames[at].cfa != truth_entry.cfa) {
		*why = "another frame than was entered";
		return false;
	}
	if (frames[at + 1].fp != truth_entry.fp) {
		*why = "another rbp than was saved";
		return false;
	}
	seen.checked++;
	seen.prologue += in_prologue(frames[at].ip);
	return true;
}

void truth_report(void)
{
	dprintf(2, "checked %lu prologue %lu\n", seen.checked, seen.prologue);
}
