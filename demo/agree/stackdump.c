// SPDX-License-Identifier: MIT
/*
 * stackdump: run a command and write, for each cpu-clock sample, the user
 * registers and the stack as they were, and the user call chain of the same
 * instant, deferred or, with -g, taken at once as perf record -g has it.
 *
 * usage: stackdump -o FILE [-a] [-g] [-F HERTZ] [-n SAMPLES] -- COMMAND [ARG...]
 *
 * Only the first thread of the command is sampled; with -a everything but this
 * process is, while the command runs.  After SAMPLES samples, the command gets SIGTERM.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dump_events.h"

/* Deferred call chains are newer than the headers of Debian 12. */
#define ATTR_DEFER_CALLCHAIN		(1ULL << 38)
#define ATTR_DEFER_OUTPUT		(1ULL << 39)

#define DATA_PAGES	16384
#define DATA_SIZE	(DATA_PAGES * 4096UL)
#define MAX_RINGS	256
/* How often to wait POLL_MS for chains after all samples were taken. */
#define MORE_POLLS	60
#define POLL_MS		50

struct ring {
	int fd;
	struct perf_event_mmap_page *meta;
	unsigned char *data;
};

struct recording {
	struct recorder rec;
	struct ring ring[MAX_RINGS];
	int nr_rings;
	unsigned char event[65536];	/* one event, out of the ring */
	uint64_t touched;		/* the stack is in memory down to here */
	int mem;			/* /proc/PID/mem, or 0 */
};

static int open_event(const struct recorder *rec, unsigned long hertz, int cpu)
{
	struct perf_event_attr attr = {
		.type			= PERF_TYPE_SOFTWARE,
		.size			= sizeof(attr),
		.config			= PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq		= hertz,
		.freq			= 1,
		.disabled		= 1,
		.enable_on_exec		= !rec->all,
		.exclude_idle		= rec->all,
		.exclude_callchain_kernel = 1,
		.mmap			= 1,
		.comm			= rec->all,
		.comm_exec		= rec->all,
		.task			= rec->all,
		.watermark		= 1,
		.wakeup_watermark	= DATA_SIZE / 8,
		.sample_id_all		= 1,
		.sample_type		= ORIGIN | PERF_SAMPLE_CALLCHAIN |
					  PERF_SAMPLE_REGS_USER |
					  PERF_SAMPLE_STACK_USER,
		.sample_regs_user	= dump_registers(),
		.sample_stack_user	= STACK_BYTES,
	};
	char *flags_at = (char *)&attr + offsetof(struct perf_event_attr,
						  read_format) + 8;
	uint64_t flags;

	memcpy(&flags, flags_at, sizeof(flags));
	if (!rec->at_once)
		flags |= ATTR_DEFER_CALLCHAIN | ATTR_DEFER_OUTPUT;
	memcpy(flags_at, &flags, sizeof(flags));
	return syscall(SYS_perf_event_open, &attr, rec->all ? -1 : rec->pid, cpu, -1, 0);
}

static void open_ring(struct recording *r, unsigned long hertz, int cpu)
{
	struct ring *ring = &r->ring[r->nr_rings];

	ring->fd = open_event(&r->rec, hertz, cpu);
	/* The CPU is offline. */
	if (ring->fd < 0 && errno == ENODEV && cpu >= 0)
		return;
	if (ring->fd < 0)
		dump_die("perf_event_open");
	r->nr_rings++;
	ring->meta = mmap(NULL, 4096 + DATA_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			  ring->fd, 0);
	if (ring->meta == MAP_FAILED)
		dump_die("mmap of the ring buffer");
	ring->data = (unsigned char *)ring->meta + 4096;
}

static void open_rings(struct recording *r, unsigned long hertz)
{
	int cpus = r->rec.all ? sysconf(_SC_NPROCESSORS_CONF) : 0;

	if (cpus > MAX_RINGS)
		cpus = MAX_RINGS;
	if (!r->rec.all)
		open_ring(r, hertz, -1);
	for (int cpu = 0; cpu < cpus; cpu++)
		open_ring(r, hertz, cpu);
}

static void copy_out(struct recording *r, const struct ring *ring, uint64_t pos, size_t len)
{
	uint64_t off = pos % DATA_SIZE;
	size_t first = DATA_SIZE - off;

	if (first > len)
		first = len;
	memcpy(r->event, ring->data + off, first);
	memcpy(r->event + first, ring->data, len - first);
}

static void drain_ring(struct recording *r, const struct ring *ring)
{
	/* pairs with the barrier in the kernel's perf_output_put_handle() */
	uint64_t head = __atomic_load_n(&ring->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->meta->data_tail;
	struct perf_event_header header;

	while (tail < head) {
		memcpy(&header, ring->data + tail % DATA_SIZE, sizeof(header));
		copy_out(r, ring, tail, header.size);
		dump_event(&r->rec, (const struct perf_event_header *)r->event);
		tail += header.size;
		/* the kernel may write there once it sees this */
		__atomic_store_n(&ring->meta->data_tail, tail, __ATOMIC_RELEASE);
	}
}

static void drain(struct recording *r)
{
	for (int i = 0; i < r->nr_rings; i++)
		drain_ring(r, &r->ring[i]);
}

/*
 * A page of a large frame that nobody has touched is not in memory, and perf stops copying
 * there.  Reading the page brings it into memory.
 */
static void touch_stack(struct recording *r)
{
	struct recorder *rec = &r->rec;
	char path[32], byte;
	uint64_t at;

	if (!rec->lowest || rec->lowest == r->touched)
		return;
	if (!r->mem) {
		snprintf(path, sizeof(path), "/proc/%d/mem", rec->pid);
		r->mem = open(path, O_RDONLY | O_CLOEXEC);
		r->touched = rec->stack_base;
	}
	for (at = rec->lowest & -4096UL; at < r->touched; at += 4096)
		if (pread(r->mem, &byte, 1, at) != 1)
			break;
	r->touched = rec->lowest;
}

static pid_t start_command(char **argv, int *go)
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe(fds))
		dump_die("pipe");
	pid = fork();
	if (pid < 0)
		dump_die("fork");
	if (pid == 0) {
		close(fds[1]);
		if (read(fds[0], &c, 1) == 1) {
			close(fds[0]);
			execv(argv[0], argv);
			dump_die(argv[0]);
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
		dump_die("/proc/self/maps");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2 || start != vdso)
			continue;
		record.len = end - start;
		dump_put(rec, &record, sizeof(record), DUMP_VDSO, (void *)start,
			 record.len);
	}
	fclose(f);
}

/* Writes executable mappings as if from events. */
static void put_maps(struct recorder *rec, pid_t pid)
{
	char path[32], line[4608], flags[5], name[4096];
	struct dump_map map = { .header.pid = pid };
	unsigned long start, end, pgoff;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		strcpy(name, "//anon");
		if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095[^\n]", &start, &end, flags,
			   &pgoff, name) < 4 || flags[2] != 'x')
			continue;
		map.start = start;
		map.len = end - start;
		map.pgoff = pgoff;
		dump_map(rec, &map, name);
	}
	if (f)
		fclose(f);
}

static void put_all_maps(struct recorder *rec)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	if (!proc)
		dump_die("/proc");
	while ((entry = readdir(proc)) != NULL)
		if (isdigit((unsigned char)entry->d_name[0]))
			put_maps(rec, atoi(entry->d_name));
	closedir(proc);
}

/* Events report what is mapped meanwhile, so enable them first. */
static void switch_on(struct recording *r)
{
	for (int i = 0; i < r->nr_rings; i++)
		if (ioctl(r->ring[i].fd, PERF_EVENT_IOC_ENABLE, 0))
			dump_die("the events");
	put_all_maps(&r->rec);
}

static void switch_off(const struct recording *r)
{
	for (int i = 0; i < r->nr_rings; i++)
		ioctl(r->ring[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

/* A task that has not run since it was sampled still has to make its chain. */
static void await_chains(struct recording *r)
{
	struct pollfd pfd = { .fd = r->ring[0].fd, .events = POLLIN };

	r->rec.enough = true;
	for (int i = 0; i < MORE_POLLS; i++) {
		poll(&pfd, 1, POLL_MS);
		drain(r);
	}
}

static int record(struct recording *r, int go)
{
	struct pollfd pfd = { .fd = r->ring[0].fd, .events = POLLIN };
	struct recorder *rec = &r->rec;
	struct dump_end end = { .header.time = UINT64_MAX };
	int status;

	put_vdso(rec);
	if (rec->all)
		switch_on(r);
	if (write(go, "", 1) != 1)
		dump_die("write");
	while (waitpid(rec->pid, &status, WNOHANG) == 0) {
		poll(&pfd, 1, POLL_MS);
		drain(r);
		touch_stack(r);
	}
	/* The command has ended: there is nobody to send SIGTERM to. */
	rec->limit = 0;
	if (rec->all)
		await_chains(r);
	switch_off(r);
	drain(r);
	/* With -a, the command only sets the time, and SIGTERM is its normal end. */
	if (rec->all && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM)
		status = 0;
	end.lost = rec->lost;
	end.status = status;
	dump_put(rec, &end, sizeof(end), DUMP_END, NULL, 0);
	if (fclose(rec->out))
		dump_die("write");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

int main(int argc, char **argv)
{
	static struct recording r;
	struct recorder *rec = &r.rec;
	unsigned long hertz = 1000;
	const char *path = NULL;
	int opt, go;

	while ((opt = getopt(argc, argv, "+ago:F:n:")) != -1) {
		if (opt == 'a')
			rec->all = true;
		else if (opt == 'g')
			rec->at_once = true;
		else if (opt == 'o')
			path = optarg;
		else if (opt == 'F')
			hertz = strtoul(optarg, NULL, 10);
		else if (opt == 'n')
			rec->limit = strtoul(optarg, NULL, 10);
		else
			return 125;
	}
	if (!path || optind >= argc) {
		fprintf(stderr, "usage: stackdump -o FILE [-a] [-g] [-F HERTZ] [-n SAMPLES] -- COMMAND\n");
		return 125;
	}
	rec->out = fopen(path, "w");
	if (!rec->out)
		dump_die(path);
	rec->pid = start_command(argv + optind, &go);
	open_rings(&r, hertz);
	return record(&r, go);
}
