// SPDX-License-Identifier: MIT
/* Uses perf's records of code mappings, of all CPUs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../tool.h"
#include "files.h"
#include "follow.h"

#define RING_PAGES	64
/* How often to retry CPUs that could not be followed. */
#define AGAIN_SECONDS	5
/* More records at a time than that are made by somebody on purpose. */
#define FLOOD		1024

struct follow {
	int cpus;		/* file with the list of online CPUs */
	char online[256];	/* its last contents */
	int64_t slept;		/* nanoseconds of suspend at that time */
	bool some;		/* not all of these are followed */
	time_t tried;		/* when to follow them was last tried */
	long nr;
	size_t page;
	struct pollfd *poll;
	struct perf_event_mmap_page **ring;
	bool lost;
};

/* perf_event_open(2): PERF_RECORD_MMAP2 */
struct mapped {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t maj, min;
	uint64_t ino, ino_generation;
	uint32_t prot, flags;
	char name[4096 + 8];
};

static bool open_ring(struct follow *f, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	int fd = syscall(__NR_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	void *ring;

	if (fd < 0)
		return errno == ENODEV;		/* the CPU is offline */
	ring = mmap(NULL, (1 + RING_PAGES) * f->page, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, 0);
	/* No other process must keep it. */
	if (ring == MAP_FAILED || madvise(ring, (1 + RING_PAGES) * f->page, MADV_DONTFORK)) {
		if (ring != MAP_FAILED)
			munmap(ring, (1 + RING_PAGES) * f->page);
		close(fd);
		return false;
	}
	f->poll[f->nr] = (struct pollfd){ .fd = fd, .events = POLLIN };
	f->ring[f->nr++] = ring;
	return true;
}

static int64_t time_slept(void)
{
	struct timespec all;

	clock_gettime(CLOCK_BOOTTIME, &all);
	return all.tv_sec * 1000000000LL + all.tv_nsec - (int64_t)files_now();
}

/*
 * Have CPUs gone on- or offline since the last call?  Suspend takes all but one offline
 * and back while no process runs.
 */
static bool has_changed(struct follow *f)
{
	char online[sizeof(f->online)] = "";
	int64_t slept = time_slept();
	bool changed = slept - f->slept > 1000000000;

	if (changed)
		f->slept = slept;
	if (pread(f->cpus, online, sizeof(online) - 1, 0) > 0 && strcmp(online, f->online)) {
		strcpy(f->online, online);
		changed = true;
	}
	return changed;
}

/* Opens those of all online CPUs, replacing the old ones; or of some, with errno. */
static bool open_rings(struct follow *f)
{
	bool all = true;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	while (f->nr) {
		munmap(f->ring[--f->nr], (1 + RING_PAGES) * f->page);
		close(f->poll[f->nr].fd);
	}
	f->poll = need(reallocarray(f->poll, cpus, sizeof(*f->poll)));
	f->ring = need(reallocarray(f->ring, cpus, sizeof(*f->ring)));
	for (long cpu = 0; cpu < cpus && all; cpu++)
		all = open_ring(f, cpu);
	return all;
}

struct follow *follow_start(void)
{
	struct follow *f = need(calloc(1, sizeof(*f)));

	f->page = sysconf(_SC_PAGESIZE);
	f->cpus = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	has_changed(f);
	if (!open_rings(f))
		die("cannot follow what is mapped: %s", strerror(errno));
	return f;
}

static void copy(const struct follow *f, const void *ring, uint64_t pos, void *to,
		 size_t len)
{
	const size_t size = RING_PAGES * f->page, at = pos % size;
	const size_t first = len < size - at ? len : size - at;
	const char *data = (const char *)ring + f->page;

	memcpy(to, data + at, first);
	memcpy((char *)to + first, data, len - first);
}

static void take_record(struct follow *f, const void *ring, uint64_t pos,
			const struct perf_event_header *header, follow_take *take,
			void *arg)
{
	struct mapped mapped = { 0 };

	if (header->type == PERF_RECORD_LOST)
		f->lost = true;
	if (header->type != PERF_RECORD_MMAP2 || header->size > sizeof(mapped) ||
	    header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID)
		return;
	copy(f, ring, pos, &mapped, header->size);
	mapped.name[sizeof(mapped.name) - 1] = '\0';
	/* Without a file there is no inode. */
	if ((header->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_USER &&
	    mapped.ino && mapped.prot & PROT_EXEC)
		take(arg, mapped.pid, mapped.addr, mapped.addr + mapped.len, mapped.name);
}

/* Returns the number of records. */
static size_t read_ring(struct follow *f, struct perf_event_mmap_page *ring,
			follow_take *take, void *arg)
{
	/* Pairs with the barrier of perf_output_put_handle(). */
	uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->data_tail;
	size_t nr = 0;
	struct perf_event_header header;

	while (tail < head) {
		copy(f, ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header))
			break;
		take_record(f, ring, tail, &header, take, arg);
		tail += header.size;
		nr++;
	}
	/* The kernel may write the space only after it was read. */
	__atomic_store_n(&ring->data_tail, head, __ATOMIC_RELEASE);
	return nr;
}

bool follow_wait(struct follow *f, int ms, follow_take *take, void *arg)
{
	size_t records = 0;
	bool lost;

	poll(f->poll, f->nr, ms);
	for (long i = 0; i < f->nr; i++)
		records += read_ring(f, f->ring[i], take, arg);
	/* What the rings cannot take meanwhile is lost, and will be looked for. */
	if (records > FLOOD)
		usleep(ms * 1000);
	/* A new CPU has no event, nor has one that was offline. */
	if (has_changed(f) || (f->some && now_seconds() - f->tried >= AGAIN_SECONDS)) {
		f->tried = now_seconds();
		f->some = !open_rings(f);
		f->lost = true;
	}
	lost = f->lost;
	f->lost = false;
	return lost;
}
