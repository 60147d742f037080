// SPDX-License-Identifier: GPL-2.0
/*
 * Runs a KUnit suite on the host, and provides the user memory that it reads.
 */
#include <kunit/test.h>
#include <linux/sched/signal.h>
#include <setjmp.h>
#include <sys/mman.h>

#define USER_START	0x10000000UL
#define NR_PAGES	((TASK_SIZE_MAX - USER_START) / PAGE_SIZE)

enum { UNMAPPED, UNTOUCHED, PRESENT };

static unsigned char pages[NR_PAGES];
static unsigned long window_start, window_end;
static int faults_disabled;
static jmp_buf ended;

void (*user_watch)(unsigned long addr);
bool user_killed;

/* --- user memory */

static bool in_user(unsigned long addr, unsigned long len)
{
	return addr <= TASK_SIZE_MAX && len <= TASK_SIZE_MAX - addr;
}

/* Is there such a page, after a fault if necessary? */
static bool touch(unsigned long addr, bool may_fault)
{
	unsigned char *page;

	if (addr < USER_START || addr >= TASK_SIZE_MAX)
		return false;
	page = &pages[(addr - USER_START) / PAGE_SIZE];
	if (*page == UNTOUCHED && may_fault)
		*page = PRESENT;

	return *page == PRESENT;
}

static bool touch_all(unsigned long addr, unsigned long len)
{
	unsigned long at;

	if (!in_user(addr, len))
		return false;
	for (at = addr & -PAGE_SIZE; at < addr + len; at += PAGE_SIZE)
		if (!touch(at, !faults_disabled))
			return false;

	return true;
}

static unsigned long find_room(unsigned long len)
{
	unsigned long first, nr;

	for (first = 1; first < NR_PAGES / 2; first++) {
		/* With a hole before and after. */
		for (nr = 0; nr < len / PAGE_SIZE + 2; nr++)
			if (pages[first - 1 + nr])
				break;
		if (nr == len / PAGE_SIZE + 2)
			return USER_START + first * PAGE_SIZE;
	}

	return 0;
}

unsigned long user_map(unsigned long addr, unsigned long len)
{
	addr = addr ? addr : find_room(len);
	memset((void *)addr, 0, len);
	memset(&pages[(addr - USER_START) / PAGE_SIZE], UNTOUCHED,
	       len / PAGE_SIZE);

	return addr;
}

int user_unmap(unsigned long addr, unsigned long len)
{
	memset(&pages[(addr - USER_START) / PAGE_SIZE], UNMAPPED,
	       len / PAGE_SIZE);

	return 0;
}

unsigned long copy_from_user(void *to, const void *from, unsigned long len)
{
	unsigned long addr = (unsigned long)from;

	if (window_start != window_end)
		abort();
	if (user_watch)
		user_watch(addr);
	if (!touch_all(addr, len))
		return len;
	memcpy(to, from, len);

	return 0;
}

unsigned long copy_to_user(void *to, const void *from, unsigned long len)
{
	if (!touch_all((unsigned long)to, len))
		return len;
	memcpy(to, from, len);

	return 0;
}

void pagefault_disable(void)
{
	faults_disabled++;
}

void pagefault_enable(void)
{
	faults_disabled--;
}

bool pagefault_disabled(void)
{
	return faults_disabled;
}

bool user_read_access_begin(const void *ptr, unsigned long len)
{
	if (window_start != window_end)
		abort();
	if (!in_user((unsigned long)ptr, len))
		return false;
	window_start = (unsigned long)ptr;
	window_end = window_start + len;

	return true;
}

void user_read_access_end(void)
{
	window_start = 0;
	window_end = 0;
}

static void check_window(unsigned long addr, unsigned long len)
{
	if (addr < window_start || addr > window_end ||
	    len > window_end - addr)
		abort();
}

void unwind_user_prefetch(unsigned long addr)
{
	check_window(addr, 1);
}

bool user_load(void *to, unsigned long addr, unsigned long len)
{
	check_window(addr, len);
	if (user_watch)
		user_watch(addr);
	if (!touch_all(addr, len))
		return false;
	memcpy(to, (const void *)addr, len);

	return true;
}

void user_barrier(void)
{
	if (user_watch)
		user_watch(0);
}

/* --- the suite */

void kunit_failed(struct kunit *test, const char *file, int line,
		  const char *what, bool fatal)
{
	printf("# %s:%d: %s\n", file, line, what);
	test->failed = true;
	if (fatal)
		longjmp(ended, 1);
}

static bool run(const struct kunit_suite *suite, const struct kunit_case *c)
{
	struct kunit test = {};

	memset(pages, UNMAPPED, sizeof(pages));
	faults_disabled = 0;
	user_watch = NULL;
	user_killed = false;
	user_read_access_end();
	if (setjmp(ended))
		return false;
	if (suite->init && suite->init(&test))
		return false;
	c->run(&test);

	return !test.failed;
}

int main(void)
{
	const struct kunit_case *c = kunit_suite->test_cases;
	int nr = 0, failed = 0;
	bool ok;

	if (mmap((void *)USER_START, TASK_SIZE_MAX - USER_START,
		 PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
		 MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (; c->run; c++) {
		ok = run(kunit_suite, c);
		failed += !ok;
		printf("%sok %d %s\n", ok ? "" : "not ", ++nr, c->name);
	}
	printf("1..%d\n", nr);

	return failed > 0;
}
