// SPDX-License-Identifier: MIT
/*
 * plugin-host: main -> plugin_run -> plugin_sort -> qsort() in libc -> one
 * comparison function for each time the plugin is loaded.
 *
 * usage: plugin-host PLUGIN ROUNDS
 *
 * The plugin is loaded three times: the second time at the same address, the third time
 * at another one.  For each load, the program reports what the registry of codectl(2)
 * says about the plugin's text while it is loaded and after dlclose().
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/codectl.h>

#include "demo.h"
#include "plugin.h"

#ifndef __NR_codectl
#define __NR_codectl	473
#endif

#define NR_KEYS		4096
#define NR_LOADS	3

struct text {
	ElfW(Addr) inside;
	ElfW(Addr) start;
	ElfW(Addr) end;
};

static unsigned int keys[NR_KEYS];

#define COMPARE_LOAD(n)							\
static DEMO_FRAME int compare_load_##n(const void *pa, const void *pb)	\
{									\
	return demo_order(*(const unsigned int *)pa,			\
			  *(const unsigned int *)pb);			\
}
COMPARE_LOAD(1)
COMPARE_LOAD(2)
COMPARE_LOAD(3)

static plugin_compare_fn *const compare[NR_LOADS] = {
	compare_load_1, compare_load_2, compare_load_3,
};

static int find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct text *text = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		ElfW(Addr) start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) ||
		    text->inside < start ||
		    text->inside >= start + ph->p_memsz)
			continue;
		text->start = start & -page;
		text->end = (start + ph->p_memsz + page - 1) & -page;
		return 1;
	}
	return 0;
}

/* Registers @text without a table, and unregisters it.  Return: the error, or 0. */
static int try_register(const struct text *text)
{
	struct code_elf_info info = {
		.elf_start	= text->start,
		.elf_end	= text->end,
		.text_start	= text->start,
		.text_end	= text->end,
	};
	struct code_unregister_info drop = {
		.text_start	= text->start,
		.text_end	= text->end,
	};

	if (syscall(__NR_codectl, CODE_REGISTER_ELF, &info, sizeof(info), 0))
		return errno;
	if (syscall(__NR_codectl, CODE_UNREGISTER, &drop, sizeof(drop), 0))
		return errno;
	return 0;
}

/*
 * Is any of @text still registered after it was unmapped?  Maps code there, which does not
 * change the registry, and registers that: it collides with anything left behind.
 */
static int try_register_again(const struct text *text)
{
	size_t len = text->end - text->start;
	void *p = mmap((void *)text->start, len, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		       -1, 0);
	int err;

	if (p != (void *)text->start)
		return errno;
	err = try_register(text);
	munmap(p, len);
	return err;
}

static const char *error_name(int err)
{
	return err ? strerrorname_np(err) : "0";
}

static struct text run_load(const char *path, long rounds, int load,
			    unsigned int *seed)
{
	unsigned int (*run)(unsigned int *, size_t, unsigned int,
			    plugin_compare_fn *);
	struct text text = { 0 };
	int loaded, closed;
	void *plugin;

	plugin = dlopen(path, RTLD_NOW);
	if (!plugin) {
		fprintf(stderr, "plugin-host: %s\n", dlerror());
		exit(1);
	}
	run = dlsym(plugin, "plugin_run");
	text.inside = (ElfW(Addr))run;
	if (!run || !dl_iterate_phdr(find_text, &text)) {
		fprintf(stderr, "plugin-host: no plugin_run in %s\n", path);
		exit(1);
	}

	loaded = try_register(&text);
	for (long i = 0; i < rounds; i++)
		*seed = run(keys, NR_KEYS, *seed, compare[load]);

	dlclose(plugin);
	closed = try_register_again(&text);
	printf("load %d: text %#lx loaded %s closed %s\n", load + 1,
	       (long)text.start, error_name(loaded), error_name(closed));
	return text;
}

int main(int argc, char **argv)
{
	long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
	struct text text[NR_LOADS];
	unsigned int seed = 1;

	if (argc < 2) {
		fprintf(stderr, "usage: plugin-host PLUGIN ROUNDS\n");
		return 2;
	}
	text[0] = run_load(argv[1], rounds, 0, &seed);
	text[1] = run_load(argv[1], rounds, 1, &seed);
	/* Occupy its old address, so that the plugin is loaded at another one. */
	if (mmap((void *)text[1].start, text[1].end - text[1].start, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		 0) != (void *)text[1].start) {
		perror("plugin-host: mmap");
		return 1;
	}
	text[2] = run_load(argv[1], rounds, 2, &seed);

	printf("second load: %s address\nthird load: %s address\n",
	       text[1].start == text[0].start ? "same" : "another",
	       text[2].start == text[0].start ? "same" : "another");
	printf("plugin-host: %u\n", seed);
	return 0;
}
