// SPDX-License-Identifier: MIT
#include <stdio.h>

#include "code.h"
#include "stubs.h"

/* Arguments as in C; for a call into C, each moves on by one register. */
static const enum reg arguments[] = { RDI, RSI, RDX, RCX, R8, R9 };

#define NR_ARGUMENTS	6

/*
 * Called from C with the engine, the code, and six arguments.  Compiled code preserves the
 * callee-saved registers, so only %r14 has to be saved.
 */
static void make_enter(struct engine *engine)
{
	struct code *code = code_new(engine, 0);
	struct emit *e = &engine->emit;

	emit_save(e, R14);
	emit_frame(e, 16);
	emit_mark(e, RSP, 0, 32, code->id);
	emit_mov(e, R14, RDI);
	emit_mov(e, RAX, RSI);
	emit_mov(e, R10, RDX);
	for (int i = 0; i < NR_ARGUMENTS; i++)
		emit_load(e, arguments[i], R10, 8 * i);
	emit_call_reg(e, RAX);
	emit_unmark(e, RSP, 0);
	emit_frame(e, -16);
	emit_restore(e, R14);
	emit_ret(e);
	code_publish(engine, code, "jit:enter");
	engine->enter = (void *)code->start;
}

/*
 * Calls C.  Compiled code does not align the stack, so the frame needs a base other than the
 * stack pointer.
 */
static void *make_glue(struct engine *engine, const struct builtin *builtin)
{
	struct code *code = code_new(engine, 0);
	struct emit *e = &engine->emit;
	char name[64];

	emit_enter(e);
	emit_frame(e, 16);
	emit_mark(e, RBP, -16, 16, code->id);
	emit_align(e);
	emit_mov(e, RDI, R14);
	emit_mov_imm(e, RAX, (intptr_t)builtin->function);
	emit_call_reg(e, RAX);
	emit_unmark(e, RBP, -16);
	emit_leave(e);
	emit_ret(e);
	snprintf(name, sizeof(name), "jit:call:%s", builtin->name);
	code_publish(engine, code, name);
	return code->start;
}

/* The stub of a function passes its slot in %rax. */
static void make_lazy(struct engine *engine)
{
	struct code *code = code_new(engine, 0);
	struct emit *e = &engine->emit;

	emit_enter(e);
	emit_frame(e, 16 + 8 * NR_ARGUMENTS);
	emit_mark(e, RBP, -16, 16, code->id);
	for (int i = 0; i < NR_ARGUMENTS; i++)
		emit_store(e, RBP, -24 - 8 * i, arguments[i]);
	emit_align(e);
	emit_mov(e, RDI, R14);
	emit_mov(e, RSI, RAX);
	emit_mov_imm(e, RAX, (intptr_t)engine_compile);
	emit_call_reg(e, RAX);
	for (int i = 0; i < NR_ARGUMENTS; i++)
		emit_load(e, arguments[i], RBP, -24 - 8 * i);
	emit_unmark(e, RBP, -16);
	emit_leave(e);
	emit_jump_reg(e, RAX);
	code_publish(engine, code, "jit:lazy");
	engine->lazy = code->start;
}

struct code *stubs_make(struct engine *engine, int slot, const char *name)
{
	struct code *code = code_new(engine, 0);
	struct emit *e = &engine->emit;

	emit_mov_imm(e, RAX, slot);
	emit_jump_at(e, R14, ENGINE_OFF(lazy));
	code_publish(engine, code, name);
	return code;
}

void stubs_open(struct engine *engine)
{
	make_enter(engine);
	make_lazy(engine);
	for (int i = 0; i < NR_BUILTINS; i++)
		engine->glue[i] = make_glue(engine, &builtins[i]);
}
