// SPDX-License-Identifier: MIT
/* Interposes one, but not the other. */
#include <dlfcn.h>
#include <stddef.h>
#include <sys/mman.h>

int fake_mapped;

void *mmap64(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	__typeof__(mmap) *next = dlsym(RTLD_NEXT, "mmap");

	fake_mapped++;

	return next(addr, len, prot, flags, fd, offset);
}
