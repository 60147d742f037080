// SPDX-License-Identifier: MIT
/*
 * libcodectl-preload, in a program that does not know it: what it registers with its
 * unwinder is registered with the kernel, and gets where it did before.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "preloaded.h"

static void make_section(unsigned int nr)
{
	unsigned int i;

	size = 0;
	put_cie(0);
	for (i = 0; i < nr; i++)
		put_fde(size + 4, text + i * STEP);
	put_number(0, 4);
}

static void *open_here(const char *name)
{
	char path[PATH_MAX + 64];
	void *library;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		printf("# %s\n", dlerror());
	CHECK(library);

	return library;
}

/* --- GCC's unwinder */

struct bases {
	void *tbase, *dbase, *func;
};

static const void *(*find_fde)(void *pc, struct bases *bases);

static void *gcc(const char *name)
{
	static void *library;
	void *found;

	if (!library)
		library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL);
	CHECK(library);
	find_fde = dlsym(library, "_Unwind_Find_FDE");
	/* What a program that is linked with it calls. */
	found = dlsym(RTLD_DEFAULT, name);
	CHECK(found && found != dlsym(library, name));

	return found;
}

static bool unwinder_knows(unsigned int nr)
{
	struct bases bases;

	return find_fde((void *)(text + nr * STEP + 8), &bases);
}

/* If there is no unwinder, nobody is called, whatever the name of the library. */
static void nobody_to_tell(void)
{
	void (*add)(void *begin) = dlsym(RTLD_DEFAULT, "__register_frame");
	void (*take)(void *begin) = dlsym(RTLD_DEFAULT, "__deregister_frame");

	prepare();
	make_section(1);
	add(section);
	CHECK_EQ(nr_found(), 1);
	take(section);
	CHECK_EQ(nr_found(), 0);
}

static void sections(void)
{
	void (*add)(void *begin) = gcc("__register_frame");
	void (*take)(void *begin) = gcc("__deregister_frame");

	prepare();
	make_section(2);
	add(section);
	CHECK(unwinder_knows(1) && !unwinder_knows(2));
	CHECK_EQ(nr_found(), 2);
	take(section);
	CHECK(!unwinder_knows(1));
	CHECK_EQ(nr_found(), 0);
	/* Empty, with the end at once. */
	size = 0;
	put_number(0, 4);
	add(section);
	take(section);
	CHECK_EQ(nr_found(), 0);
}

static void sections_with_an_object(void)
{
	void (*add)(const void *begin, void *object) = gcc("__register_frame_info");
	void *(*take)(const void *begin) = gcc("__deregister_frame_info");
	void (*add_bases)(const void *begin, void *object, void *tbase, void *dbase) =
		gcc("__register_frame_info_bases");
	void *(*take_bases)(const void *begin) = gcc("__deregister_frame_info_bases");
	static uint64_t object[8];

	prepare();
	make_section(1);
	add(section, object);
	CHECK(unwinder_knows(0));
	CHECK_EQ(nr_found(), 1);
	CHECK(take(section) == object);
	CHECK_EQ(nr_found(), 0);
	add_bases(section, object, NULL, NULL);
	CHECK(unwinder_knows(0));
	CHECK_EQ(nr_found(), 1);
	CHECK(take_bases(section) == object);
	CHECK(!unwinder_knows(0));
	CHECK_EQ(nr_found(), 0);
}

/* Each section is found by the table. */
static void tables(void)
{
	void (*add)(void *begin) = gcc("__register_frame_table");
	void (*add_info)(void *begin, void *object) = gcc("__register_frame_info_table");
	void *(*take)(const void *begin) = gcc("__deregister_frame_info");
	void (*take_all)(void *begin) = gcc("__deregister_frame");
	static uint8_t first[sizeof(section)];
	static uint64_t object[8];
	void *table[3] = { first, section, NULL };

	prepare();
	make_section(1);
	memcpy(first, section, size);
	text += STEP;
	make_section(1);
	text -= STEP;
	add(table);
	CHECK(unwinder_knows(0) && unwinder_knows(1));
	CHECK_EQ(nr_found(), 2);
	take_all(table);
	CHECK_EQ(nr_found(), 0);
	add_info(table, object);
	CHECK_EQ(nr_found(), 2);
	CHECK(take(table) == object);
	CHECK_EQ(nr_found(), 0);
}

static void many_at_a_time(void)
{
	void (*add)(void *begin) = gcc("__register_frame");
	void (*take)(void *begin) = gcc("__deregister_frame");
	static uint8_t each[10][128];
	uint64_t start;
	unsigned int i;

	prepare();
	start = test_text(10 * PAGE);
	for (i = 0; i < 10; i++) {
		text = start + i * PAGE;
		make_section(1);
		memcpy(each[i], section, size);
		add(each[i]);
		CHECK(stand_in_find(text, &entry));
	}
	for (i = 0; i < 10; i++) {
		take(each[i * 7 % 10]);
		CHECK(!stand_in_find(start + i * 7 % 10 * PAGE, &entry));
	}
}

/* The memory was freed, and the section with it, but nobody was told. */
static void sections_that_are_replaced(void)
{
	void (*add)(void *begin) = gcc("__register_frame");
	void (*take)(void *begin) = gcc("__deregister_frame");

	prepare();
	make_section(1);
	add(section);
	text += STEP;
	make_section(1);
	add(section);
	CHECK(stand_in_find(text, &entry));
	text -= STEP;
	CHECK(!stand_in_find(text, &entry));
	take(section);
	CHECK_EQ(nr_found(), 0);
}

/* An unwinder may never look at them: that of the plugin does not. */
static void sections_that_are_not_there(void)
{
	void *plugin = open_here("fake_plugin.so");
	void (*add)(void *begin) = dlsym(plugin, "plugin_register");
	void (*take)(void *begin) = dlsym(plugin, "plugin_deregister");
	uint8_t *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *end = page + PAGE, *at;
	unsigned int i;

	prepare();
	CHECK(page != MAP_FAILED && !mprotect(end, PAGE, PROT_NONE));
	make_section(2);
	/* It continues where nothing is mapped; its end counts, too. */
	for (i = 1; i < size; i++) {
		at = memcpy(end - i, section, i);
		add(at);
		CHECK_EQ(nr_found(), 0);
		take(at);
	}
	/* The CIE is nowhere. */
	size = 0;
	put_fde(1 << 30, text);
	put_number(0, 4);
	add(section);
	CHECK_EQ(nr_found(), 0);
	take(section);
	add(end);
	take(end);
}

/* A child has them, and withdraws them by itself. */
static void forks(void)
{
	void (*add)(void *begin) = gcc("__register_frame");
	void (*take)(void *begin) = gcc("__deregister_frame");
	pid_t pid;

	prepare();
	make_section(2);
	add(section);
	pid = fork();
	if (!pid) {
		take(section);
		CHECK(!unwinder_knows(0));
		_exit(0);
	}
	test_wait(pid);
	CHECK(unwinder_knows(0));
	take(section);
}

static void *add_and_take(void *arg)
{
	void (*add)(void *begin) = gcc("__register_frame");
	void (*take)(void *begin) = gcc("__deregister_frame");
	uint8_t own[128];
	int i;

	memcpy(own, arg, sizeof(own));
	for (i = 0; i < 200; i++) {
		add(own);
		take(own);
	}

	return NULL;
}

static void threads(void)
{
	static uint8_t each[4][128];
	pthread_t thread[4];
	uint64_t start;
	int i;

	prepare();
	start = text;
	gcc("__register_frame");
	for (i = 0; i < 4; i++) {
		text = start + i * STEP;
		make_section(1);
		memcpy(each[i], section, size);
		CHECK_EQ(pthread_create(&thread[i], NULL, add_and_take, each[i]), 0);
	}
	for (i = 0; i < 4; i++)
		CHECK_EQ(pthread_join(thread[i], NULL), 0);
	text = start;
	CHECK_EQ(nr_found(), 0);
}

/* --- LLVM's unwinder, needed by a plugin only */

static void entries_of_a_plugin(void)
{
	void *plugin = open_here("fake_plugin.so"), *unwind = open_here("fake_unwind.so");
	void (*add)(void *begin) = dlsym(plugin, "plugin_register");
	void (*take)(void *begin) = dlsym(plugin, "plugin_deregister");
	const void **registered = dlsym(unwind, "fake_registered");
	size_t *nr = dlsym(unwind, "fake_nr");
	uint8_t *second = section + 24 + 32;

	prepare();
	CHECK(add && take && registered && nr);
	make_section(3);
	errno = 77;
	add(second);
	CHECK_EQ(errno, 77);
	CHECK_EQ(*nr, 1);
	CHECK(registered[0] == second);
	/* That one alone. */
	CHECK_EQ(nr_found(), 1);
	CHECK(stand_in_find(text + STEP, &entry));
	take(second);
	CHECK_EQ(errno, 77);
	CHECK_EQ(*nr, 0);
	CHECK_EQ(nr_found(), 0);
	/* A CIE is a section to both. */
	add(section);
	CHECK_EQ(*nr, 1);
	CHECK_EQ(nr_found(), 3);
	take(section);
	CHECK_EQ(nr_found(), 0);
}

static const struct test tests[] = {
	TEST(nobody_to_tell),
	TEST(sections),
	TEST(sections_with_an_object),
	TEST(tables),
	TEST(many_at_a_time),
	TEST(forks),
	TEST(threads),
	TEST(sections_that_are_replaced),
	TEST(sections_that_are_not_there),
	TEST(entries_of_a_plugin),
};

int main(int argc, char **argv)
{
	(void)argc;

	return preloaded_main(tests, ARRAY_SIZE(tests), argv);
}
