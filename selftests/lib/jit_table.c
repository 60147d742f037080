// SPDX-License-Identifier: GPL-2.0
#include "codectl_test.h"
#include "jit_table.h"

jit_table *jit_table_init(void *mem, size_t room)
{
	jit_table *table = mem;

	table->reserved_len = room - sizeof(*table);
	table->used_len = 0;
	table->next = 0;
	return table;
}

unsigned int jit_table_rows(const jit_table *table)
{
	return table->used_len / sizeof(jit_row);
}

int jit_table_append(jit_table *table, const jit_row *row, unsigned int nr)
{
	uint64_t used = table->used_len;

	if (used + nr * sizeof(*row) > table->reserved_len)
		return -1;
	memcpy(&table->fre[used / sizeof(*row)], row, nr * sizeof(*row));
	/* Pairs with the kernel's acquire: whoever sees the length sees the rows. */
	__atomic_store_n(&table->used_len, used + nr * sizeof(*row),
			 __ATOMIC_RELEASE);
	return 0;
}

void jit_table_link(jit_table *table, const jit_table *next)
{
	/* Pairs with the kernel's acquire: whoever sees the table sees its rows. */
	__atomic_store_n(&table->next, addr_of(next), __ATOMIC_RELEASE);
}

int register_jit(const struct code_jit_info *info)
{
	return sys_codectl(CODE_REGISTER_JIT, info, sizeof(*info), 0);
}

int register_jit_text(uint64_t start, uint64_t end)
{
	const struct code_jit_info info = {
		.text_start = start,
		.text_end = end,
		.jit_flags = CODE_JIT_DEFAULT_RULE,
		.info = CODE_FRE_OUTERMOST,
	};

	return register_jit(&info);
}

void stub_jit_rows(jit_row row[STUB_ROWS], uint32_t ip_off)
{
	for (int i = 0; i < STUB_ROWS; i++) {
		const struct fre_spec *spec = &stub_rows[i];
		uint32_t end = i + 1 < STUB_ROWS ? spec[1].start : STUB_SIZE;
		bool saved = spec->word[1];

		row[i] = (jit_row) {
			.size = end - spec->start,
			.ip_off = ip_off + spec->start,
			.cfa_off = spec->word[0],
			.ra_off = -8,
			.fp_off = spec->word[1],
			.info = CODE_FRE_BASE_SP |
				(saved ? CODE_FRE_FP_SAVED : 0),
		};
	}
}

void jit_rows_reverse(jit_row *row, unsigned int nr)
{
	for (unsigned int i = 0; i < nr / 2; i++) {
		jit_row swap = row[i];

		row[i] = row[nr - 1 - i];
		row[nr - 1 - i] = swap;
	}
}

jit_table *stub_jit_table(const struct stub *stub)
{
	jit_table *table = jit_table_init(stub->table, stub->table_room);
	jit_row row[STUB_ROWS];

	stub_jit_rows(row, 0);
	jit_table_append(table, row, STUB_ROWS);
	return table;
}

struct code_jit_info stub_jit_info(const struct stub *stub)
{
	return (struct code_jit_info) {
		.text_start = addr_of(stub->text),
		.text_end = addr_of(stub->text) + PAGE,
		.unwind_head = addr_of(stub->table),
	};
}

int stub_register_jit(const struct stub *stub)
{
	const struct code_jit_info info = stub_jit_info(stub);

	return register_jit(&info);
}
