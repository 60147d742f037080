// SPDX-License-Identifier: GPL-2.0
#include "bench.h"
#include "jit_chain.h"

#define TEXT_PAGES 32
#define TABLE_SIZE (64 * PAGE)

/* Appends code, with one row for all of it. */
static uint8_t *put_code(struct jit_region *r, const uint8_t *code,
			 const uint8_t *end, const jit_row *rule)
{
	jit_table *table = (void *)r->tables;
	const jit_row *last = &table->fre[jit_table_rows(table) - 1];
	jit_row row = *rule;

	row.ip_off = last->ip_off + last->size;
	row.size = end - code;
	if (row.ip_off + row.size > r->text_size ||
	    jit_table_append(table, &row, 1))
		die("no room for code");
	memcpy(r->text + row.ip_off, code, row.size);
	return r->text + row.ip_off;
}

void jit_chain_make(struct jit_chain *c, bool fp_only)
{
	static const struct jit_shape *const shapes[] = {
		&jit_small, &jit_saved, &jit_small, &jit_fp,
	};
	static const jit_row by_fp = {
		.cfa_off = 16, .ra_off = -8, .fp_off = -16,
		.info = CODE_FRE_FP_SAVED,
	}, outermost = { .info = CODE_FRE_OUTERMOST };

	if (jit_region_map(&c->r, TEXT_PAGES, 1, TABLE_SIZE))
		die("region");
	for (int i = 0; i < CHAIN_FUNCTIONS; i++) {
		c->shape[i] = fp_only ? &jit_fp : shapes[i % 4];
		c->link[i] = jit_emit(&c->r, c->shape[i], NULL);
		if (!c->link[i])
			die("function");
	}
	c->last = put_code(&c->r, chain_last_code, chain_last_end, &by_fp);
	c->base = put_code(&c->r, chain_base_code, chain_base_end, &outermost);
}

void jit_chain_set(struct jit_chain *c, unsigned int depth)
{
	for (unsigned int i = 0; i < depth; i++) {
		unsigned int at = i * CHAIN_STEP % CHAIN_FUNCTIONS;
		unsigned int next = (i + 1) * CHAIN_STEP % CHAIN_FUNCTIONS;

		jit_write(c->link[at], c->shape[at],
			  i + 1 < depth ? c->link[next] : c->last);
	}
}

void jit_chain_call(void *chain)
{
	struct jit_chain *c = chain;
	void (*base)(void *, void *) = (void *)c->base;

	base(c->link[0], NULL);
}
