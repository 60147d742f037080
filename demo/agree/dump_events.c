// SPDX-License-Identifier: MIT
/* Converts perf's events to records of stackdump. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <asm/perf_regs.h>

#include "dump_events.h"

/* Deferred call chains are newer than the headers of Debian 12. */
#define RECORD_CALLCHAIN_DEFERRED	22
#define CONTEXT_USER_DEFERRED		((uint64_t)-640)

/* perf's number of each register, by its DWARF number. */
static const int perf_reg[DUMP_NR_REGS] = {
	PERF_REG_X86_AX, PERF_REG_X86_DX, PERF_REG_X86_CX, PERF_REG_X86_BX,
	PERF_REG_X86_SI, PERF_REG_X86_DI, PERF_REG_X86_BP, PERF_REG_X86_SP,
	PERF_REG_X86_R8, PERF_REG_X86_R9, PERF_REG_X86_R10, PERF_REG_X86_R11,
	PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
	PERF_REG_X86_IP,
};

/* The fields at the end of each event, and at the start of a sample. */
struct origin {
	uint32_t pid, tid;
	uint64_t time;
};

void dump_die(const char *what)
{
	fprintf(stderr, "stackdump: %s: %s\n", what, strerror(errno));
	exit(125);
}

void dump_put(struct recorder *rec, void *record, size_t fixed, enum dump_type type,
	      const void *tail, size_t len)
{
	static const unsigned char zero[8];
	size_t pad = -len & 7;
	struct dump_header *header = record;

	header->type = type;
	header->size = fixed + len + pad;
	if (fwrite(record, fixed, 1, rec->out) != 1 ||
	    (len && fwrite(tail, len, 1, rec->out) != 1) ||
	    (pad && fwrite(zero, pad, 1, rec->out) != 1))
		dump_die("write");
}

uint64_t dump_registers(void)
{
	uint64_t mask = 0;

	for (int i = 0; i < DUMP_NR_REGS; i++)
		mask |= 1ULL << perf_reg[i];
	return mask;
}

/* Where the stack of the program began: there are no frames above it. */
static uint64_t read_stack_base(pid_t pid)
{
	char path[64], line[2048], *p;
	uint64_t base = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f)) {
		p = strrchr(line, ')');
		/* the state is field 3, startstack field 28 */
		for (int i = 2; p && i < 28; i++) {
			p = strchr(p, ' ');
			p = p ? p + 1 : NULL;
		}
		if (p)
			base = strtoull(p, NULL, 10);
	}
	fclose(f);
	return base;
}

static struct dump_header header_of(const struct origin *origin)
{
	return (struct dump_header){ .time = origin->time, .pid = origin->pid };
}

static const struct origin *trailer(const struct perf_event_header *event)
{
	return (const void *)((const char *)event + event->size - sizeof(struct origin));
}

void dump_map(struct recorder *rec, struct dump_map *map, const char *name)
{
	dump_put(rec, map, sizeof(*map), DUMP_MAP, name, strlen(name) + 1);
}

static void on_mmap(struct recorder *rec, const struct perf_event_header *event)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, len, pgoff;
		char name[];
	} *e = (const void *)event;
	struct dump_map map = {
		.header	= header_of(trailer(event)),
		.start	= e->start,
		.len	= e->len,
		.pgoff	= e->pgoff,
	};

	rec->mapped = true;
	dump_map(rec, &map, e->name);
}

static void on_fork(struct recorder *rec, const struct perf_event_header *event)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, parent, tid, parent_tid;
	} *e = (const void *)event;
	struct dump_fork fork = {
		.header = { .time = trailer(event)->time, .pid = e->pid },
		.parent = e->parent,
	};

	if (e->pid != e->parent)
		dump_put(rec, &fork, sizeof(fork), DUMP_FORK, NULL, 0);
}

static void on_comm(struct recorder *rec, const struct perf_event_header *event)
{
	struct dump_exec exec = { .header = header_of(trailer(event)) };

	if (event->misc & PERF_RECORD_MISC_COMM_EXEC)
		dump_put(rec, &exec, sizeof(exec), DUMP_EXEC, NULL, 0);
}

/* The @nr entries of a sample, including the marker before those of user space. */
static void put_chain(struct recorder *rec, const struct origin *origin,
		      const uint64_t *entries, uint64_t nr)
{
	struct dump_chain chain = {
		.header = header_of(origin),
		.cookie = rec->samples,
	};
	uint64_t from = 0;

	while (from < nr && entries[from] != PERF_CONTEXT_USER)
		from++;
	if (from == nr)
		return;
	chain.nr = nr - from - 1;
	dump_put(rec, &chain, sizeof(chain), DUMP_CHAIN, entries + from + 1,
		 chain.nr * sizeof(*entries));
}

/* Leaves out the arguments and the environment, which are above the frames. */
static uint64_t without_arguments(struct recorder *rec, uint64_t sp, uint64_t used)
{
	if (rec->all)
		return used;
	if (!rec->stack_base)
		rec->stack_base = read_stack_base(rec->pid);
	if (rec->stack_base > sp && used > rec->stack_base - sp)
		used = rec->stack_base - sp;
	if (rec->stack_base - sp < STACK_BYTES && (!rec->lowest || sp < rec->lowest))
		rec->lowest = sp;
	return used;
}

static void count_sample(struct recorder *rec)
{
	if (++rec->samples == rec->limit)
		kill(rec->pid, SIGTERM);
}

/*
 * The body of a sample: its origin; u64 nr, ips[nr]; u64 abi, regs[]; u64 size,
 * stack[size], u64 number of bytes of it that were copied.
 */
static void on_sample(struct recorder *rec, const struct perf_event_header *event)
{
	const struct origin *origin = (const void *)(event + 1);
	const uint64_t *p = (const uint64_t *)(origin + 1);
	struct dump_sample sample = {
		.header = header_of(origin),
		.user_mode = (event->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			     PERF_RECORD_MISC_USER,
	};
	const unsigned char *stack;
	uint64_t nr = *p++, size, used, mask = dump_registers();
	const uint64_t *entries = p;

	if (rec->enough)
		return;
	/* The event is of this program, or of the command before execve(). */
	if (rec->all ? origin->pid == (uint32_t)getpid() : rec->at_once && !rec->mapped)
		return;
	if (rec->at_once)
		sample.cookie = rec->samples + 1;
	for (uint64_t i = 0; i + 1 < nr; i++)
		if (p[i] == CONTEXT_USER_DEFERRED)
			sample.cookie = p[i + 1];
	p += nr;

	/* Without a program, a task has no registers; those of 32-bit programs are left out. */
	if (*p++ != PERF_SAMPLE_REGS_ABI_64)
		return;
	for (int i = 0; i < DUMP_NR_REGS; i++)
		sample.regs[i] = p[__builtin_popcountll(mask &
					((1ULL << perf_reg[i]) - 1))];
	p += __builtin_popcountll(mask);

	size = *p++;
	stack = (const unsigned char *)p;
	used = size ? *(const uint64_t *)(stack + size) : 0;
	sample.stack_len = without_arguments(rec, sample.regs[7], used);
	dump_put(rec, &sample, sizeof(sample), DUMP_SAMPLE, stack, sample.stack_len);
	count_sample(rec);
	if (rec->at_once)
		put_chain(rec, origin, entries, nr);
}

static void on_chain(struct recorder *rec, const struct perf_event_header *event)
{
	const uint64_t *p = (const uint64_t *)(event + 1);
	struct dump_chain chain = {
		.header = header_of(trailer(event)),
		.cookie = p[0],
		.nr = p[1],
	};

	dump_put(rec, &chain, sizeof(chain), DUMP_CHAIN, p + 2, chain.nr * sizeof(*p));
}

void dump_event(struct recorder *rec, const struct perf_event_header *event)
{
	switch (event->type) {
	case PERF_RECORD_MMAP:
		on_mmap(rec, event);
		break;
	case PERF_RECORD_FORK:
		on_fork(rec, event);
		break;
	case PERF_RECORD_COMM:
		on_comm(rec, event);
		break;
	case PERF_RECORD_SAMPLE:
		on_sample(rec, event);
		break;
	case RECORD_CALLCHAIN_DEFERRED:
		on_chain(rec, event);
		break;
	case PERF_RECORD_LOST:
		/* u64 id, lost */
		rec->lost += ((const uint64_t *)(event + 1))[1];
		break;
	}
}
