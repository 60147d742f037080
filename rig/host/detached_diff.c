// SPDX-License-Identifier: GPL-2.0
/*
 * Compares the tables that codectl(1) makes for ELF files with their DWARF CFI, by the
 * SFrame decoder of the kernel: on both sides of each boundary between rows of the CFI
 * and at random addresses.  Where SFrame can express the CFI, the table has to agree;
 * where it cannot, or several FDEs cover the address, the table has to say that there
 * is no rule, so that walks stop; elsewhere it has to be silent, except about bytes
 * that align functions.
 */
#include <errno.h>
#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/uaccess.h>

#include "cfi.h"
#include "compare.h"
#include "random.h"
#include "section.h"
#include "sframe.h"
#include "symbols.h"

#define RANDOM_TRIES	20000
#define MAX_SHOWN	5
#define MAX_CAUSES	16
#define MAX_GAP		64
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
/* Of the code that CFI covers, in 1/1000 of all files. */
#define MIN_COVERED	995
#define AGREES		"table and DWARF agree on "

struct user_arena user_arena;

struct object {
	const char *path;
	Elf *elf;
	struct cfi *cfi;
	struct sframe_section sec;
	u64 tried;
	u64 wrong;
};

static struct {
	u64 files;
	u64 without_cfi;
	u64 addresses;
	u64 rules;
	u64 padding;
	u64 ambiguous;
	u64 known;		/* known from their code to have wrong CFI */
	u64 nothing;		/* addresses said to have no rule */
	u64 code;		/* bytes that CFI covers */
	u64 covered;		/* those with a rule */
	u64 eh_frame_size;
	u64 table_size;
	struct {
		const char *what;
		u64 addresses;
		u64 code;
	} cause[MAX_CAUSES];
} total;

/* The gap between the FDE before @addr and the one after it, if no other FDE is there. */
static bool find_gap(const struct object *obj, u64 addr, u64 *start, u64 *end)
{
	const struct cfi_fde *fdes;
	size_t nr, low = 0, high;

	fdes = cfi_fdes(obj->cfi, &nr);
	for (high = nr; low < high;) {
		size_t mid = low + (high - low) / 2;

		if (fdes[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || low == nr)
		return false;
	*start = fdes[low - 1].end;
	*end = fdes[low].start;

	return addr >= *start && *end - *start <= MAX_GAP;
}

/* A copy of the @size bytes at @addr in the file. */
static bool read_code(Elf *elf, u64 addr, unsigned char *code, size_t size)
{
	size_t nr, i, file_size;
	const char *file = elf_rawfile(elf, &file_size);
	GElf_Phdr phdr;

	if (!file || elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &phdr) || phdr.p_type != PT_LOAD ||
		    addr < phdr.p_vaddr || addr + size > phdr.p_vaddr + phdr.p_filesz ||
		    phdr.p_offset + phdr.p_filesz > file_size)
			continue;
		memcpy(code, file + phdr.p_offset + (addr - phdr.p_vaddr), size);
		return true;
	}

	return false;
}

/* Filler of gas and linkers, the longest first; prefixes 66 may precede it. */
static const struct {
	size_t len;
	unsigned char code[8];
} fillers[] = {
	{ 8, { 0x0f, 0x1f, 0x84 } }, { 7, { 0x0f, 0x1f, 0x80 } },
	{ 5, { 0x0f, 0x1f, 0x44 } }, { 4, { 0x0f, 0x1f, 0x40 } },
	{ 3, { 0x0f, 0x1f, 0x00 } }, { 1, { 0x90 } }, { 1, { 0xcc } },
	{ 1, { 0x66 } }, { 1, { 0x2e } },
};

/* Bytes between two functions that align the second one. */
static bool is_aligning(const struct object *obj, u64 addr)
{
	unsigned char code[MAX_GAP + 8] = {};
	u64 start, end, at = 0;
	size_t i;

	if (!find_gap(obj, addr, &start, &end) ||
	    !read_code(obj->elf, start, code, end - start))
		return false;
	while (at < end - start) {
		for (i = 0; i < ARRAY_SIZE(fillers); i++) {
			if (!memcmp(code + at, fillers[i].code,
				    fillers[i].len < 3 ? 1 : 3))
				break;
		}
		if (i == ARRAY_SIZE(fillers))
			return false;
		at += fillers[i].len;
	}

	return at == end - start;
}

/*
 * Is the function one of Go's runtime whose CFI says that it returns, although it does
 * not: a signal handler's caller, or one that nothing has called?
 */
static bool is_known(const struct object *obj, u64 addr, const struct unwind_rule *ours)
{
	/* mov $__NR_rt_sigreturn, %rax; syscall */
	static const unsigned char restorer[] = {
		0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05,
	};
	static const char * const topmost[] = { "goexit", "mstart", "rt0_go" };
	const struct cfi_fde *fde = cfi_find_fde(obj->cfi, addr);
	const char *name, *end;
	unsigned char code[sizeof(restorer)];
	struct function func;
	size_t i;

	if (!fde || !ours->flags || !function_find(obj->elf, addr, &func) ||
	    strncmp(func.name, "runtime.", 8))
		return false;
	if (ours->flags & UNWIND_RULE_SIGNAL)
		return read_code(obj->elf, fde->start, code, sizeof(code)) &&
		       !memcmp(code, restorer, sizeof(code));
	name = func.name + 8;
	end = strchr(name, '.') ?: name + strlen(name);
	for (i = 0; ours->flags == UNWIND_RULE_OUTERMOST && i < ARRAY_SIZE(topmost); i++)
		if (!strncmp(name, topmost[i], end - name) && !topmost[i][end - name])
			return true;

	return false;
}

/* Another FDE covers the address, too. */
static bool is_ambiguous(const struct object *obj, u64 addr)
{
	const struct cfi_fde *fde = cfi_find_fde(obj->cfi, addr), *fdes;
	size_t nr;

	fdes = cfi_fdes(obj->cfi, &nr);

	return fde && ((fde > fdes && fde[-1].end > addr) ||
		       (fde + 1 < fdes + nr && fde[1].start <= addr));
}

static void count_cause(const char *what, u64 addresses, u64 code)
{
	size_t i;

	for (i = 0; i < MAX_CAUSES - 1 && total.cause[i].what; i++) {
		if (!strcmp(total.cause[i].what, what))
			break;
	}
	total.cause[i].what = what;
	total.cause[i].addresses += addresses;
	total.cause[i].code += code;
}

/* Does the table say what it has to about the address? */
static bool agrees(const struct object *obj, u64 addr, int ret,
		   const struct unwind_rule *ours, int theirs,
		   const struct cfi_row *row)
{
	if (theirs == -ENOENT) {
		total.padding += !ret;
		return ret == -ENOENT || (!ret && is_aligning(obj, addr));
	}
	if (theirs)
		return ret == -ENODATA;
	if (row->beyond) {
		count_cause(row->beyond, 1, 0);
		return ret == -ENODATA;
	}
	if (ret == -ENODATA && is_ambiguous(obj, addr)) {
		total.ambiguous++;
		return true;
	}

	if (!ret && is_known(obj, addr, ours)) {
		total.known++;
		return true;
	}

	return !ret && ours->flags == row->rule.flags &&
	       same_locs(ours, &row->rule);
}

static int find(const struct object *obj, u64 addr, struct unwind_rule *rule)
{
	int ret = sframe_find(&obj->sec, addr, rule);

	return !ret && !take_common(rule) ? -EPROTO : ret;
}

static void compare(struct object *obj, u64 addr)
{
	struct unwind_rule ours = {};
	struct cfi_row row = {};
	int ret, theirs;

	ret = find(obj, addr, &ours);
	theirs = cfi_find(obj->cfi, addr, &row);
	obj->tried++;
	total.addresses++;
	total.rules += !ret;
	total.nothing += ret == -ENODATA;
	if (agrees(obj, addr, ret, &ours, theirs, &row))
		return;
	if (obj->wrong++ < MAX_SHOWN) {
		printf("# %s: address %#llx, beyond: %s\n", obj->path,
		       (unsigned long long)addr, row.beyond ?: "-");
		show_rule("table", ret, &ours);
		show_rule("DWARF", theirs, &row.rule);
	}
}

static void compare_fde(struct object *obj, const struct cfi_fde *fde)
{
	struct unwind_rule rule;
	struct cfi_row row;
	u64 at;

	compare(obj, fde->start - 1);
	compare(obj, fde->end);
	for (at = fde->start; at < fde->end; at = row.end) {
		if (cfi_find(obj->cfi, at, &row) || row.end <= at)
			break;
		if (row.end > fde->end)
			row.end = fde->end;
		compare(obj, at);
		compare(obj, row.end - 1);
		total.code += row.end - at;
		if (!find(obj, at, &rule))
			total.covered += row.end - at;
		else
			count_cause(row.beyond ?: "-", 0, row.end - at);
	}
}

static void compare_all(struct object *obj)
{
	const struct cfi_fde *fdes;
	size_t nr, i;
	u64 low, high;

	fdes = cfi_fdes(obj->cfi, &nr);
	low = fdes[0].start;
	high = fdes[nr - 1].end;
	for (i = 0; i < nr; i++)
		compare_fde(obj, &fdes[i]);
	for (i = 0; i < RANDOM_TRIES; i++)
		compare(obj, low + next_random() % (high - low));
}

/* The exit status of "codectl sframe -o OUT PATH". */
static int convert(const char *codectl, const char *out, const char *path)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		dup2(STDOUT_FILENO, STDERR_FILENO);
		execl(codectl, codectl, "sframe", "-o", out, path, NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;

	return WEXITSTATUS(status);
}

/* Reads the table at @path as if it were where it is linked to be. */
static char *read_table(struct object *obj, const char *path)
{
	size_t size = 0;
	char *data = section_read(path, &size);
	struct elf_section sec;
	Elf *elf = elf_open(path);

	if (!data || !elf || !elf_section(elf, ".sframe", &sec)) {
		free(data);
		data = NULL;
	} else {
		user_arena.start = (unsigned long)data;
		user_arena.end = user_arena.start + size;
		user_arena.fault = user_arena.end;
		obj->sec.start = user_arena.start;
		obj->sec.end = user_arena.end;
		obj->sec.bias = sec.addr - user_arena.start;
		total.table_size += size;
	}
	elf_end(elf);

	return data;
}

/* Parts that a running program has in memory anyway. */
static void count_eh_frame(Elf *elf)
{
	struct elf_section sec;

	if (elf_section(elf, ".eh_frame", &sec))
		total.eh_frame_size += sec.size;
}

static bool check_table(struct object *obj, const char *out)
{
	char *data = read_table(obj, out);
	bool ok = false;

	if (data && !sframe_read_header(&obj->sec)) {
		compare_all(obj);
		ok = !obj->wrong && obj->sec.num_fdes;
	}
	printf("# %s: %u FDEs, %llu addresses, %llu differ\n", obj->path,
	       obj->sec.num_fdes, (unsigned long long)obj->tried,
	       (unsigned long long)obj->wrong);
	free(data);

	return ok;
}

static bool check_file(const char *codectl, const char *out, const char *path,
		       bool may_lack_cfi)
{
	struct object obj = { .path = path, .elf = elf_open(path) };
	bool ok;

	if (!obj.elf)
		return false;
	unlink(out);
	obj.cfi = cfi_open(obj.elf);
	if (!obj.cfi) {
		/* codectl finds none in it, either. */
		ok = may_lack_cfi && convert(codectl, out, path) == 1 && access(out, F_OK);
		total.without_cfi++;
	} else {
		ok = !convert(codectl, out, path) && check_table(&obj, out);
		total.files++;
		count_eh_frame(obj.elf);
		cfi_close(obj.cfi);
	}
	elf_end(obj.elf);

	return ok;
}

static bool is_program(const char *path)
{
	Elf *elf = elf_open(path);
	GElf_Ehdr ehdr;
	bool is = elf && gelf_getehdr(elf, &ehdr) &&
		  ehdr.e_machine == EM_X86_64 &&
		  ehdr.e_ident[EI_CLASS] == ELFCLASS64 &&
		  (ehdr.e_type == ET_EXEC || ehdr.e_type == ET_DYN);

	elf_end(elf);

	return is;
}

static void print_totals(void)
{
	size_t i;

	printf("# %llu files with CFI, %llu without\n",
	       (unsigned long long)total.files, (unsigned long long)total.without_cfi);
	printf("# %llu addresses, %llu with a rule, %llu with none\n",
	       (unsigned long long)total.addresses, (unsigned long long)total.rules,
	       (unsigned long long)total.nothing);
	printf("# %llu addresses of padding with a rule, %llu of several FDEs\n",
	       (unsigned long long)total.padding, (unsigned long long)total.ambiguous);
	printf("# %llu addresses of functions of Go that do not return\n",
	       (unsigned long long)total.known);
	printf("# %llu bytes of tables for %llu of .eh_frame\n",
	       (unsigned long long)total.table_size,
	       (unsigned long long)total.eh_frame_size);
	printf("# %llu of %llu bytes of code covered\n",
	       (unsigned long long)total.covered, (unsigned long long)total.code);
	for (i = 0; i < MAX_CAUSES && total.cause[i].what; i++)
		printf("# %llu bytes of code not: %s; %llu addresses tried\n",
		       (unsigned long long)total.cause[i].code, total.cause[i].what,
		       (unsigned long long)total.cause[i].addresses);
}

static int nr_tests;
static int nr_failed;

static void result(bool ok, const char *what, const char *of)
{
	nr_failed += !ok;
	printf("%sok %d - %s%s\n", ok ? "" : "not ", ++nr_tests, what, of);
}

/* Checks the programs and libraries among the lines of standard input. */
static void check_found(const char *codectl, const char *out)
{
	char *path = NULL;
	size_t room = 0;
	ssize_t len;

	while ((len = getline(&path, &room, stdin)) > 0) {
		path[len - 1] = '\0';
		if (is_program(path))
			result(check_file(codectl, out, path, true), AGREES, path);
	}
	free(path);
}

/*
 * usage: detached_diff CODECTL OUT [FILE...]
 *
 * Makes the table of each file at OUT, which is overwritten; without files, for the
 * programs and libraries for x86-64 among the files that standard input names.
 */
int main(int argc, char **argv)
{
	int i;

	if (argc < 3)
		return 2;
	printf("TAP version 13\n");
	for (i = 3; i < argc; i++)
		result(check_file(argv[1], argv[2], argv[i], false), AGREES,
		       argv[i]);
	if (argc == 3)
		check_found(argv[1], argv[2]);
	print_totals();
	result(total.covered > total.code / 1000 * MIN_COVERED,
	       "995 of 1000 bytes of code with CFI have a rule", "");
	result(total.table_size <= total.eh_frame_size,
	       "the tables together are no larger than .eh_frame", "");
	printf("1..%d\n", nr_tests);

	return !!nr_failed;
}
