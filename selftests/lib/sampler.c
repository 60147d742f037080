// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "sampler.h"

#define RING_PAGES 128
#define PAGE_BYTES 4096UL
#define RING_BYTES (RING_PAGES * PAGE_BYTES)

#define TRACEFS "/sys/kernel/tracing"

static int tracepoint_id(const char *name)
{
	char path[128], buf[16] = "";
	int fd, n;

	snprintf(path, sizeof(path), TRACEFS "/events/%s/id", name);
	fd = open(path, O_RDONLY);
	if (fd < 0) {
		mount("tracefs", TRACEFS, "tracefs", 0, NULL);
		fd = open(path, O_RDONLY);
	}
	if (fd < 0)
		return -errno;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	return n > 0 ? atoi(buf) : -EIO;
}

static int open_one(struct sampler *s, struct perf_event_attr *attr, pid_t pid,
		    int cpu, const char *filter)
{
	void *ring;
	int fd;

	fd = syscall(__NR_perf_event_open, attr, pid, cpu, -1,
		     PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter))
		goto fail;
	ring = mmap(NULL, PAGE_BYTES + RING_BYTES, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		goto fail;
	s->cpu[s->nr].fd = fd;
	s->cpu[s->nr].ring = ring;
	s->nr++;
	return 0;
fail:
	close(fd);
	return -errno;
}

bool __attribute__((weak)) sampler_at_once;
void __attribute__((weak)) sampler_touch_tables(void) {}

static int open_all(struct sampler *s, struct perf_event_attr *attr, pid_t pid,
		    const char *filter)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int err;

	memset(s, 0, sizeof(*s));
	attr->size = sizeof(*attr);
	attr->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			    PERF_SAMPLE_CALLCHAIN;
	attr->sample_id_all = 1;
	attr->exclude_callchain_kernel = 1;
	attr->defer_callchain = !sampler_at_once;
	attr->defer_output = !sampler_at_once;
	attr->inherit = pid != -1;
	/* Deferred stacks go to events of all tasks only if they are for this. */
	attr->comm = pid == -1;
	attr->disabled = 1;
	if (cpus > SAMPLER_MAX_CPUS)
		return -E2BIG;
	sampler_touch_tables();
	for (int cpu = 0; cpu < cpus; cpu++) {
		err = open_one(s, attr, pid, cpu, filter);
		if (err) {
			sampler_close(s);
			return err;
		}
	}
	for (int i = 0; i < s->nr; i++)
		ioctl(s->cpu[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	return 0;
}

static int open_syscall(struct sampler *s, pid_t pid, long nr)
{
	int id = tracepoint_id("raw_syscalls/sys_enter");
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = id,
		.sample_period = 1,
	};
	char filter[32];

	if (id < 0)
		return id;
	snprintf(filter, sizeof(filter), "id == %ld", nr);
	return open_all(s, &attr, pid, filter);
}

int sampler_open_syscall(struct sampler *s, long nr)
{
	return open_syscall(s, 0, nr);
}

int sampler_open_syscall_all(struct sampler *s, long nr)
{
	return open_syscall(s, -1, nr);
}

int sampler_open_clock(struct sampler *s, unsigned int hz)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.exclude_kernel = 1,
	};

	return open_all(s, &attr, 0, NULL);
}

int sampler_open_breakpoint(struct sampler *s, const void *addr)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = (uintptr_t)addr,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.exclude_kernel = 1,
	};

	return open_all(s, &attr, 0, NULL);
}

void sampler_close(struct sampler *s)
{
	for (int i = 0; i < s->nr; i++) {
		munmap(s->cpu[i].ring, PAGE_BYTES + RING_BYTES);
		close(s->cpu[i].fd);
	}
	s->nr = 0;
}

static void ring_copy(void *ring, uint64_t pos, void *dst, size_t len)
{
	const char *data = (char *)ring + PAGE_BYTES;

	for (size_t done = 0; done < len;) {
		size_t at = (pos + done) % RING_BYTES;
		size_t n = len - done;

		if (n > RING_BYTES - at)
			n = RING_BYTES - at;
		memcpy((char *)dst + done, data + at, n);
		done += n;
	}
}

/* struct perf_event_header, cookie, nr, ips[nr], { pid, tid }, time */
static void read_deferred(void *ring, uint64_t pos, struct stack *stack)
{
	uint64_t nr;

	pos += sizeof(struct perf_event_header);
	ring_copy(ring, pos, &stack->cookie, 8);
	ring_copy(ring, pos + 8, &nr, 8);
	stack->nr = nr < STACK_MAX ? nr : STACK_MAX;
	pos += 16;
	ring_copy(ring, pos, stack->ip, stack->nr * 8);
	pos += nr * 8;
	ring_copy(ring, pos, &stack->pid, 4);
	ring_copy(ring, pos + 4, &stack->tid, 4);
	ring_copy(ring, pos + 8, &stack->time, 8);
}

/* struct perf_event_header, { pid, tid }, time, nr, PERF_CONTEXT_USER, ips[nr - 1] */
static void read_sample(void *ring, uint64_t pos, struct stack *stack)
{
	uint64_t nr;

	pos += sizeof(struct perf_event_header);
	ring_copy(ring, pos, &stack->pid, 4);
	ring_copy(ring, pos + 4, &stack->tid, 4);
	ring_copy(ring, pos + 8, &stack->time, 8);
	ring_copy(ring, pos + 16, &nr, 8);
	nr -= !!nr;
	stack->cookie = 0;
	stack->nr = nr < STACK_MAX ? nr : STACK_MAX;
	ring_copy(ring, pos + 32, stack->ip, stack->nr * 8);
}

/* Consumes up to and including the first stack. */
static bool ring_next(struct sampler *s, void *ring, struct stack *stack)
{
	struct perf_event_mmap_page *page = ring;
	/* Pairs with the barrier of perf_output_put_handle(). */
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	bool found = false;

	while (tail < head && !found) {
		struct perf_event_header header;

		ring_copy(ring, tail, &header, sizeof(header));
		if (header.type == PERF_RECORD_CALLCHAIN_DEFERRED) {
			read_deferred(ring, tail, stack);
			found = true;
		} else if (header.type == PERF_RECORD_SAMPLE) {
			s->samples++;
			if (sampler_at_once) {
				read_sample(ring, tail, stack);
				found = true;
			}
		} else if (header.type == PERF_RECORD_LOST) {
			s->lost++;
		}
		tail += header.size;
	}
	/* The kernel may write the space only after it was read. */
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return found;
}

bool sampler_next(struct sampler *s, struct stack *stack)
{
	for (int i = 0; i < s->nr; i++)
		if (ring_next(s, s->cpu[i].ring, stack))
			return true;
	return false;
}

void sampler_drain(struct sampler *s)
{
	for (int i = 0; i < s->nr; i++) {
		struct perf_event_mmap_page *page = s->cpu[i].ring;

		__atomic_store_n(&page->data_tail,
				 __atomic_load_n(&page->data_head,
						 __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
}
