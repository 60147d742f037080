// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <time.h>

#include "codectl_test.h"

long sys_codectl(unsigned int option, const void *info, size_t size,
		 unsigned int flags)
{
	long ret = syscall(__NR_codectl, option, info, size, flags);

	return ret < 0 ? -errno : ret;
}

int register_elf(const struct code_elf_info *info)
{
	return sys_codectl(CODE_REGISTER_ELF, info, sizeof(*info), 0);
}

int register_text(uint64_t start, uint64_t end, const void *sframe, size_t len)
{
	struct code_elf_info info = {
		.elf_start = start,
		.elf_end = end,
		.text_start = start,
		.text_end = end,
		.sframe_start = addr_of(sframe),
		.sframe_end = addr_of(sframe) + len,
	};

	return register_elf(&info);
}

int register_elf_text(uint64_t start, uint64_t end)
{
	return register_text(start, end, NULL, 0);
}

int unregister_text(uint64_t start, uint64_t end)
{
	struct code_unregister_info info = {
		.text_start = start,
		.text_end = end,
	};

	return sys_codectl(CODE_UNREGISTER, &info, sizeof(info), 0);
}

bool text_is_registered(uint64_t addr)
{
	int err = register_text(addr, addr + 1, NULL, 0);

	if (!err)
		unregister_text(addr, addr + 1);
	return err == -EEXIST;
}

static int sysctl_open(const char *name, int flags)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	return open(path, flags);
}

void forget_rules(void)
{
	static int fd = -1;

	if (fd < 0) {
		fd = sysctl_open("vm/drop_caches", O_WRONLY | O_CLOEXEC);
		/* no line in the log each time */
		pwrite(fd, "4", 1, 0);
	}
	/* As if memory were wanted or, if nobody may say so, after a while. */
	if (pwrite(fd, "2", 1, 0) != 1)
		sleep(2);
}

bool have_codectl(void)
{
	return sys_codectl(CODE_UNREGISTER, NULL, 0, CODE_FLAG_INVALID) !=
		       -ENOSYS || getenv("EXPECT_ALL_FEATURES");
}

void *map_pages(size_t pages, int prot)
{
	void *p = mmap(NULL, pages * PAGE, prot, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

int watch_page(void *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { addr_of(page), PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);

	if (fd < 0 || (!ioctl(fd, UFFDIO_API, &api) &&
		       !ioctl(fd, UFFDIO_REGISTER, &reg)))
		return fd;
	close(fd);
	return -1;
}

/* With five levels of page tables there can be something above 2^47. */
uint64_t user_end(void)
{
	const uint64_t above = 1UL << 55;
	static uint64_t end;
	void *p;

	if (end)
		return end;
	p = mmap((void *)above, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_FIXED_NOREPLACE, -1, 0);
	/* Another thread may be here, too. */
	if (p == MAP_FAILED && errno != EEXIST)
		return end = (1UL << 47) - PAGE;
	if (p != MAP_FAILED)
		munmap(p, PAGE);
	return end = (1UL << 56) - PAGE;
}

const struct bad_range *bad_range(size_t i)
{
	const struct bad_range bad_ranges[NR_BAD_RANGES] = {
		{ "empty", 0x10000, 0x10000 },
		{ "empty at 0", 0, 0 },
		{ "reversed", 0x20000, 0x10000 },
		{ "whole", 0, -1UL },
		{ "wrapping", -PAGE, PAGE },
		{ "past user space", USER_END - PAGE, USER_END + PAGE },
		{ "after user space", USER_END + PAGE, USER_END + 2 * PAGE },
		{ "not canonical", 1UL << 60, (1UL << 60) + PAGE },
		{ "in the kernel", KERNEL_ADDR, KERNEL_ADDR + PAGE },
		{ "up to the last byte", -PAGE, -1UL },
	};
	static _Thread_local struct bad_range r;

	r = bad_ranges[i];
	return &r;
}

int sysctl_write(const char *name, long value)
{
	int fd = sysctl_open(name, O_WRONLY);
	int ret;

	if (fd < 0)
		return -errno;
	ret = dprintf(fd, "%ld\n", value) < 0 ? -errno : 0;
	close(fd);
	return ret;
}

long sysctl_read(const char *name)
{
	int fd = sysctl_open(name, O_RDONLY);
	char buf[32] = "";
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	return n > 0 ? atol(buf) : -EIO;
}

struct segment_query {
	uint64_t addr;
	uint64_t start;
	uint64_t end;
};

static int match_segment(struct dl_phdr_info *info, size_t, void *data)
{
	struct segment_query *q = data;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) ||
		    q->addr < start || q->addr >= start + ph->p_memsz)
			continue;
		q->start = start;
		q->end = start + ph->p_memsz;
		return 1;
	}
	return 0;
}

int text_segment_of(const void *addr, uint64_t *start, uint64_t *end)
{
	struct segment_query q = { .addr = addr_of(addr) };

	if (!dl_iterate_phdr(match_segment, &q))
		return -1;
	*start = q.start;
	*end = q.end;
	return 0;
}

unsigned int scaled_seconds(unsigned int seconds)
{
	const char *scale = getenv("TEST_TIME_SCALE");

	return seconds * (scale ? atoi(scale) : 1);
}

bool is_slow(void)
{
	return scaled_seconds(1) > 1;
}

int run_on_first_cpu(int policy)
{
	const struct sched_param param = { .sched_priority = policy == SCHED_FIFO };
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	return sched_setaffinity(0, sizeof(cpus), &cpus) ?:
	       sched_setscheduler(0, policy, &param);
}

double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

void fork_once(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

bool waits_in(pid_t tid, int nr)
{
	double end = now() + scaled_seconds(20);
	char path[64], line[64];
	int times = 0;

	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	while (times < 50 && now() < end) {
		FILE *file = fopen(path, "re");

		if (!file || !fgets(line, sizeof(line), file))
			strcpy(line, "gone");
		if (file)
			fclose(file);
		times = *line >= '0' && *line <= '9' && atoi(line) == nr ?
			times + 1 : 0;
		usleep(2000);
	}
	return times == 50;
}

bool page_is_mapped(const void *page)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry = 0;
	bool read;

	read = pread(fd, &entry, sizeof(entry), addr_of(page) / PAGE * 8) ==
	       sizeof(entry);
	close(fd);
	return !read || entry >> 63;
}
