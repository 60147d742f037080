// SPDX-License-Identifier: GPL-2.0
/*
 * Times the SFrame decoder of the kernel on this machine, with warm tables and with tables that
 * were flushed from the caches, compared with libsframe and with a bisection that branches,
 * followed by the same decoder.  Alternatives are measured in turn; figures are medians.  For
 * scripts/bench/bench.sh.
 */
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "random.h"
#include "section.h"
#include "sframe.h"
#include "sframe_lib.h"

#define ADDRESSES	4000
#define FLUSHED		400
/* Number of lookups, each time in a different order, which branch prediction cannot learn. */
#define ROUNDS		41
#define LINE		64

/* A table of a large program. */
#define MADE_FDES	60000
#define MADE_FRES	7
#define MADE_FRE_LEN	4
#define MADE_FDE_LEN	(SFRAME_FDE_ATTR_SIZE + MADE_FRES * MADE_FRE_LEN)

enum finder { KERNEL, BRANCHING, LIBSFRAME, NR_WHO };

static const char * const names[NR_WHO] = { "kernel", "branching", "libsframe" };

struct table {
	const char *name;
	char *mem;	/* of a table that is made */
	char *data;
	size_t size;
	struct sframe_section sec;
	struct lib_section *lib;
	s64 pc[ADDRESSES];
};

static double ns_of_tick;

static u64 now(void)
{
	unsigned int cpu;
	u64 ticks;

	_mm_lfence();
	ticks = __builtin_ia32_rdtscp(&cpu);
	_mm_lfence();

	return ticks;
}

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);

	return ts.tv_sec + ts.tv_nsec / 1e9;
}

static void measure_tick(void)
{
	double from = seconds();
	u64 start = now();

	while (seconds() < from + 0.05)
		;
	ns_of_tick = (seconds() - from) * 1e9 / (now() - start);
}

static u64 fde_start(const struct sframe_section *sec, u64 fde)
{
	const volatile s64 *off = (void *)(sec->fdes + fde * 16);

	return (sec->pcrel ? (u64)off : sec->start) + *off;
}

static int find_branching(const struct sframe_section *sec, unsigned long ip,
			  struct unwind_rule *rule)
{
	struct sframe_section one = *sec;
	u32 low = 0, high = sec->num_fdes;

	while (low + 1 < high) {
		u32 mid = low + (high - low) / 2;

		if (fde_start(sec, mid) <= ip) {
			asm volatile("");
			low = mid;
		} else {
			asm volatile("");
			high = mid;
		}
	}
	one.fdes += low * 16ul;
	one.num_fdes = 1;

	return sframe_find(&one, ip, rule);
}

static void find(const struct table *t, enum finder who, s64 pc)
{
	struct unwind_rule rule = {};
	int ret;

	if (who == KERNEL)
		ret = sframe_find(&t->sec, t->sec.start + pc, &rule);
	else if (who == BRANCHING)
		ret = find_branching(&t->sec, t->sec.start + pc, &rule);
	else
		ret = lib_look(t->lib, pc);
	if (ret) {
		printf("# %s: %s: %d at %+lld\n", t->name, names[who], ret,
		       (long long)pc);
		exit(1);
	}
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, size_t nr)
{
	qsort(values, nr, sizeof(*values), compare_doubles);

	return values[nr / 2] * ns_of_tick;
}

static void flush(const struct table *t)
{
	size_t at;

	for (at = 0; at < t->size; at += LINE)
		_mm_clflush(t->data + at);
	_mm_clflush(t->data + t->size - 1);
	_mm_mfence();
}

static void report(const char *how, const struct table *t, enum finder who,
		   double ns)
{
	printf("RESULT\tsframe-%s\t%s-%s\t0\t%.1f\tns\n", how, names[who],
	       t->name, ns);
}

/* libsframe has its own copy of the section. */
static void time_flushed(const struct table *t)
{
	static double took[LIBSFRAME][FLUSHED];
	unsigned int i, j;

	for (i = 0; i < FLUSHED; i++) {
		for (j = 0; j < LIBSFRAME; j++) {
			enum finder who = (i + j) % LIBSFRAME;
			u64 start;

			find(t, who, t->pc[(i + 1) % ADDRESSES]);
			flush(t);
			start = now();
			find(t, who, t->pc[i]);
			took[who][i] = now() - start;
		}
	}
	for (j = 0; j < LIBSFRAME; j++)
		report("flushed", t, j, median(took[j], FLUSHED));
}

static void time_warm(const struct table *t)
{
	static double took[NR_WHO][ROUNDS];
	static s64 pc[ADDRESSES];
	unsigned int i, j, k;

	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < ADDRESSES; k++)
			pc[k] = t->pc[next_random() % ADDRESSES];
		for (j = 0; j < NR_WHO; j++) {
			u64 start = now();

			for (k = 0; k < ADDRESSES; k++)
				find(t, j, pc[k]);
			took[j][i] = (now() - start) / (double)ADDRESSES;
		}
	}
	for (j = 0; j < NR_WHO; j++)
		report("warm", t, j, median(took[j], ROUNDS));
}

/* One address in each of so many functions, all over the text. */
static void choose_addresses(struct table *t)
{
	unsigned int i;

	for (i = 0; i < ADDRESSES; i++) {
		struct unwind_rule rule = {};
		struct lib_fde fde;

		do {
			fde = lib_fde(t->lib, next_random() % t->sec.num_fdes);
			t->pc[i] = fde.start + next_random() % (fde.size ?: 1);
		} while (sframe_find(&t->sec, t->sec.start + t->pc[i], &rule) ||
			 lib_look(t->lib, t->pc[i]));
	}
}

static bool time_table(struct table *t)
{
	u32 nr = 0;

	t->sec.start = (unsigned long)t->data;
	t->sec.end = t->sec.start + t->size;
	t->lib = lib_open(t->data, t->size, &nr);
	if (!t->lib || sframe_read_header(&t->sec) || !nr)
		return false;
	choose_addresses(t);
	printf("# %s: %u FDEs, %zu bytes\n", t->name, nr, t->size);
	time_flushed(t);
	time_warm(t);
	lib_close(t->lib);

	return true;
}

/* Functions of 64 bytes to 1 KiB, each with a row every 8 bytes. */
static void make_fde(struct table *t, const struct sframe_header *hdr, u32 i,
		     s64 *at)
{
	struct sframe_fde_idx *idx = (void *)(hdr + 1);
	unsigned char *fres = (unsigned char *)(idx + hdr->num_fdes);
	unsigned int j;

	idx += i;
	idx->func_size = 64 + next_random() % 1024;
	idx->func_start_offset = *at - ((char *)idx - t->data);
	idx->func_start_fre_off = i * MADE_FDE_LEN;
	*at += idx->func_size;

	fres += idx->func_start_fre_off;
	fres[0] = MADE_FRES;
	fres += SFRAME_FDE_ATTR_SIZE;
	for (j = 0; j < MADE_FRES; j++, fres += MADE_FRE_LEN) {
		fres[0] = 8 * j;
		fres[1] = SFRAME_FRE_BASE_SP | 2 << 1;
		fres[2] = 8 * j + 8;
		fres[3] = -16;
	}
}

/*
 * ld aligns a section to 8.  For a section at @offset 16 or 32 from a cache line, none
 * or all of the entries that a bisection reads span two lines.
 */
static bool make_table(struct table *t, size_t offset)
{
	const size_t idx_len = MADE_FDES * sizeof(struct sframe_fde_idx);
	struct sframe_header *hdr;
	s64 at = 1 << 20;
	u32 i;

	t->size = sizeof(*hdr) + idx_len + MADE_FDES * MADE_FDE_LEN;
	t->mem = aligned_alloc(64, (offset + t->size + 63) / 64 * 64);
	if (!t->mem)
		return false;
	t->data = t->mem + offset;
	memset(t->data, 0, t->size);
	hdr = (void *)t->data;
	*hdr = (struct sframe_header) {
		.magic = SFRAME_MAGIC, .version = SFRAME_VERSION_3,
		.flags = SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL,
		.abi_arch = SFRAME_ABI_AMD64_ENDIAN_LITTLE,
		.cfa_fixed_ra_offset = -8, .num_fdes = MADE_FDES,
		.num_fres = MADE_FDES * MADE_FRES,
		.fre_len = MADE_FDES * MADE_FDE_LEN, .freoff = idx_len,
	};
	for (i = 0; i < MADE_FDES; i++)
		make_fde(t, hdr, i, &at);

	return true;
}

/* sframe_bench NAME=FILE... */
int main(int argc, char **argv)
{
	struct table made = { .name = "made" }, across = { .name = "made-across" };
	int i;

	measure_tick();
	for (i = 1; i < argc; i++) {
		struct table t = { .name = argv[i] };
		char *path = strchr(argv[i], '=');

		if (!path)
			return 2;
		*path++ = 0;
		t.data = section_read(path, &t.size);
		if (!t.data || !time_table(&t)) {
			printf("# %s: no section that can be read\n", path);
			return 1;
		}
		free(t.data);
	}
	if (!make_table(&made, 16) || !time_table(&made) ||
	    !make_table(&across, 32) || !time_table(&across))
		return 1;
	free(made.mem);
	free(across.mem);

	return 0;
}
