// SPDX-License-Identifier: MIT
/*
 * dlsym(), which is called for what dlopen() has loaded before any of that is called.
 *
 * dlopen() cannot be interposed: it uses its return address, and what it loads is there
 * only after it has returned.  dlsym() with RTLD_NEXT uses its return address, too, but
 * there we are done before it begins, and jump: stack and return address are as the
 * caller left them.
 */
#include <dlfcn.h>

#include "preload.h"

typedef void *(*dlsym_function)(void *handle, const char *name);

static dlsym_function next_dlsym;

/* Not by dlsym(), which is the one below; all libraries have this version. */
static dlsym_function find_next(void)
{
	dlsym_function next = __atomic_load_n(&next_dlsym, __ATOMIC_RELAXED);

	if (!next) {
		next = (dlsym_function)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		__atomic_store_n(&next_dlsym, next, __ATOMIC_RELAXED);
	}

	return next;
}

void *preload_dlsym(void *handle, const char *name)
{
	void *found = find_next()(handle, name);

	/* RTLD_NEXT uses our address: keep this from becoming a jump. */
	__asm__ volatile("" : "+r"(found));

	return found;
}

__attribute__((__used__)) dlsym_function preload_before_dlsym(void)
{
	preload_look();

	return find_next();
}

__asm__(".text\n"
	".globl dlsym\n"
	".type dlsym, @function\n"
	"dlsym:\n"
	"	.cfi_startproc\n"
	"	endbr64\n"
	"	pushq %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rsi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	subq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	call preload_before_dlsym\n"
	"	addq $8, %rsp\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rsi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	jmp *%rax\n"
	"	.cfi_endproc\n"
	".size dlsym, . - dlsym\n");
