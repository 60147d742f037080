// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "report.h"

static void add(struct count *count, const struct count *more)
{
	count->ranges += more->ranges;
	count->bytes += more->bytes;
}

void totals_count(struct totals *totals, const struct conversion *conversion)
{
	const struct object *object = &conversion->object;

	totals->converted++;
	totals->cfi_bytes += object->cfi_size;
	totals->table_bytes += conversion->table.size;
	totals->fdes += conversion->table.nr_fdes;
	totals->fres += conversion->table.nr_fres;
	add(&totals->covered, &object->covered);
	for (unsigned int i = 0; i < NR_CAUSES; i++)
		add(&totals->causes[i], &object->causes[i]);
}

void totals_add(struct totals *totals, const struct totals *more)
{
	totals->converted += more->converted;
	totals->present += more->present;
	totals->passed_over += more->passed_over;
	totals->failed += more->failed;
	totals->cfi_bytes += more->cfi_bytes;
	totals->table_bytes += more->table_bytes;
	totals->fdes += more->fdes;
	totals->fres += more->fres;
	add(&totals->covered, &more->covered);
	for (unsigned int i = 0; i < NR_CAUSES; i++)
		add(&totals->causes[i], &more->causes[i]);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0;
}

static void print_number(uint64_t number, const char *of)
{
	printf("%14llu %s\n", (unsigned long long)number, of);
}

void totals_print(const struct totals *totals)
{
	uint64_t code = totals->covered.bytes;

	for (unsigned int i = 0; i < NR_CAUSES; i++)
		code += totals->causes[i].bytes;

	print_number(totals->converted, "files converted");
	print_number(totals->present, "files whose table was there");
	print_number(totals->passed_over, "files that are not ELF for x86-64 or have no CFI");
	print_number(totals->failed, "files that failed");
	print_number(totals->fdes, "FDEs");
	print_number(totals->fres, "FREs");
	print_number(totals->cfi_bytes, "bytes of CFI");
	printf("%14llu bytes of tables, %.1f %% of that\n",
	       (unsigned long long)totals->table_bytes,
	       percent(totals->table_bytes, totals->cfi_bytes));
	print_number(code, "bytes of code with CFI");
	printf("%14llu have a rule, %.3f %%\n", (unsigned long long)totals->covered.bytes,
	       percent(totals->covered.bytes, code));
	for (unsigned int i = 0; i < NR_CAUSES; i++) {
		const struct count *cause = &totals->causes[i];

		if (cause->ranges)
			printf("%14llu have none in %llu ranges, %.3f %%: %s\n",
			       (unsigned long long)cause->bytes,
			       (unsigned long long)cause->ranges,
			       percent(cause->bytes, code), convert_cause(i));
	}
}
