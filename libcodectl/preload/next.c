// SPDX-License-Identifier: MIT
/*
 * The function that a call reaches that we have interposed.
 *
 * The dynamic linker looks into the program, what it needs and what was opened with
 * RTLD_GLOBAL, and then into the caller's own object and what that needs.  What is
 * found in the first of these at the start stays, and is found without the dynamic
 * linker's lock, which may be held by another thread that waits for this one.  The
 * caller is not always known, as the call may have been a jump: then it is any object.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "preload.h"

/* The extent of this library, whatever it is called. */
extern const char __ehdr_start[] __attribute__((__visibility__("hidden")));
extern const char _end[] __attribute__((__visibility__("hidden")));

/*
 * The function that this thread's call was passed to, which may jump to another one of
 * ours.
 */
static __thread const void *handed_to;

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define MAX_OBJECTS	1024

/* Interposed by register_frame.c; and what they mean from the start on. */
static struct start {
	const char *name;
	struct preload_next next;
} at_start[] = {
	{ .name = "__register_frame" },
	{ .name = "__deregister_frame" },
	{ .name = "__register_frame_info" },
	{ .name = "__deregister_frame_info" },
	{ .name = "__register_frame_info_bases" },
	{ .name = "__deregister_frame_info_bases" },
	{ .name = "__register_frame_table" },
	{ .name = "__register_frame_info_table" },
	{ .name = "__register_frame_info_table_bases" },
};

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

/* Closes @object, which may be NULL. */
static void *find_in(void *object, const char *name)
{
	void *found = object ? preload_dlsym(object, name) : NULL;

	if (object)
		dlclose(object);

	return found;
}

/**
 * struct paths - paths of the objects of the process
 * @path: each of them, for free()
 * @nr: number of paths
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
	if (*object->dlpi_name && object->dlpi_addr != (uintptr_t)__ehdr_start)
		paths->path[paths->nr++] = strdup(object->dlpi_name);

	return 0;
}

/* Opens objects after releasing the lock under which they are listed. */
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

/* Finds out as its callers do. */
static bool takes_entries(const void *function)
{
	static const char name[] = "__unw_add_dynamic_fde";
	void *object = open_object(function);

	return object ? find_in(object, name) : preload_dlsym(RTLD_DEFAULT, name);
}

struct preload_next preload_next(const char *name, const void *caller)
{
	struct preload_next next = { NULL, false };
	int saved = errno;
	size_t i;

	if ((const char *)caller >= __ehdr_start && (const char *)caller < _end)
		caller = handed_to;
	for (i = 0; i < ARRAY_SIZE(at_start); i++) {
		if (at_start[i].next.function && !strcmp(at_start[i].name, name))
			return at_start[i].next;
	}
	next.function = preload_dlsym(RTLD_NEXT, name);
	if (!next.function)
		next.function = find_in(open_object(caller), name);
	if (!next.function)
		next.function = find_anywhere(name);
	if (next.function)
		next.takes_entries = takes_entries(next.function);
	handed_to = next.function;
	/* What was not found is no error of the program. */
	dlerror();
	errno = saved;

	return next;
}

__attribute__((__constructor__(102))) static void begin(void)
{
	int saved = errno;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(at_start); i++) {
		struct preload_next *next = &at_start[i].next;
		void *function = preload_dlsym(RTLD_NEXT, at_start[i].name);

		/* Unwinders have the first one; a search that fails takes long. */
		if (!function && !i)
			break;
		if (!function)
			continue;
		next->takes_entries = takes_entries(function);
		next->function = function;
	}
	dlerror();
	errno = saved;
}
