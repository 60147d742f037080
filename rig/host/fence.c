// SPDX-License-Identifier: GPL-2.0
/*
 * Each block is followed by as much unmapped memory as a 32-bit offset can reach.
 * Linked with malloc(), calloc(), free() and __assert_fail() wrapped.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fence.h"

#define MAX_BLOCKS	64
#define PAGE		4096ul
#define BEHIND		(1ul << 34)

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void __real_free(void *ptr);
void __wrap_free(void *ptr);
void __wrap___assert_fail(const char *what, const char *file, unsigned int line,
			  const char *function);

sigjmp_buf fence_death;

static struct {
	char *map;
	char *block;
	size_t size;
} blocks[MAX_BLOCKS];

static bool inside;

/* If the kernel's code dies, the program dies. */
static void die(int sig)
{
	if (inside)
		siglongjmp(fence_death, 1);
	signal(sig, SIG_DFL);
	raise(sig);
}

void fence_init(void)
{
	struct sigaction action = { .sa_handler = die };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGFPE, &action, NULL);
	sigaction(SIGABRT, &action, NULL);
}

void fence_enter(void)
{
	inside = true;
}

void fence_leave(void)
{
	inside = false;
}

/* Zeroed; no more than a section of the tests can need, or NULL. */
void *fence_alloc(size_t size)
{
	size_t pages = (size + PAGE - 1) & ~(PAGE - 1), i;
	char *map;

	if (size > 1ul << 24)
		return NULL;
	for (i = 0; i < MAX_BLOCKS && blocks[i].map; i++)
		;
	if (i == MAX_BLOCKS)
		abort();
	map = mmap(NULL, pages + BEHIND, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED || mprotect(map, pages, PROT_READ | PROT_WRITE))
		abort();
	blocks[i].map = map;
	blocks[i].block = map + pages - size;
	blocks[i].size = pages + BEHIND;

	return blocks[i].block;
}

static void release(size_t i)
{
	munmap(blocks[i].map, blocks[i].size);
	blocks[i].map = NULL;
}

/* Includes memory left by a call that died. */
void fence_free_all(void)
{
	size_t i;

	for (i = 0; i < MAX_BLOCKS; i++) {
		if (blocks[i].map)
			release(i);
	}
}

void *__wrap_malloc(size_t size)
{
	return inside ? fence_alloc(size) : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return inside ? fence_alloc(nr * size) : __real_calloc(nr, size);
}

void __wrap_free(void *ptr)
{
	size_t i;

	for (i = 0; ptr && i < MAX_BLOCKS; i++) {
		if (blocks[i].map && blocks[i].block == ptr) {
			release(i);
			return;
		}
	}
	__real_free(ptr);
}

void __wrap___assert_fail(const char *what, const char *file, unsigned int line,
			  const char *function)
{
	(void)what;
	(void)file;
	(void)line;
	(void)function;
	die(SIGABRT);
	abort();
}
