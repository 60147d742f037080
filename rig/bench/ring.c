// SPDX-License-Identifier: GPL-2.0
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "codectl_test.h"
#include "sampler.h"
#include "tracefs.h"
#include "bench.h"
#include "ring.h"

#define RING_PAGES	32

struct ring ring_open(struct perf_event_attr attr)
{
	struct ring r;
	char filter[32];

	attr.type = PERF_TYPE_TRACEPOINT;
	attr.size = sizeof(attr);
	attr.config = tracefs_event_type("raw_syscalls/sys_enter");
	attr.sample_period = 1;
	attr.sample_type |= PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.sample_id_all = 1;
	attr.exclude_callchain_kernel = 1;
	r.fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1,
		       PERF_FLAG_FD_CLOEXEC);
	if (r.fd < 0)
		die("perf event");
	snprintf(filter, sizeof(filter), "id == %d", MARKER_NR);
	if (ioctl(r.fd, PERF_EVENT_IOC_SET_FILTER, filter))
		die("filter");
	r.page = mmap(NULL, (RING_PAGES + 1) * PAGE, PROT_READ | PROT_WRITE,
		      MAP_SHARED, r.fd, 0);
	if (r.page == MAP_FAILED)
		die("ring");
	return r;
}

void ring_close(struct ring *r)
{
	munmap(r->page, (RING_PAGES + 1) * PAGE);
	close(r->fd);
}

uint64_t ring_empty(struct ring *r)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t bytes = head - r->page->data_tail;

	__atomic_store_n(&r->page->data_tail, head, __ATOMIC_RELEASE);
	return bytes;
}
