// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>

#include <codectl.h>

#include "code.h"
#include "compile.h"
#include "stubs.h"

void engine_fail(const char *what)
{
	fprintf(stderr, "jit-demo: %s\n", what);
	exit(1);
}

struct engine *engine_open(const struct engine_options *options)
{
	struct engine *engine = calloc(1, sizeof(*engine));

	if (!engine)
		engine_fail("no memory");
	engine->options = *options;
	engine->nr_places = options->keep ? MAX_PROGRAMS : FEW_PROGRAMS;
	for (unsigned int i = 0; i < engine->nr_places; i++)
		engine->places[i].first_slot = i * MAX_FUNCTIONS;
	engine->names = codectl_names_word();
	code_open(engine);
	run_open(&engine->run);
	stubs_open(engine);
	engine->edge = engine->heap.edge;
	return engine;
}

void engine_close(struct engine *engine)
{
	run_close(&engine->run);
	code_close(engine);
	free(engine);
}

/* ---------------------------------------------------------------- compiling */

static struct place *place_of(struct engine *engine, int slot)
{
	return &engine->places[slot / MAX_FUNCTIONS];
}

static void compile(struct engine *engine, int index, int tier)
{
	const struct place *place = place_of(engine, index);
	struct slot *slot = &engine->slots[index];
	struct code *code = code_new(engine, tier);
	char name[2 * MAX_NAME + 16];

	slot->countdown = TIER_1_CALLS;
	compile_function(engine, code, slot->function, index,
			 place->first_slot);
	snprintf(name, sizeof(name), "jit:%.31s.%s@%d", place->program->name,
		 slot->function->name, tier);
	code_publish(engine, code, name);
	if (slot->code)
		code_replace(engine, slot->code);
	slot->code = code;
	slot->entry = code->start;
}

void *engine_compile(struct engine *engine, int index)
{
	struct slot *slot = &engine->slots[index];
	const struct program *program = place_of(engine, index)->program;

	if (!slot->code) {
		compile(engine, index, 1);
	} else {
		compile(engine, index, 2);
		engine->hot[program->number] |=
			1ULL << (slot->function - program->functions);
	}
	code_sweep(engine);
	return slot->entry;
}

/* ------------------------------------------------------------------ loading */

/* Compiles at once the functions that were hot the last time, and forgets which they were. */
static void load(struct engine *engine, struct place *place,
		 const struct program *program)
{
	char name[2 * MAX_NAME + 16];
	struct slot *slot;
	int index;

	place->program = program;
	for (int i = 0; i < program->nr_functions; i++) {
		index = place->first_slot + i;
		slot = &engine->slots[index];
		slot->function = &program->functions[i];
		slot->code = NULL;
		snprintf(name, sizeof(name), "jit:stub:%.31s.%s",
			 program->name, slot->function->name);
		slot->stub_code = stubs_make(engine, index, name);
		slot->stub = slot->stub_code->start;
		slot->entry = slot->stub;
	}
	for (int i = 0; i < program->nr_functions; i++)
		if (engine->hot[program->number] & 1ULL << i)
			compile(engine, place->first_slot + i, 2);
	engine->hot[program->number] = 0;
}

static void unload(struct engine *engine, struct place *place)
{
	struct slot *slot = &engine->slots[place->first_slot];
	const struct program *program = place->program;

	if (!program)
		return;
	code_sweep(engine);
	for (int i = 0; i < program->nr_functions; i++, slot++) {
		code_retire(engine, slot->stub_code);
		if (slot->code)
			code_retire(engine, slot->code);
	}
	place->program = NULL;
}

/* Called while no compiled code runs. */
static struct place *place_program(struct engine *engine,
				   const struct program *program)
{
	struct place *place;

	for (unsigned int i = 0; i < engine->nr_places; i++)
		if (engine->places[i].program == program)
			return &engine->places[i];
	if (code_is_full(engine) && !engine->options.keep) {
		for (unsigned int i = 0; i < engine->nr_places; i++)
			unload(engine, &engine->places[i]);
		code_flush(engine);
	}
	place = &engine->places[engine->next_place++ % engine->nr_places];
	unload(engine, place);
	load(engine, place, program);
	return place;
}

/* ------------------------------------------------------------------ running */

int64_t engine_call(struct engine *engine, int slot, const int64_t *args,
		    int nr)
{
	int64_t all[6] = { 0 }, result;

	for (int i = 0; i < nr; i++)
		all[i] = args[i];
	engine->run.depth++;
	result = engine->enter(engine, engine->slots[slot].entry, all);
	engine->run.depth--;
	return result;
}

void engine_run(struct engine *engine, const struct program *program)
{
	struct place *place = place_program(engine, program);

	codectl_names_poll();
	run_reset(&engine->run);
	engine_call(engine, place->first_slot + program->main, NULL, 0);
}
