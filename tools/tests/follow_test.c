// SPDX-License-Identifier: MIT
/* Following mappings, with stand-ins for perf's rings. */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "attach/files.h"
#include "check.h"
#include "tool.h"

#define CPUS	3

/* How perf_event_open() fails for each CPU, or 0. */
static int refuses[CPUS];
static unsigned int opened;
static time_t seconds = 100;
static unsigned int slept, suspended;

uint64_t files_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (now.tv_sec - suspended) * 1000000000ULL + now.tv_nsec;
}

static long stand_in(long nr, ...)
{
	const size_t size = (1 + 64) * getpagesize();
	const int cpu = opened++ % CPUS;
	int fd;

	CHECK(nr == __NR_perf_event_open);
	errno = refuses[cpu];
	if (errno)
		return -1;
	fd = memfd_create("ring", MFD_CLOEXEC);
	CHECK(!ftruncate(fd, size));
	return fd;
}

static long three_cpus(int name)
{
	return name == _SC_NPROCESSORS_CONF ? CPUS : sysconf(name);
}

static time_t leap(void)
{
	return seconds;
}

static int count_sleep(useconds_t us)
{
	slept += us;
	return 0;
}

#define syscall		stand_in
#define sysconf		three_cpus
#define now_seconds	leap
#define usleep		count_sleep
#include "attach/follow.c"

/* Sets the contents of the list of online CPUs. */
static void put_online(struct follow *f, const char *list)
{
	close(f->cpus);
	f->cpus = memfd_create("online", MFD_CLOEXEC);
	CHECK(write(f->cpus, list, strlen(list)) == (ssize_t)strlen(list));
}

/* Uses that list, whatever CPUs this machine has. */
static struct follow *start(void)
{
	struct follow *f = follow_start();

	put_online(f, "0,2\n");
	has_changed(f);
	return f;
}

static unsigned int taken;
static char last[8];

static void take(void *arg, pid_t pid, unsigned long start, unsigned long end,
		 const char *name)
{
	CHECK(arg == &taken && pid == 7 && start == 0x1000 && end == 0x3000);
	snprintf(last, sizeof(last), "%s", name);
	taken++;
}

static bool wait_for_records(struct follow *f)
{
	taken = 0;
	return follow_wait(f, 1, take, &taken);
}

static void put_bytes(struct perf_event_mmap_page *ring, const void *bytes, size_t len)
{
	const size_t size = RING_PAGES * getpagesize();

	for (size_t i = 0; i < len; i++)
		((char *)ring + getpagesize())[(ring->data_head + i) % size] =
			((const char *)bytes)[i];
	ring->data_head += len;
}

static const struct mapped mapping = {
	.header = { PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER,
		    offsetof(struct mapped, name) + 8 },
	.pid = 7, .addr = 0x1000, .len = 0x2000, .ino = 1, .prot = PROT_EXEC,
	.name = "file",
};

static void put(struct follow *f, const struct mapped *mapped)
{
	put_bytes(f->ring[0], mapped, mapped->header.size);
}

static void end(struct follow *f)
{
	while (f->nr) {
		munmap(f->ring[--f->nr], (1 + RING_PAGES) * f->page);
		close(f->poll[f->nr].fd);
	}
	close(f->cpus);
	free(f->poll);
	free(f->ring);
	free(f);
}

static void code_of_files(void)
{
	struct follow *f = start();
	struct mapped other;

	CHECK(f->nr == CPUS);
	put(f, &mapping);
	other = mapping;
	other.prot = PROT_READ;
	put(f, &other);
	other = mapping;
	other.ino = 0;
	put(f, &other);
	other = mapping;
	other.header.misc = PERF_RECORD_MISC_KERNEL;
	put(f, &other);
	other = mapping;
	other.header.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	put(f, &other);
	CHECK(!wait_for_records(f));
	CHECK(taken == 1 && !strcmp(last, "file"));
	CHECK(!wait_for_records(f) && !taken);
	end(f);
}

/* A record at each position of the ring, including across its end. */
static void all_around_the_ring(void)
{
	struct follow *f = start();
	const size_t all = RING_PAGES * getpagesize() / mapping.header.size + 2;

	for (size_t i = 0; i < all; i++) {
		put(f, &mapping);
		CHECK(!wait_for_records(f) && taken == 1 && !strcmp(last, "file"));
	}
	CHECK(f->ring[0]->data_head > RING_PAGES * (size_t)getpagesize());
	end(f);
}

static void lost_records(void)
{
	const struct perf_event_header lost = { PERF_RECORD_LOST, 0, sizeof(lost) };
	struct follow *f = start();

	put_bytes(f->ring[1], &lost, sizeof(lost));
	CHECK(wait_for_records(f));
	CHECK(!wait_for_records(f));
	end(f);
}

/* A record of size 0 would be read forever. */
static void record_without_size(void)
{
	const struct perf_event_header none = { PERF_RECORD_MMAP2, 0, 0 };
	struct follow *f = start();

	put_bytes(f->ring[0], &none, sizeof(none));
	CHECK(!wait_for_records(f) && !taken);
	put(f, &mapping);
	CHECK(!wait_for_records(f) && taken == 1);
	end(f);
}

/* A process that keeps mapping files must not use up a CPU. */
static void flood(void)
{
	struct follow *f = start();
	struct mapped small = mapping;

	small.header.size = offsetof(struct mapped, name) + 5;
	slept = 0;
	for (int i = 0; i < FLOOD; i++)
		put(f, &small);
	CHECK(!wait_for_records(f) && taken == FLOOD && !slept);
	for (int i = 0; i < FLOOD + 1; i++)
		put(f, &small);
	CHECK(!wait_for_records(f) && taken == FLOOD + 1 && slept == 1000);
	end(f);
}

static void cpu_that_comes(void)
{
	struct follow *f;

	refuses[1] = ENODEV;
	f = start();
	CHECK(f->nr == CPUS - 1);
	refuses[1] = 0;
	CHECK(!wait_for_records(f) && f->nr == CPUS - 1);
	put_online(f, "0-2\n");
	/* Earlier mappings on that CPU have to be looked up. */
	CHECK(wait_for_records(f) && f->nr == CPUS);
	CHECK(!wait_for_records(f));
	end(f);
}

/* CPUs go offline and come back, so that the list is the same. */
static void suspend(void)
{
	struct follow *f = start();

	opened = 0;
	suspended += 2;
	CHECK(wait_for_records(f));
	CHECK(opened == CPUS && f->nr == CPUS);
	CHECK(!wait_for_records(f));
	end(f);
}

/* No memory when a CPU has come online. */
static void ring_that_cannot_be_opened(void)
{
	struct follow *f = start();
	unsigned int before;

	refuses[2] = ENOMEM;
	put_online(f, "0-2\n");
	CHECK(wait_for_records(f));
	CHECK(f->nr == CPUS - 1);
	opened = 0;
	CHECK(!wait_for_records(f));
	CHECK(!opened);
	seconds += AGAIN_SECONDS;
	CHECK(wait_for_records(f));
	before = opened;
	refuses[2] = 0;
	seconds += AGAIN_SECONDS;
	CHECK(wait_for_records(f));
	CHECK(opened == before + CPUS && f->nr == CPUS);
	seconds += AGAIN_SECONDS;
	CHECK(!wait_for_records(f));
	CHECK(opened == before + CPUS);
	end(f);
}

int main(void)
{
	RUN(code_of_files);
	RUN(all_around_the_ring);
	RUN(lost_records);
	RUN(record_without_size);
	RUN(flood);
	RUN(cpu_that_comes);
	RUN(suspend);
	RUN(ring_that_cannot_be_opened);
	return check_end();
}
