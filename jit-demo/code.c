// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "code.h"

/* Small, so that several tables are needed. */
#define HEAP_BYTES	(256 * 1024)
#define TABLE_ROWS	128
#define MAX_TABLES	60

void code_open(struct engine *engine)
{
	struct codectl_region_attr attr = {
		.flags		= CODECTL_REGION_REWRITE,
		.jit_flags	= engine->options.descending ?
				  CODE_JIT_DESCENDING : 0,
		.max_rows	= TABLE_ROWS * MAX_TABLES,
		.table_rows	= TABLE_ROWS,
		.name_bytes	= 16 * HEAP_BYTES,
	};
	int err;

	/* A granule map has no tables, and its rows are in any order. */
	if (engine->options.granules)
		attr = (struct codectl_region_attr){
			.flags		= CODECTL_REGION_GRANULES,
			.max_rows	= TABLE_ROWS * MAX_TABLES,
			.name_bytes	= 16 * HEAP_BYTES,
		};
	heap_open(&engine->heap, HEAP_BYTES, engine->options.descending);
	err = codectl_region_open(engine->heap.start, HEAP_BYTES, &attr,
				  &engine->region);
	if (err)
		engine_fail(strerror(-err));
}

void code_close(struct engine *engine)
{
	codectl_region_close(engine->region);
	heap_close(&engine->heap);
	free(engine->log);
}

struct code *code_new(struct engine *engine, int tier)
{
	static uint32_t last_id;
	struct code *code;
	int tries = 0;

	do {
		code = &engine->codes[engine->next_code++ % NR_CODES];
		if (tries++ == NR_CODES)
			engine_fail("too many functions");
	} while (code->len);
	memset(code, 0, sizeof(*code));
	code->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	code->tier = tier;
	emit_start(&engine->emit);
	return code;
}

/*
 * If rows are not added at the end, libcodectl rewrites the table, and a stack that is taken
 * meanwhile ends at the frames of this region.  So holes are filled only while there are no
 * such frames.
 */
static void *find_space(struct engine *engine, size_t len)
{
	bool reuse = (!engine_runs(engine) || engine->options.reuse_at_once) &&
		     !engine->options.keep;
	void *start = reuse ? heap_reuse(&engine->heap, len) : NULL;

	if (!start)
		start = heap_extend(&engine->heap, len);
	else
		engine->stat.reused++;
	if (!start)
		engine_fail("no memory for code");
	return start;
}

static void add_record(struct engine *engine, const struct code *code,
		       const char *name)
{
	const struct emit *e = &engine->emit;
	struct code_record *record;

	if (engine->log_len == engine->log_size) {
		engine->log_size = engine->log_size * 2 + 256;
		engine->log = reallocarray(engine->log, engine->log_size,
					   sizeof(*engine->log));
		if (!engine->log)
			engine_fail("no memory for the log");
	}
	record = &engine->log[engine->log_len++];
	*record = (struct code_record){
		.start		= (uintptr_t)code->start,
		.len		= code->len,
		.id		= code->id,
		.mark_off	= e->mark_off,
		.mark_from	= e->mark_from,
		.mark_to	= e->mark_to,
	};
	snprintf(record->name, sizeof(record->name), "%s", name);
}

void code_publish(struct engine *engine, struct code *code, const char *name)
{
	struct emit *e = &engine->emit;
	unsigned int nr = emit_end(e);
	int err;

	code->len = e->len;
	code->start = find_space(engine, e->len);
	memcpy(code->start, e->code, e->len);
	err = codectl_region_add(engine->region, (uintptr_t)code->start,
				 code->len, e->rows, nr, name);
	if (err)
		engine_fail(strerror(-err));
	add_record(engine, code, name);
	engine->stat.compiled[code->tier]++;
}

void code_replace(struct engine *engine, struct code *code)
{
	code->retiring = true;
	engine->nr_retiring++;
}

void code_retire(struct engine *engine, struct code *code)
{
	int nr = codectl_region_retire(engine->region, (uintptr_t)code->start,
				       code->len);

	if (nr <= 0 || code->active)
		engine_fail("retired what is not there, or in use");
	heap_free(&engine->heap, code->start, code->len);
	engine->nr_retiring -= code->retiring;
	code->len = 0;
	engine->stat.retired++;
}

void code_sweep(struct engine *engine)
{
	struct code *code;

	if (!engine->nr_retiring)
		return;
	for (code = engine->codes; code < engine->codes + NR_CODES; code++)
		if (code->len && code->retiring && !code->active)
			code_retire(engine, code);
}

bool code_is_full(struct engine *engine)
{
	struct codectl_region_stat stat;

	codectl_region_stat(engine->region, &stat);
	if (stat.tables > engine->stat.most_tables)
		engine->stat.most_tables = stat.tables;
	return heap_rest(&engine->heap) < HEAP_BYTES / 2 ||
	       stat.rows_used > stat.rows_max / 2;
}

void code_flush(struct engine *engine)
{
	int err = codectl_region_compact(engine->region);

	if (err)
		engine_fail(strerror(-err));
	heap_rewind(&engine->heap, engine->edge);
	engine->stat.flushed++;
}

void code_write_log(const struct engine *engine, FILE *file)
{
	const struct engine_stat *s = &engine->stat;
	const struct code_record *r;
	struct codectl_region_stat region;

	codectl_region_stat(engine->region, &region);
	fprintf(file, "region %#lx %#lx registered %u descending %d\n",
		(long)engine->heap.start, (long)engine->heap.end,
		region.registered, engine->options.descending);
	fprintf(file, "compiled stubs %lu tier1 %lu tier2 %lu rows %lu\n",
		s->compiled[0], s->compiled[1], s->compiled[2],
		(long)region.rows_used);
	fprintf(file, "retired %lu reused %lu flushed %lu tables %lu\n",
		s->retired, s->reused, s->flushed, s->most_tables);
	for (size_t i = 0; i < engine->log_len; i++) {
		r = &engine->log[i];
		fprintf(file, "code %u %#lx %u %u %u %u %s\n", r->id,
			(long)r->start, r->len, r->mark_off, r->mark_from,
			r->mark_to, r->name);
	}
}
