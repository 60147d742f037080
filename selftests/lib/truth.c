// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unwind.h>

#include "codectl_test.h"
#include "truth.h"

struct truth truth;

extern char _start[];

struct capture {
	struct truth *t;
	unsigned int skip;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *ctx, void *arg)
{
	struct capture *c = arg;
	uint64_t ip = _Unwind_GetIP(ctx);

	if (c->skip) {
		c->skip--;
		return _URC_NO_REASON;
	}
	/* libgcc reports a last frame without an address. */
	if (!ip || c->t->nr == TRUTH_MAX)
		return _URC_END_OF_STACK;
	c->t->ip[c->t->nr++] = ip;
	return _URC_NO_REASON;
}

/* Skips this file's own frame and the return into the function that asked. */
__attribute__((noinline)) void truth_capture(uint64_t ip)
{
	struct capture c = { .t = &truth, .skip = 2 };

	truth.ip[0] = ip;
	truth.nr = 1;
	_Unwind_Backtrace(add_frame, &c);
}

__attribute__((noinline)) void truth_callers(void)
{
	struct capture c = { .t = &truth, .skip = 2 };

	truth.nr = 0;
	_Unwind_Backtrace(add_frame, &c);
}

void truth_prepend(const uint64_t *ip, unsigned int nr)
{
	memmove(&truth.ip[nr], truth.ip, truth.nr * sizeof(truth.ip[0]));
	memcpy(truth.ip, ip, nr * sizeof(truth.ip[0]));
	truth.nr += nr;
}

void truth_reset(void)
{
	truth.nr = 0;
	truth.nr_noted = 0;
}

void truth_note(uint64_t ip)
{
	if (truth.nr_noted < TRUTH_MAX)
		truth.noted[truth.nr_noted++] = ip;
}

/* Noted from the outside in, recorded from the inside out. */
bool stack_has_noted(const struct stack *stack)
{
	unsigned int left = truth.nr_noted;

	for (unsigned int i = 0; i < stack->nr && left; i++)
		if (stack->ip[i] == truth.noted[left - 1])
			left--;
	return !left;
}

unsigned int common_prefix(const struct stack *stack, const struct truth *t)
{
	unsigned int i = 0;

	while (i < stack->nr && i < t->nr && stack->ip[i] == t->ip[i])
		i++;
	return i;
}

bool stack_is_true(const struct stack *stack, const struct truth *t)
{
	unsigned int nr = t->nr < STACK_MAX ? t->nr : STACK_MAX;

	return stack->nr == nr && common_prefix(stack, t) == nr;
}

bool stack_is_prefix(const struct stack *stack, const struct truth *t)
{
	return stack->nr && common_prefix(stack, t) == stack->nr;
}

bool same_tail(const struct stack *stack, const struct truth *t,
	       unsigned int n)
{
	if (stack->nr < n || t->nr < n)
		return false;
	return !memcmp(&stack->ip[stack->nr - n], &t->ip[t->nr - n], n * 8);
}

/* _start of glibc is shorter than 64 bytes. */
bool ends_in_start(const struct stack *stack)
{
	uint64_t start = (uintptr_t)_start;
	uint64_t last = stack->nr ? stack->ip[stack->nr - 1] : 0;

	return last > start && last < start + 64;
}

/* The addresses that the program's .plt is linked to; a load bias is added. */
static void find_plt(uint64_t *start, uint64_t *end)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	const ElfW(Ehdr) *eh;
	const ElfW(Shdr) *sh;
	struct stat st;
	void *map;

	*start = *end = 0;
	if (fd < 0 || fstat(fd, &st))
		return;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return;
	eh = map;
	sh = map + eh->e_shoff;
	for (int i = 0; i < eh->e_shnum; i++) {
		const char *names = map + sh[eh->e_shstrndx].sh_offset;

		if (!strcmp(names + sh[i].sh_name, ".interp"))
			break;
		if (strcmp(names + sh[i].sh_name, ".plt"))
			continue;
		*start = sh[i].sh_addr;
		*end = sh[i].sh_addr + sh[i].sh_size;
	}
	munmap(map, st.st_size);
}

bool in_static_plt(uint64_t ip)
{
	static uint64_t start, end = 1;

	if (end == 1) {
		extern const ElfW(Ehdr) __ehdr_start;
		uint64_t bias;

		find_plt(&start, &end);
		bias = start && __ehdr_start.e_type == ET_DYN ?
		       addr_of(&__ehdr_start) : 0;
		start += bias;
		end += bias;
	}
	return ip >= start && ip < end;
}

bool in_plt_got(uint64_t ip)
{
	/* jmp *RELATIVE(%rip); xchg %ax, %ax */
	const uint8_t *insn = (const uint8_t *)ip;

	return insn[0] == 0xff && insn[1] == 0x25 &&
	       insn[6] == 0x66 && insn[7] == 0x90;
}

bool has_kernel_address(const struct stack *stack)
{
	for (unsigned int i = 0; i < stack->nr; i++)
		if (stack->ip[i] >= USER_END)
			return true;
	return false;
}

void print_stack(const struct stack *stack, const struct truth *t)
{
	unsigned int nr = stack->nr > t->nr ? stack->nr : t->nr;

	for (unsigned int i = 0; i < nr && i < 40; i++)
		printf("#   %2u recorded %12llx truth %12llx\n", i,
		       i < stack->nr ? (unsigned long long)stack->ip[i] : 0,
		       i < t->nr ? (unsigned long long)t->ip[i] : 0);
}
