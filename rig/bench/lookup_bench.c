// SPDX-License-Identifier: GPL-2.0
/*
 * The cost per frame of finding its registration and rule, as the numbers of registrations, rows
 * and tables grow: the additional cost of a frame by tables compared with frame pointers.  The
 * frames are as far apart as possible.
 */
#include "bench.h"
#include "chain.h"
#include "walks.h"
#include "granule_map.h"
#include "jit_code.h"

#define FEW	8
#define MANY	64

/* Text in slots of one rule each, most of which are never touched. */
struct text {
	uint8_t *at;
	size_t slot;
	size_t slots;
};

static const jit_row rule = {
	.cfa_off = 16, .ra_off = -8, .fp_off = -16, .info = CODE_FRE_FP_SAVED,
};

static uint8_t *base, *first;

static void *reserve(size_t size, int prot)
{
	void *at = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS |
			MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

static struct text reserve_text(size_t slots, size_t slot)
{
	return (struct text) {
		reserve(slots * slot, PROT_READ | PROT_WRITE | PROT_EXEC),
		slot, slots,
	};
}

/* The outermost frame is the same for all. */
static void make_base(void)
{
	base = reserve(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(base, chain_base_code, chain_base_end - chain_base_code);
	if (register_jit_text(addr_of(base), addr_of(base) + PAGE))
		die("base");
}

/* Consecutive frames are far apart. */
static uint8_t *place_of(const struct text *t, size_t used, unsigned int frame)
{
	size_t part = frame * 37 % MANY;
	size_t slot = (2 * part + 1) * used / (2 * MANY);

	return t->at + slot * t->slot + frame * 32 % t->slot;
}

/* A stack of @frames functions, in the first @used slots. */
static void write_stack(const struct text *t, size_t used, unsigned int frames)
{
	first = place_of(t, used, 0);
	for (unsigned int i = 0; i + 1 < frames; i++)
		jit_write(place_of(t, used, i), &jit_fp,
			  place_of(t, used, i + 1));
	memcpy(place_of(t, used, frames - 1), chain_last_code,
	       chain_last_end - chain_last_code);
}

static void run_stack(void *unused)
{
	void (*call)(void *, void *) = (void *)base;

	call(first, NULL);
}

static double frame_cost(const struct text *t, size_t used, enum walk_kind kind)
{
	double few, many;

	write_stack(t, used, FEW);
	few = walk_cost(run_stack, NULL, FEW + 1, kind, NULL);
	write_stack(t, used, MANY);
	many = walk_cost(run_stack, NULL, MANY + 1, kind, NULL);
	return (many - few) / (MANY - FEW);
}

/* The same stack by frame pointers. */
static double frame_cost_without(const struct text *t, size_t used)
{
	double cost;

	if (sysctl_write("kernel/codectl", 0))
		die("sysctl");
	cost = frame_cost(t, used, WALK_WARM);
	sysctl_write("kernel/codectl", 1);
	return cost;
}

static void lookup_results(const char *group, const struct text *t, size_t used,
			   size_t x)
{
	double without = frame_cost_without(t, used);

	result(group, "cold", x, frame_cost(t, used, WALK_FIRST) - without,
	       "insns");
	result(group, "warm", x, frame_cost(t, used, WALK_WARM) - without,
	       "insns");
}

static int registrations(void)
{
	FILE *f = fopen("/proc/self/codectl", "r");
	char line[4096];
	int nr = 0;

	while (f && fgets(line, sizeof(line), f))
		nr++;
	if (!f)
		die("/proc/self/codectl");
	fclose(f);
	return nr;
}

/* All have the same table, of one row. */
static void grow_registrations(void)
{
	static const int numbers[] = { 10, 100, 1000, 10000, 65530 };
	struct text t = reserve_text(65530, PAGE);
	jit_table *table = jit_table_init(map_pages(1, PROT_READ | PROT_WRITE),
					  PAGE);
	int others = registrations(), nr = 0;
	jit_row row = rule;

	row.size = t.slot;
	jit_table_append(table, &row, 1);
	/* One more, which is added and removed. */
	if (sysctl_write("kernel/codectl_max_regions", 65531))
		die("sysctl");
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		for (; nr + others < numbers[i]; nr++) {
			uint64_t at = addr_of(t.at) + nr * t.slot;
			const struct code_jit_info info = {
				.text_start = at,
				.text_end = at + t.slot,
				.unwind_head = addr_of(table),
			};

			if (register_jit(&info))
				die("registration");
		}
		lookup_results("lookup-registrations", &t, nr, numbers[i]);
	}
	munmap(t.at, t.slots * t.slot);
	sysctl_write("kernel/codectl_max_regions", 65530);
}

static void add_rows(jit_table *table, const struct text *t, size_t from,
		     size_t to)
{
	jit_row row = rule;

	row.size = t->slot;
	for (size_t i = from; i < to; i++) {
		row.ip_off = i * t->slot;
		if (jit_table_append(table, &row, 1))
			die("row");
	}
}

static void register_slots(const struct text *t, const jit_table *table)
{
	const struct code_jit_info info = {
		.text_start = addr_of(t->at),
		.text_end = addr_of(t->at) + t->slots * t->slot,
		.unwind_head = addr_of(table),
	};

	if (register_jit(&info))
		die("region");
}

static void grow_rows(void)
{
	const size_t most = 10000000;
	struct text t = reserve_text(most, 64);
	size_t room = sizeof(jit_table) + most * sizeof(jit_row);
	jit_table *table = jit_table_init(reserve(room, PROT_READ | PROT_WRITE),
					  room);

	register_slots(&t, table);
	for (size_t rows = 1000, had = 0; rows <= most; rows *= 10) {
		add_rows(table, &t, had, rows);
		had = rows;
		lookup_results("lookup-rows", &t, rows, rows);
	}
	munmap(t.at, t.slots * t.slot);
	munmap(table, room);
}

/* Functions of one row in a granule map, each in a granule of its own. */
static void grow_granules(void)
{
	const size_t most = 1000000, text = most * 64;
	struct text t = reserve_text(most, 64);
	size_t room = most * (sizeof(uint32_t) + sizeof(jit_record) +
			      sizeof(jit_row)) + PAGE;
	struct granule_map map = granule_map_init(reserve(room, PROT_READ | PROT_WRITE),
						  room, text, 6);
	const struct code_jit_info info = {
		.text_start = addr_of(t.at),
		.text_end = addr_of(t.at) + text,
		.jit_flags = CODE_JIT_GRANULES,
		.slots = addr_of(map.slots),
		.pool = addr_of(map.pool),
		.pool_len = map.room,
		.granule_shift = map.shift,
	};
	jit_row row = rule;

	if (register_jit(&info))
		die("region");
	row.size = t.slot;
	for (size_t nr = 1000, had = 0; nr <= most; nr *= 10) {
		for (; had < nr; had++) {
			row.ip_off = had * t.slot;
			if (!granule_map_add(&map, row.ip_off, t.slot, &row, 1))
				die("record");
		}
		lookup_results("lookup-granules", &t, nr, nr);
	}
	munmap(t.at, t.slots * t.slot);
	munmap(map.slots, room);
}

/* The same rows in one table or in several. */
static void split_rows(void)
{
	const size_t rows = 65536;
	struct text t = reserve_text(rows, 64);
	size_t room = sizeof(jit_table) + rows * sizeof(jit_row);
	uint8_t *mem = reserve(CODE_JIT_MAX_TABLES * room,
			       PROT_READ | PROT_WRITE);

	for (int nr = 1; nr <= CODE_JIT_MAX_TABLES; nr *= 2) {
		jit_table *last = NULL;

		for (int i = 0; i < nr; i++) {
			jit_table *next = jit_table_init(mem + i * room, room);

			add_rows(next, &t, rows / nr * i, rows / nr * (i + 1));
			if (last)
				jit_table_link(last, next);
			last = next;
		}
		register_slots(&t, (void *)mem);
		lookup_results("lookup-tables", &t, rows, nr);
		if (unregister_text(addr_of(t.at),
				    addr_of(t.at) + t.slots * t.slot))
			die("region");
	}
}

int main(void)
{
	walks_open("unwind_user");
	make_base();
	grow_registrations();
	grow_rows();
	grow_granules();
	split_rows();
	return 0;
}
