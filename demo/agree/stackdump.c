// SPDX-License-Identifier: MIT
/*
 * stackdump: run a command and write, for each cpu-clock sample, the user
 * registers and the stack as they were, and the user call chain of the same
 * instant, deferred or, with -g, taken at once as perf record -g has it.
 *
 * usage: stackdump -o FILE [-g] [-F HERTZ] [-n SAMPLES] -- COMMAND [ARG...]
 *
 * Only the first thread of the command is sampled.  After so many samples the
 * command gets SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <asm/perf_regs.h>

#include "stackdump.h"

/* Deferred call chains are newer than the headers of Debian 12. */
#define ATTR_DEFER_CALLCHAIN		(1ULL << 38)
#define ATTR_DEFER_OUTPUT		(1ULL << 39)
#define RECORD_CALLCHAIN_DEFERRED	22
#define CONTEXT_USER_DEFERRED		((uint64_t)-640)

#define DATA_PAGES	16384
#define STACK_BYTES	(56 * 1024)

/* perf's number of each register, by its DWARF number. */
static const int perf_reg[DUMP_NR_REGS] = {
	PERF_REG_X86_AX, PERF_REG_X86_DX, PERF_REG_X86_CX, PERF_REG_X86_BX,
	PERF_REG_X86_SI, PERF_REG_X86_DI, PERF_REG_X86_BP, PERF_REG_X86_SP,
	PERF_REG_X86_R8, PERF_REG_X86_R9, PERF_REG_X86_R10, PERF_REG_X86_R11,
	PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
	PERF_REG_X86_IP,
};

struct recorder {
	struct perf_event_mmap_page *meta;
	unsigned char *data;
	uint64_t data_size;
	unsigned char event[65536];	/* one event, out of the ring */
	FILE *out;
	pid_t pid;
	uint64_t stack_base;		/* sp at the program's first instruction */
	uint64_t lowest, touched;	/* sp so far; down to where its stack is in memory */
	int mem;			/* /proc/PID/mem, or 0 */
	uint64_t lost;
	unsigned long samples, limit;
	bool at_once, mapped;
};

static void die(const char *what)
{
	fprintf(stderr, "stackdump: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void put(struct recorder *rec, void *record, size_t fixed,
		enum dump_type type, const void *tail, size_t len)
{
	static const unsigned char zero[8];
	size_t pad = -len & 7;
	struct dump_header *header = record;

	header->type = type;
	header->size = fixed + len + pad;
	if (fwrite(record, fixed, 1, rec->out) != 1 ||
	    (len && fwrite(tail, len, 1, rec->out) != 1) ||
	    (pad && fwrite(zero, pad, 1, rec->out) != 1))
		die("write");
}

static uint64_t sample_mask(void)
{
	uint64_t mask = 0;

	for (int i = 0; i < DUMP_NR_REGS; i++)
		mask |= 1ULL << perf_reg[i];
	return mask;
}

static int open_event(pid_t pid, unsigned long hertz, bool at_once)
{
	struct perf_event_attr attr = {
		.type			= PERF_TYPE_SOFTWARE,
		.size			= sizeof(attr),
		.config			= PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq		= hertz,
		.freq			= 1,
		.disabled		= 1,
		.enable_on_exec		= 1,
		.exclude_callchain_kernel = 1,
		.mmap			= 1,
		.watermark		= 1,
		.wakeup_watermark	= DATA_PAGES * 4096 / 8,
		.sample_type		= PERF_SAMPLE_CALLCHAIN |
					  PERF_SAMPLE_REGS_USER |
					  PERF_SAMPLE_STACK_USER,
		.sample_regs_user	= sample_mask(),
		.sample_stack_user	= STACK_BYTES,
	};
	char *flags_at = (char *)&attr + offsetof(struct perf_event_attr,
						  read_format) + 8;
	uint64_t flags;

	memcpy(&flags, flags_at, sizeof(flags));
	if (!at_once)
		flags |= ATTR_DEFER_CALLCHAIN | ATTR_DEFER_OUTPUT;
	memcpy(flags_at, &flags, sizeof(flags));
	return syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
}

/* Where the stack of the program began: nothing above it is a frame. */
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

static void on_mmap(struct recorder *rec, const struct perf_event_header *event)
{
	const struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, len, pgoff;
		char name[];
	} *e = (const void *)event;
	struct dump_map map = {
		.start	= e->start,
		.len	= e->len,
		.pgoff	= e->pgoff,
	};

	rec->mapped = true;
	put(rec, &map, sizeof(map), DUMP_MAP, e->name, strlen(e->name) + 1);
}

/* The @nr entries of a sample, with what says that they are of user space. */
static void put_chain(struct recorder *rec, const uint64_t *entries, uint64_t nr)
{
	struct dump_chain chain = { .cookie = rec->samples };
	uint64_t from = 0;

	while (from < nr && entries[from] != PERF_CONTEXT_USER)
		from++;
	if (from == nr)
		return;
	chain.nr = nr - from - 1;
	put(rec, &chain, sizeof(chain), DUMP_CHAIN, entries + from + 1,
	    chain.nr * sizeof(*entries));
}

/*
 * The body of a sample: u64 nr, ips[nr]; u64 abi, regs[]; u64 size,
 * stack[size], u64 bytes of it that hold something.
 */
static void on_sample(struct recorder *rec, const struct perf_event_header *event)
{
	const uint64_t *p = (const uint64_t *)(event + 1);
	struct dump_sample sample = {
		.user_mode = (event->misc & PERF_RECORD_MISC_CPUMODE_MASK) ==
			     PERF_RECORD_MISC_USER,
	};
	const unsigned char *stack;
	uint64_t nr = *p++, size, used, sp, mask = sample_mask();
	const uint64_t *entries = p;

	/* Of the program that it was before execve(). */
	if (rec->at_once && !rec->mapped)
		return;
	if (rec->at_once)
		sample.cookie = rec->samples + 1;
	for (uint64_t i = 0; i + 1 < nr; i++)
		if (p[i] == CONTEXT_USER_DEFERRED)
			sample.cookie = p[i + 1];
	p += nr;

	/* no user registers: a sample of the task before it had a program */
	if (*p++ == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (int i = 0; i < DUMP_NR_REGS; i++)
		sample.regs[i] = p[__builtin_popcountll(mask &
					((1ULL << perf_reg[i]) - 1))];
	p += __builtin_popcountll(mask);

	size = *p++;
	stack = (const unsigned char *)p;
	used = size ? *(const uint64_t *)(stack + size) : 0;
	if (!rec->stack_base)
		rec->stack_base = read_stack_base(rec->pid);
	sp = sample.regs[7];
	if (rec->stack_base > sp && used > rec->stack_base - sp)
		used = rec->stack_base - sp;
	sample.stack_len = used;
	if (rec->stack_base - sp < STACK_BYTES && (!rec->lowest || sp < rec->lowest))
		rec->lowest = sp;
	put(rec, &sample, sizeof(sample), DUMP_SAMPLE, stack, used);
	if (++rec->samples == rec->limit)
		kill(rec->pid, SIGTERM);
	if (rec->at_once)
		put_chain(rec, entries, nr);
}

static void on_chain(struct recorder *rec, const struct perf_event_header *event)
{
	const uint64_t *p = (const uint64_t *)(event + 1);
	struct dump_chain chain = { .cookie = p[0], .nr = p[1] };

	put(rec, &chain, sizeof(chain), DUMP_CHAIN, p + 2,
	    chain.nr * sizeof(*p));
}

static void on_event(struct recorder *rec, const struct perf_event_header *event)
{
	switch (event->type) {
	case PERF_RECORD_MMAP:
		on_mmap(rec, event);
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

static void copy_out(struct recorder *rec, uint64_t pos, size_t len)
{
	uint64_t off = pos % rec->data_size;
	size_t first = rec->data_size - off;

	if (first > len)
		first = len;
	memcpy(rec->event, rec->data + off, first);
	memcpy(rec->event + first, rec->data, len - first);
}

static void drain(struct recorder *rec)
{
	/* pairs with the barrier in the kernel's perf_output_put_handle() */
	uint64_t head = __atomic_load_n(&rec->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = rec->meta->data_tail;
	struct perf_event_header header;

	while (tail < head) {
		memcpy(&header, rec->data + tail % rec->data_size,
		       sizeof(header));
		copy_out(rec, tail, header.size);
		on_event(rec, (const struct perf_event_header *)rec->event);
		tail += header.size;
		/* the kernel may write there once it sees this */
		__atomic_store_n(&rec->meta->data_tail, tail, __ATOMIC_RELEASE);
	}
}

/*
 * A page of a large frame that nobody has touched is not in memory: perf copies
 * neither that nor what comes after.  To read it brings it there.
 */
static void touch_stack(struct recorder *rec)
{
	char path[32], byte;
	uint64_t at;

	if (!rec->lowest || rec->lowest == rec->touched)
		return;
	if (!rec->mem) {
		snprintf(path, sizeof(path), "/proc/%d/mem", rec->pid);
		rec->mem = open(path, O_RDONLY | O_CLOEXEC);
		rec->touched = rec->stack_base;
	}
	for (at = rec->lowest & -4096UL; at < rec->touched; at += 4096)
		if (pread(rec->mem, &byte, 1, at) != 1)
			break;
	rec->touched = rec->lowest;
}

static pid_t start_command(char **argv, int *go)
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe(fds))
		die("pipe");
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(fds[1]);
		if (read(fds[0], &c, 1) == 1) {
			close(fds[0]);
			execv(argv[0], argv);
			die(argv[0]);
		}
		_exit(125);
	}
	close(fds[0]);
	*go = fds[1];
	return pid;
}

static void put_vdso(struct recorder *rec)
{
	unsigned long start, end, vdso = getauxval(AT_SYSINFO_EHDR);
	struct dump_vdso record = { 0 };
	char line[512];
	FILE *f = fopen("/proc/self/maps", "r");

	if (!f)
		die("/proc/self/maps");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2 || start != vdso)
			continue;
		record.len = end - start;
		put(rec, &record, sizeof(record), DUMP_VDSO, (void *)start,
		    record.len);
	}
	fclose(f);
}

static int record(struct recorder *rec, int fd, int go)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct dump_end end = { 0 };
	int status;

	rec->data_size = DATA_PAGES * 4096UL;
	rec->meta = mmap(NULL, 4096 + rec->data_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED, fd, 0);
	if (rec->meta == MAP_FAILED)
		die("mmap of the ring buffer");
	rec->data = (unsigned char *)rec->meta + 4096;

	put_vdso(rec);
	if (write(go, "", 1) != 1)
		die("write");
	while (waitpid(rec->pid, &status, WNOHANG) == 0) {
		poll(&pfd, 1, 50);
		drain(rec);
		touch_stack(rec);
	}
	drain(rec);
	end.lost = rec->lost;
	end.status = status;
	put(rec, &end, sizeof(end), DUMP_END, NULL, 0);
	if (fclose(rec->out))
		die("write");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

int main(int argc, char **argv)
{
	static struct recorder rec;
	unsigned long hertz = 1000;
	const char *path = NULL;
	int opt, fd, go;

	while ((opt = getopt(argc, argv, "+go:F:n:")) != -1) {
		if (opt == 'g')
			rec.at_once = true;
		else if (opt == 'o')
			path = optarg;
		else if (opt == 'F')
			hertz = strtoul(optarg, NULL, 10);
		else if (opt == 'n')
			rec.limit = strtoul(optarg, NULL, 10);
		else
			return 125;
	}
	if (!path || optind >= argc) {
		fprintf(stderr, "usage: stackdump -o FILE [-g] [-F HERTZ] [-n SAMPLES] -- COMMAND\n");
		return 125;
	}
	rec.out = fopen(path, "w");
	if (!rec.out)
		die(path);
	rec.pid = start_command(argv + optind, &go);
	fd = open_event(rec.pid, hertz, rec.at_once);
	if (fd < 0)
		die("perf_event_open");
	return record(&rec, fd, go);
}
