// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of walking a stack of 8, 64 and 256 frames: by frame pointer, by SFrame, by
 * rows of compiled code, and by its default rule.
 *
 *	walk_chain fp		of a program that has frame pointers
 *	walk_chain tables	of one that has none
 */
#include <link.h>

#include "attach.h"
#include "proc_file.h"
#include "bench.h"
#include "jit_chain.h"
#include "walks.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

static void jit_walks(struct jit_chain *c, const char *name,
		      enum walk_kind kind)
{
	for (size_t i = 0; i < WALK_DEPTHS; i++) {
		jit_chain_set(c, walk_depths[i] - CHAIN_ENDS);
		walk_result(name, walk_depths[i],
			    walk_cost(jit_chain_call, c, walk_depths[i], kind, NULL));
	}
}

/* The outermost frame belongs to another region. */
static void by_default_rule(void)
{
	static struct jit_chain c;
	size_t base_size = chain_base_end - chain_base_code;
	struct code_jit_info info;

	jit_chain_make(&c, true);
	info = c.r.info;
	info.text_end = addr_of(c.base);
	info.unwind_head = 0;
	info.jit_flags = CODE_JIT_DEFAULT_RULE;
	info.cfa_off = 16;
	info.ra_off = -8;
	info.fp_off = -16;
	info.info = CODE_FRE_FP_SAVED;
	if (register_jit(&info) ||
	    register_jit_text(addr_of(c.base), addr_of(c.base) + base_size))
		die("codectl");
	jit_walks(&c, "default-first", WALK_FIRST);
	jit_walks(&c, "default-warm", WALK_WARM);
}

/* The page cache still has them. */
static void drop_pages(uint64_t start, uint64_t end)
{
	start &= -PAGE;
	if (madvise((void *)start, end - start, MADV_DONTNEED))
		die("madvise");
}

static int drop_sframe_of(struct dl_phdr_info *info, size_t size, void *data)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_SFRAME)
			drop_pages(start, start + p->p_memsz);
	}
	return 1;
}

/* The program is the first one. */
static void drop_sframe(void)
{
	dl_iterate_phdr(drop_sframe_of, NULL);
}

static struct jit_chain row_chain;

static void drop_rows(void)
{
	drop_pages(row_chain.r.info.unwind_head,
		   row_chain.r.info.unwind_head + row_chain.r.table_size);
}

static void with_faults(const char *name, unsigned int frames,
			void (*run)(void *), void *arg, void (*drop)(void))
{
	double cost = walk_cost(run, arg, frames, WALK_FIRST, drop);
	char walk[32];

	snprintf(walk, sizeof(walk), "%s-faults", name);
	result("walk", walk, frames, cost, "insns");
	result("faults", name, frames, walk_faults(), "faults");
}

static void sframe_with_faults(void)
{
	for (size_t i = 0; i < WALK_DEPTHS; i++)
		with_faults("sframe", walk_depths[i], chain_call,
			    (void *)(long)(walk_depths[i] - CHAIN_ENDS),
			    drop_sframe);
}

/* Rows at the same address, but in shared memory. */
static void share_rows(const struct jit_region *r)
{
	void *rows = mmap(NULL, r->table_size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (rows == MAP_FAILED)
		die("mmap");
	memcpy(rows, r->tables, r->table_size);
	if (mremap(rows, r->table_size, r->table_size,
		   MREMAP_MAYMOVE | MREMAP_FIXED, r->tables) == MAP_FAILED)
		die("mremap");
}

static void by_rows(void)
{
	struct jit_chain *c = &row_chain;

	jit_chain_make(c, false);
	if (register_jit(&c->r.info))
		die("codectl");
	jit_walks(c, "jit-first", WALK_FIRST);
	jit_walks(c, "jit-second", WALK_SECOND);
	jit_walks(c, "jit-cold", WALK_COLD);
	jit_walks(c, "jit-elsewhere", WALK_ELSEWHERE);
	jit_walks(c, "jit-warm", WALK_WARM);
	share_rows(&c->r);
	for (size_t i = 0; i < WALK_DEPTHS; i++) {
		jit_chain_set(c, walk_depths[i] - CHAIN_ENDS);
		with_faults("jit", walk_depths[i], jit_chain_call, c, drop_rows);
	}
}

/* If any file has a table, each walk looks for tables of the files on its way. */
static void attach_libc(void)
{
	struct attach_args args;

	if (attach_args_of(qsort, &args) || attach_file(&args.info) < 0)
		die("cannot attach a table");
}

/* Without codectl(), as on any kernel, and with nothing registered. */
static void by_frame_pointer(void)
{
	if (!have_codectl()) {
		chain_walks("fp-stock", WALK_WARM);
		return;
	}
	/* The program has no table, but the C library has one. */
	chain_walks("fp-registered", WALK_WARM);
	chain_walks("fp-registered-elsewhere", WALK_ELSEWHERE);
	if (proc_unregister_all())
		die("codectl");
	chain_walks("fp-unregistered", WALK_WARM);
	if (sysctl_write("kernel/codectl", 0))
		die("sysctl");
	chain_walks("fp", WALK_WARM);
	sysctl_write("kernel/codectl", 1);
	attach_libc();
	chain_walks("fp-attached", WALK_WARM);
}

int main(int argc, char **argv)
{
	walks_open("unwind_user");
	if (argc == 2 && !strcmp(argv[1], "fp")) {
		by_frame_pointer();
		return 0;
	}
	chain_walks("sframe-first", WALK_FIRST);
	chain_walks("sframe-second", WALK_SECOND);
	chain_walks("sframe-cold", WALK_COLD);
	chain_walks("sframe-elsewhere", WALK_ELSEWHERE);
	chain_walks("sframe-warm", WALK_WARM);
	sframe_with_faults();
	by_rows();
	by_default_rule();
	attach_libc();
	chain_walks("sframe-attached", WALK_WARM);
	return 0;
}
