// SPDX-License-Identifier: MIT
/*
 * When it is looked whether something is there that nobody tells us of: at the start,
 * when a thread is made, and, for the list of debuggers, when memory is mapped or made
 * executable, as it is for code.
 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

#define EXPORT	__attribute__((__visibility__("default")))

static __typeof__(mmap) *next_mmap;
static __typeof__(mprotect) *next_mprotect;
static __typeof__(pthread_create) *next_create;

static void look(bool at_objects)
{
	if ((at_objects || preload_debug_list_changed()) && preload_lock()) {
		preload_debug_list_read();
		if (at_objects)
			preload_objects_read();
		preload_unlock();
	}
}

/* Before the start, of memory for the first allocations, nobody can be asked. */
EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *mem;

	if (next_mmap)
		mem = next_mmap(addr, len, prot, flags, fd, offset);
	else
		mem = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
	if (next_mmap)
		look(false);

	return mem;
}

EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
	__attribute__((__alias__("mmap")));

EXPORT int mprotect(void *addr, size_t len, int prot)
{
	int ret;

	if (next_mprotect)
		ret = next_mprotect(addr, len, prot);
	else
		ret = syscall(SYS_mprotect, addr, len, prot);
	if (next_mprotect)
		look(false);

	return ret;
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*function)(void *), void *arg)
{
	__typeof__(pthread_create) *next = next_create;

	if (!next)
		next = dlsym(RTLD_NEXT, "pthread_create");
	look(true);

	return next(thread, attr, function, arg);
}

/* After those of the library. */
__attribute__((__constructor__(103))) static void begin(void)
{
	int saved = errno;

	next_create = dlsym(RTLD_NEXT, "pthread_create");
	next_mprotect = dlsym(RTLD_NEXT, "mprotect");
	next_mmap = dlsym(RTLD_NEXT, "mmap");
	look(true);
	errno = saved;
}
