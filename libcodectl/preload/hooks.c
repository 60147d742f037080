// SPDX-License-Identifier: MIT
/*
 * When to look for things that nobody reports to us: at the start, when a thread is
 * created, when a symbol is looked up, and, for the list of debuggers, when memory is
 * mapped or made executable, as it is for code.
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
static __typeof__(mmap64) *next_mmap64;
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

void preload_look(void)
{
	/* The function to call is known last. */
	if (next_create)
		look(true);
}

/* Before the start, for memory of the first allocations, nobody can be asked. */
static void *map(__typeof__(mmap) *next, void *addr, size_t len, int prot, int flags,
		 int fd, off_t offset)
{
	void *mem;

	if (!next)
		return (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);
	mem = next(addr, len, prot, flags, fd, offset);
	look(false);

	return mem;
}

EXPORT void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	return map(next_mmap, addr, len, prot, flags, fd, offset);
}

/* A library that interposes only one of them must get its calls. */
EXPORT void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off64_t offset)
{
	return map(next_mmap64, addr, len, prot, flags, fd, offset);
}

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
		next = preload_dlsym(RTLD_NEXT, "pthread_create");
	look(true);

	return next(thread, attr, function, arg);
}

/* After the library's constructors. */
__attribute__((__constructor__(103))) static void begin(void)
{
	int saved = errno;

	next_mprotect = preload_dlsym(RTLD_NEXT, "mprotect");
	next_mmap64 = preload_dlsym(RTLD_NEXT, "mmap64");
	next_mmap = preload_dlsym(RTLD_NEXT, "mmap");
	next_create = preload_dlsym(RTLD_NEXT, "pthread_create");
	look(true);
	errno = saved;
}
