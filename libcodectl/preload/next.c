// SPDX-License-Identifier: MIT
/*
 * Whom a call reaches that we have taken over.
 *
 * The dynamic linker looks into the program, what it needs and what was opened with
 * RTLD_GLOBAL, and then into the caller's own object and what that needs.  Who that
 * was cannot always be told, as the call may have been a jump: then it is any object.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "preload.h"

#define MAX_OBJECTS	1024

/* For dlclose(); NULL: none, as for the program itself. */
static void *open_object(const void *addr)
{
	struct link_map *map;
	Dl_info info;

	if (!dladdr1(addr, &info, (void **)&map, RTLD_DL_LINKMAP) || !map ||
	    !*map->l_name)
		return NULL;

	return dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
}

/* Closes it, which may be NULL. */
static void *find_in(void *object, const char *name)
{
	void *found = object ? dlsym(object, name) : NULL;

	if (object)
		dlclose(object);

	return found;
}

/**
 * struct paths - of the objects of the process
 * @path: each of them, for free()
 * @nr: how many
 */
struct paths {
	char *path[MAX_OBJECTS];
	unsigned int nr;
};

static int add_path(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct paths *paths = arg;

	(void)size;
	if (paths->nr == MAX_OBJECTS)
		return 1;
	if (*object->dlpi_name && !strstr(object->dlpi_name, "libcodectl-preload"))
		paths->path[paths->nr++] = strdup(object->dlpi_name);

	return 0;
}

/* Objects are opened after the lock is given back under which they are told. */
static void *find_anywhere(const char *name)
{
	struct paths paths = { .nr = 0 };
	void *found = NULL, *object;
	unsigned int i;

	dl_iterate_phdr(add_path, &paths);
	for (i = 0; i < paths.nr; i++) {
		object = paths.path[i] && !found ?
			 dlopen(paths.path[i], RTLD_LAZY | RTLD_NOLOAD) : NULL;
		found = found ?: find_in(object, name);
		free(paths.path[i]);
	}

	return found;
}

void *preload_next(const char *name, const void *caller)
{
	int saved = errno;
	void *next = dlsym(RTLD_NEXT, name);

	if (!next)
		next = find_in(open_object(caller), name);
	if (!next)
		next = find_anywhere(name);
	/* What was not found is no error of the program's. */
	dlerror();
	errno = saved;

	return next;
}

bool preload_has(const void *function, const char *name)
{
	int saved = errno;
	void *object = open_object(function), *found;

	found = object ? find_in(object, name) : dlsym(RTLD_DEFAULT, name);
	dlerror();
	errno = saved;

	return found;
}
