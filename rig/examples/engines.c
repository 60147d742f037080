// SPDX-License-Identifier: MIT
/*
 * Runs the code of adding-codectl-to-your-jit.md on memory without real code, and looks up what it
 * has published.
 */
#include "adding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define LEN	(1UL << 20)

#define CHECK(x)							\
	do {								\
		if (!(x)) {						\
			printf("%s:%d: %s\n", __func__, __LINE__, #x);	\
			exit(1);					\
		}							\
	} while (0)

static char *text;

static uint64_t at(size_t off)
{
	return (uintptr_t)text + off;
}

/* The CFA offset of the rule for an address, or the error of the lookup. */
static int cfa(uint64_t ip)
{
	struct codectl_rule rule;
	int ret = codectl_lookup(ip, &rule);

	return ret ? ret : rule.cfa_off;
}

static void uniform(const struct code_jit_unwind_fre *rule)
{
	struct codectl_region_stat stat;
	struct codectl_region *region;
	struct codectl_rule found;

	CHECK(!uniform_open(text, LEN, rule, &region));
	CHECK(!codectl_lookup(at(4711), &found));
	CHECK(found.cfa_off == rule->cfa_off && found.info == rule->info);
	CHECK(found.flags == (CODECTL_RULE_DEFAULT | CODECTL_RULE_CALLSITE));

	CHECK(!uniform_name(region, at(64), 32, "named"));
	codectl_region_stat(region, &stat);
	CHECK(stat.names == 1);
	CHECK(cfa(at(64)) == rule->cfa_off);
	codectl_region_close(region);
}

static void bump(void)
{
	static const uint32_t rets[] = { 40 };
	struct codectl_shape shape = {
		.len = 41, .frame = 56, .prologue = 4, .nr_rets = 1,
		.rets = rets,
	};
	struct codectl_region *region;
	uint64_t entry = 0;
	unsigned int i;

	CHECK(!codectl_region_open(text, LEN, NULL, &region));
	for (i = 0; i < 1000; i++)
		CHECK(!bump_install(region, at(64 * i), &shape, "f", &entry));
	CHECK(entry == at(64 * 999));
	for (i = 0; i < 1000; i++) {
		CHECK(cfa(at(64 * i + 3)) == 8);
		CHECK(cfa(at(64 * i + 4)) == 64);
		CHECK(cfa(at(64 * i + 40)) == 8);
		CHECK(cfa(at(64 * i + 41)) == -ENODATA);
	}
	/* Only after the last one. */
	CHECK(bump_publish(region, at(0), &shape, "f") < 0);
	codectl_region_close(region);
}

static void descending(void)
{
	struct codectl_region *region;
	unsigned int i, flush;

	for (flush = 0; flush < 3; flush++) {
		const int adjust = 16 * flush;

		CHECK(!area_open(text, LEN, &region));
		for (i = 1; i <= 1000; i++)
			CHECK(!trace_publish(region, at(LEN - 128 * i), 100, 4,
					     i % 2 ? 0 : 32, adjust));
		for (i = 1; i <= 1000; i++) {
			CHECK(cfa(at(LEN - 128 * i)) == 96 + (i % 2 ? 0 : 32));
			CHECK(cfa(at(LEN - 128 * i + 4)) == 96 + adjust);
		}
		area_free(region);
		CHECK(cfa(at(LEN - 128)) == -ENOENT);
	}
}

static void free_list(void)
{
	struct codectl_region_stat stat;
	struct code_jit_unwind_fre rows[8];
	struct codectl_region *region;
	unsigned int i;
	int nr;

	CHECK(!heap_open(text, LEN, &region));
	nr = rows_of_function(rows, 8, 32, 50);
	CHECK(nr == 5);
	for (i = 0; i < 1000; i++)
		CHECK(!codectl_region_add(region, at(64 * i), 59, rows, nr,
					  "old"));
	for (i = 0; i < 1000; i += 2)
		CHECK(!heap_free(region, at(64 * i), 59));
	nr = rows_of_function(rows, 8, 48, 50);
	for (i = 0; i < 100; i += 2)
		CHECK(!codectl_region_add(region, at(64 * i), 59, rows, nr,
					  "new"));
	CHECK(cfa(at(64 * 98 + 8)) == 64 && cfa(at(64 * 99 + 8)) == 48);
	CHECK(cfa(at(64 * 100 + 8)) == -ENODATA);

	for (i = 101; i < 1000; i += 2)
		CHECK(!heap_free(region, at(64 * i), 59));
	codectl_region_stat(region, &stat);
	CHECK(stat.rows == 100 * 5);
	CHECK(cfa(at(64 * 98 + 8)) == 64 && cfa(at(64 * 99 + 8)) == 48);
	codectl_region_close(region);
}

static void one_big_region(void)
{
	static const struct code_jit_unwind_fre row = {
		.size = 100, .cfa_off = 24, .ra_off = -8,
		.info = CODE_FRE_BASE_SP,
	};
	struct arena arena;
	char *object;

	CHECK(!arena_open(&arena, 1UL << 30));
	object = arena_commit(&arena, 512UL << 20, 4096);
	CHECK(object);
	object[0] = 0;
	CHECK(!codectl_region_add(arena.region, (uintptr_t)object, 100, &row, 1,
				  "object"));
	/* Objects may also be at descending addresses. */
	object = arena_commit(&arena, 4096, 4096);
	CHECK(object);
	CHECK(!codectl_region_add(arena.region, (uintptr_t)object, 100, &row, 1,
				  "below"));
	CHECK(cfa((uintptr_t)object + 99) == 24);
	CHECK(!heap_free(arena.region, (uintptr_t)object, 100));
	CHECK(!arena_release(&arena, 4096, 4096));
	CHECK(cfa((uintptr_t)object) == -ENODATA);
	CHECK(cfa((uintptr_t)arena.text + (512UL << 20)) == 24);
	codectl_region_close(arena.region);
	munmap(arena.text, arena.len);
}

/**
 * struct eh_frame - .eh_frame as LLVM makes it for an object with one function
 */
struct eh_frame {
	uint32_t cie_len, cie_id;
	uint8_t cie[12];
	uint32_t fde_len, fde_cie;
	uint64_t start, size;
	uint8_t fde[4];
} __attribute__((__packed__));

static void objects_with_eh_frame(void)
{
	/* CFA = SP + 8, and from the fourth byte on SP + 32. */
	struct eh_frame eh = {
		16, 0, { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 },
		24, 24, at(0), 100, { 0x44, 0x0e, 32 },
	};
	struct codectl_eh_frame *object;

	CHECK(!object_loaded(&eh, sizeof(eh), &object));
	CHECK(cfa(at(3)) == 8);
	CHECK(cfa(at(99)) == 32);
	object_freed(object);
	CHECK(cfa(at(3)) == -ENOENT);
}

/* Works whether or not names can be traced here. */
static void names(void)
{
	runtime_start();
	runtime_entered();
	CHECK(!codectl_names_event(0));
	CHECK(!(*codectl_names_word() & CODECTL_NAMES_POLL));
}

int main(void)
{
	text = mmap(NULL, LEN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(text != MAP_FAILED);

	uniform(&fp_rule);
	uniform(&tcg_rule);
	uniform(&interpreter_frame);
	bump();
	descending();
	free_list();
	one_big_region();
	objects_with_eh_frame();
	names();

	return 0;
}
