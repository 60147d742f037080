// SPDX-License-Identifier: MIT
/*
 * Writers with a region each, concurrently with each other and with lookups.
 */
#include <pthread.h>
#include <link.h>

#include "test.h"

#define FUNC_LEN	16
#define NR_FUNCS	2000
#define NR_ROUNDS	20
#define NR_WRITERS	2

static struct codectl_region *regions[NR_WRITERS];
static uint64_t texts[NR_WRITERS];
static int stop;

static const struct codectl_region_attr attrs[NR_WRITERS] = {
	{ .flags = CODECTL_REGION_REWRITE, .table_rows = 500 },
	{ .flags = CODECTL_REGION_REWRITE,
	  .jit_flags = CODE_JIT_DESCENDING, .max_rows = NR_FUNCS },
};

static uint64_t func_addr(unsigned int writer, uint32_t i)
{
	return texts[writer] + i * FUNC_LEN;
}

static void check_round(unsigned int writer, uint32_t odd)
{
	uint32_t i;

	for (i = 0; i < NR_FUNCS; i++)
		CHECK_EQ(test_id(func_addr(writer, i)),
			 i % 3 == odd ? -ENODATA : (int)i);
}

static void add_third(unsigned int writer, uint32_t third)
{
	uint32_t i, k;

	for (k = 0; k < NR_FUNCS; k++) {
		i = attrs[writer].jit_flags ? NR_FUNCS - 1 - k : k;
		if (i % 3 == third)
			CHECK_EQ(test_add(regions[writer], func_addr(writer, i),
					  FUNC_LEN, i, "name"), 0);
	}
}

static void *write_rounds(void *arg)
{
	unsigned int writer = (uintptr_t)arg;
	uint32_t round, i;

	for (i = 0; i < 3; i++)
		add_third(writer, i);
	for (round = 0; round < NR_ROUNDS; round++) {
		for (i = round % 3; i < NR_FUNCS; i += 3)
			CHECK_EQ(codectl_region_retire(regions[writer],
						       func_addr(writer, i),
						       FUNC_LEN), 1);
		check_round(writer, round % 3);
		if (round % 4 == 3)
			CHECK_EQ(codectl_region_compact(regions[writer]), 0);
		check_round(writer, round % 3);
		add_third(writer, round % 3);
		check_round(writer, 3);
	}

	return NULL;
}

static void *look_up(void *arg)
{
	unsigned int writer = 0;
	uint32_t i = 0;
	int id;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		id = test_id(func_addr(writer, i) + 3);
		CHECK(id == (int)i || id == -ENODATA || id == -EAGAIN);
		i = (i + 7) % NR_FUNCS;
		writer = (writer + 1) % NR_WRITERS;
	}

	return arg;
}

static void *toggle_names(void *arg)
{
	char path[64];

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK_EQ(codectl_perf_map(1), 0);
		CHECK_EQ(codectl_perf_map(0), 0);
		usleep(2000);
	}
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);

	return arg;
}

static void beside_each_other(void)
{
	pthread_t writers[NR_WRITERS], reader, names;
	unsigned int i;

	for (i = 0; i < NR_WRITERS; i++)
		regions[i] = test_open(NR_FUNCS * FUNC_LEN, &attrs[i],
				       &texts[i]);
	CHECK_EQ(pthread_create(&reader, NULL, look_up, NULL), 0);
	CHECK_EQ(pthread_create(&names, NULL, toggle_names, NULL), 0);
	for (i = 0; i < NR_WRITERS; i++)
		CHECK_EQ(pthread_create(&writers[i], NULL, write_rounds,
					(void *)(uintptr_t)i), 0);
	for (i = 0; i < NR_WRITERS; i++)
		CHECK_EQ(pthread_join(writers[i], NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	CHECK_EQ(pthread_join(reader, NULL), 0);
	CHECK_EQ(pthread_join(names, NULL), 0);
}

/* Makes the library's variables read-only. */
static int protect_variables(struct dl_phdr_info *info, size_t size, void *arg)
{
	const Elf64_Phdr *ph = info->dlpi_phdr;
	int *found = arg, i;

	(void)size;
	if (!strstr(info->dlpi_name, "libcodectl"))
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++, ph++) {
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;
		uintptr_t end = start + ph->p_memsz;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_W))
			continue;
		start &= -PAGE;
		end = (end + PAGE - 1) & -PAGE;
		CHECK_EQ(mprotect((void *)start, end - start, PROT_READ), 0);
		(*found)++;
	}

	return 0;
}

/* The mapping that begins with the region. */
static void protect_region(const struct codectl_region *region)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	char line[512];

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 &&
		    start <= (uintptr_t)region && (uintptr_t)region < end) {
			fclose(maps);
			CHECK_EQ(mprotect((void *)region, end - start,
					  PROT_READ), 0);
			return;
		}
	}
	CHECK(false);
}

/*
 * Publishing writes only to the pages of its own region: neither to those of another,
 * nor to variables of the library.
 */
static void __attribute__((__unused__)) no_shared_writes(void)
{
	struct codectl_region_attr attr = { .table_rows = 100 };
	int found = 0;
	uint32_t i;

	regions[0] = test_open(NR_FUNCS * FUNC_LEN, &attr, &texts[0]);
	/* Adjacent mappings of the same kind would be merged. */
	test_text(PAGE);
	regions[1] = test_open(NR_FUNCS * FUNC_LEN, &attr, &texts[1]);
	CHECK_EQ(test_add(regions[0], func_addr(0, 0), FUNC_LEN, 0, "n"), 0);
	CHECK_EQ(test_add(regions[1], func_addr(1, 0), FUNC_LEN, 0, "n"), 0);
	CHECK_EQ(codectl_region_retire(regions[0], func_addr(0, 0), FUNC_LEN),
		 1);
	dl_iterate_phdr(protect_variables, &found);
	if (!found)
		test_skip("the library is linked statically");
	protect_region(regions[0]);
	for (i = 1; i < NR_FUNCS; i++)
		CHECK_EQ(test_add(regions[1], func_addr(1, i), FUNC_LEN, i,
				  "name"), 0);
	CHECK_EQ(codectl_region_retire(regions[1], func_addr(1, 0), FUNC_LEN),
		 1);
}

static const struct test tests[] = {
	TEST(beside_each_other),
#ifndef LIBRARY_COUNTS
	/* Branch counts are variables that all publishers write to. */
	TEST(no_shared_writes),
#endif
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}
