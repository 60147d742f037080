/* SPDX-License-Identifier: MIT */
/*
 * For tests of libcodectl-preload: functions, sections that describe them, and a program that
 * starts once more with the library.
 */
#ifndef CODECTL_PRELOADED_H
#define CODECTL_PRELOADED_H

#include <libgen.h>
#include <limits.h>

#include "stand_in.h"
#include "test.h"

/* No two functions share a region. */
#define STEP	(2 * PAGE)
#define LEN	(4 * STEP)

static uint64_t text;
static char dir[PATH_MAX];
static struct stand_in_entry entry;

static inline void prepare(void)
{
	stand_in();
	text = test_text(LEN);
}

/* --- sections: one CIE, and functions of 64 bytes */

static uint8_t section[1024];
static size_t size;

static inline void put(const void *from, size_t len)
{
	CHECK(size + len <= sizeof(section));
	memcpy(section + size, from, len);
	size += len;
}

static inline void put_number(uint64_t value, size_t len)
{
	put(&value, len);
}

static inline void put_cie(uint32_t id)
{
	put_number(20, 4);
	put_number(id, 4);
	put("\1\0\1\x78\x10\x0c\7\x08\x90\1\0\0\0\0\0", 16);
}

static inline void put_fde(uint32_t cie, uint64_t start)
{
	put_number(28, 4);
	put_number(cie, 4);
	put_number(start, 8);
	put_number(64, 8);
	put("\x41\x0e\x10\0\0\0\0", 8);
}

/* How many of the functions have a region. */
static inline unsigned int nr_found(void)
{
	unsigned int i, nr = 0;

	for (i = 0; i < LEN / STEP; i++)
		nr += stand_in_find(text + i * STEP, &entry);

	return nr;
}

/* The one next to this program if that is installed for a guest. */
static inline const char *find_library(void)
{
	static char path[PATH_MAX + 64];

	CHECK(realpath("/proc/self/exe", dir));
	dirname(dir);
	snprintf(path, sizeof(path), "%s/libcodectl-preload.so", dir);

	return access(path, R_OK) ? PRELOAD : path;
}

/* Runs the tests in this program once it has the library. */
static inline int preloaded_main(const struct test *tests, size_t nr, char **argv)
{
	char name[] = "/tmp/preloaded.XXXXXX";
	const char *library = find_library();
	int ret;

	if (getenv("LD_PRELOAD")) {
		ret = test_main(tests, nr);
		unlink(getenv("LD_PRELOAD"));
		return ret;
	}
	/* It is recognised by its place, not by its name. */
	close(mkstemp(name));
	if (unlink(name) || symlink(library, name))
		return 1;
	setenv("LD_PRELOAD", name, 1);
	execv("/proc/self/exe", argv);

	return 1;
}

#endif /* CODECTL_PRELOADED_H */
