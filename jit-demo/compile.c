// SPDX-License-Identifier: MIT
/*
 * An expression leaves its value in %rax.  Across calls, values are in callee-saved registers,
 * including %rbp, or on the stack.
 */
#include <string.h>

#include "compile.h"

#define NOT_IN_REG	(-1)

struct compiler {
	struct engine *engine;
	struct emit *e;
	const struct code *code;
	const struct function *function;
	int slot, first_slot;
	int home[MAX_LOCALS];		/* a register, or NOT_IN_REG */
	int word[MAX_LOCALS];		/* if not, a word of the frame */
	int nr_regs, nr_words;
	struct label done;
};

static const enum reg arguments[] = { RDI, RSI, RDX, RCX, R8, R9 };
/* Locals get registers in this order. */
static const enum reg homes[] = { RBP, RBX, R12, R13, R15 };

#define NR_HOMES	5

static void gen_value(struct compiler *c, const struct node *node);
static void gen_branch(struct compiler *c, const struct node *node,
		       struct label *label, bool when);
static void gen_statement(struct compiler *c, const struct node *node);

/* ------------------------------------------------------------------- locals */

/* Uses in a loop count more. */
static void count_uses(const struct node *node, unsigned long weight,
		       unsigned long *uses)
{
	for (; node; node = node->next) {
		if (node->kind == NODE_LOCAL || node->kind == NODE_SET)
			uses[node->index] += weight;
		if (node->kind == NODE_WHILE)
			weight *= 8;
		count_uses(node->a, weight, uses);
		count_uses(node->b, weight, uses);
		count_uses(node->c, weight, uses);
		if (node->kind == NODE_WHILE)
			weight /= 8;
	}
}

static int most_used(const struct compiler *c, const unsigned long *uses)
{
	int best = -1;

	for (int i = 0; i < c->function->nr_locals; i++)
		if (c->home[i] == NOT_IN_REG &&
		    (best < 0 || uses[i] > uses[best]))
			best = i;
	return best;
}

static void place_locals(struct compiler *c)
{
	unsigned long uses[MAX_LOCALS] = { 0 };
	int limit = c->code->tier == 1 ? 1 : NR_HOMES;
	int nr = c->function->nr_locals;

	if (c->code->tier > 1)
		count_uses(c->function->body, 1, uses);
	for (int i = 0; i < nr; i++)
		c->home[i] = NOT_IN_REG;
	while (c->nr_regs < limit && c->nr_regs < nr) {
		c->home[most_used(c, uses)] = homes[c->nr_regs];
		c->nr_regs++;
	}
	for (int i = 0; i < nr; i++)
		if (c->home[i] == NOT_IN_REG)
			c->word[i] = c->nr_words++;
}

static int32_t local_off(const struct compiler *c, int index)
{
	return c->e->pushed + 8 * c->word[index];
}

static void gen_get_local(struct compiler *c, enum reg to, int index)
{
	if (c->home[index] == NOT_IN_REG)
		emit_load(c->e, to, RSP, local_off(c, index));
	else
		emit_mov(c->e, to, c->home[index]);
}

static void gen_set_local(struct compiler *c, int index, enum reg from)
{
	if (c->home[index] == NOT_IN_REG)
		emit_store(c->e, RSP, local_off(c, index), from);
	else
		emit_mov(c->e, c->home[index], from);
}

/* -------------------------------------------------------------- expressions */

static bool is_known(const struct compiler *c, const struct node *node,
		     int64_t *value)
{
	if (c->code->tier > 1)
		return fold_node(node, value);
	*value = node->value;
	return node->kind == NODE_NUMBER;
}

/* In tier 2: can the value be loaded into any register without the stack? */
static bool gen_simple(struct compiler *c, enum reg to, const struct node *node)
{
	int64_t value;

	if (c->code->tier == 1)
		return false;
	if (is_known(c, node, &value))
		emit_mov_imm(c->e, to, value);
	else if (node->kind == NODE_LOCAL)
		gen_get_local(c, to, node->index);
	else
		return false;
	return true;
}

/* a in %rax, b in %rcx */
static void gen_operands(struct compiler *c, const struct node *a,
			 const struct node *b)
{
	gen_value(c, a);
	if (gen_simple(c, RCX, b))
		return;
	emit_push(c->e, RAX);
	gen_value(c, b);
	emit_mov(c->e, RCX, RAX);
	emit_pop(c->e, RAX);
}

/* Puts values into argument registers, from the @first one on. */
static void gen_arguments(struct compiler *c, const struct node *args,
			  int first)
{
	int nr = 0;

	for (; args; args = args->next, nr++) {
		gen_value(c, args);
		emit_push(c->e, RAX);
	}
	while (nr--)
		emit_pop(c->e, arguments[first + nr]);
}

static void gen_call(struct compiler *c, const struct node *node)
{
	int slot = c->first_slot + node->index;

	gen_arguments(c, node->a, 0);
	emit_call_at(c->e, R14, slot_off(slot, offsetof(struct slot, entry)));
}

static void gen_builtin(struct compiler *c, int index, const struct node *args)
{
	gen_arguments(c, args, 1);
	emit_call_at(c->e, R14, ENGINE_OFF(glue) + index * sizeof(void *));
}

/* Calls codectl_names_poll() if there is something to do. */
static void gen_poll(struct compiler *c)
{
	struct label skip = { 0 };

	emit_load(c->e, RAX, R14, ENGINE_OFF(names));
	emit_test(c->e, CODECTL_NAMES_POLL);
	emit_jump(c->e, COND_EQ, &skip);
	gen_builtin(c, BUILTIN_POLL, NULL);
	emit_label(c->e, &skip);
}

/* Division that could trap is done in C. */
static void gen_division(struct compiler *c, const struct node *node)
{
	struct node a = *node->a, b = *node->b;
	int64_t divisor;

	if (c->code->tier > 1 && is_known(c, node->b, &divisor) && divisor &&
	    divisor != -1) {
		gen_value(c, node->a);
		emit_mov_imm(c->e, RCX, divisor);
		emit_cqo(c->e);
		emit_unary(c->e, UNARY_IDIV, RCX);
		if (node->op == OP_MOD)
			emit_mov(c->e, RAX, RDX);
		return;
	}
	a.next = &b;
	b.next = NULL;
	gen_builtin(c, node->op == OP_DIV ? BUILTIN_DIV : BUILTIN_MOD, &a);
}

static bool comparison(enum op op, enum cond *cond)
{
	static const enum cond conds[] = {
		COND_LT, COND_LE, COND_GT, COND_GE, COND_EQ, COND_NE,
	};

	if (op < OP_LT || op > OP_NE)
		return false;
	*cond = conds[op - OP_LT];
	return true;
}

static void gen_binary(struct compiler *c, const struct node *node)
{
	static const enum alu alus[] = {
		[OP_ADD] = ALU_ADD, [OP_SUB] = ALU_SUB,
		[OP_BITAND] = ALU_AND, [OP_BITOR] = ALU_OR,
		[OP_BITXOR] = ALU_XOR,
	};
	enum cond cond;

	if (node->op == OP_DIV || node->op == OP_MOD) {
		gen_division(c, node);
		return;
	}
	gen_operands(c, node->a, node->b);
	if (comparison(node->op, &cond)) {
		emit_alu(c->e, ALU_CMP, RAX, RCX);
		emit_set(c->e, cond);
	} else if (node->op == OP_MUL) {
		emit_imul(c->e, RAX, RCX);
	} else if (node->op == OP_SHL || node->op == OP_SHR) {
		emit_shift(c->e, node->op == OP_SHL ? SHIFT_LEFT : SHIFT_RIGHT);
	} else {
		emit_alu(c->e, alus[node->op], RAX, RCX);
	}
}

static void gen_unary(struct compiler *c, const struct node *node)
{
	gen_value(c, node->a);
	if (node->op == OP_NOT) {
		emit_alu_imm(c->e, ALU_CMP, RAX, 0);
		emit_set(c->e, COND_EQ);
	} else {
		emit_unary(c->e, node->op == OP_NEG ? UNARY_NEG : UNARY_NOT,
			   RAX);
	}
}

static void gen_logical(struct compiler *c, const struct node *node)
{
	struct label no = { 0 }, end = { 0 };

	gen_branch(c, node, &no, false);
	emit_mov_imm(c->e, RAX, 1);
	emit_jump(c->e, COND_ALWAYS, &end);
	emit_label(c->e, &no);
	emit_mov_imm(c->e, RAX, 0);
	emit_label(c->e, &end);
}

static void gen_value(struct compiler *c, const struct node *node)
{
	int64_t value;

	if (is_known(c, node, &value)) {
		emit_mov_imm(c->e, RAX, value);
		return;
	}
	switch (node->kind) {
	case NODE_LOCAL:
		gen_get_local(c, RAX, node->index);
		break;
	case NODE_FUNCTION:
		emit_mov_imm(c->e, RAX, c->first_slot + node->index);
		break;
	case NODE_CALL:
		gen_call(c, node);
		break;
	case NODE_BUILTIN:
		gen_builtin(c, node->index, node->a);
		break;
	case NODE_UNARY:
		gen_unary(c, node);
		break;
	case NODE_BINARY:
		gen_binary(c, node);
		break;
	case NODE_INDEX:
		gen_operands(c, node->a, node->b);
		emit_load_indexed(c->e);
		break;
	default:
		gen_logical(c, node);
	}
}

/* ----------------------------------------------------------------- branches */

/* "a && b" needs no b if a is false, "a || b" if a is true. */
static void gen_branch_logical(struct compiler *c, const struct node *node,
			       struct label *label, bool when)
{
	bool leave = node->kind == NODE_OR;
	struct label skip = { 0 };

	gen_branch(c, node->a, when == leave ? label : &skip, leave);
	gen_branch(c, node->b, label, when);
	emit_label(c->e, &skip);
}

/* Jumps to @label if the truth value of @node is @when. */
static void gen_branch(struct compiler *c, const struct node *node,
		       struct label *label, bool when)
{
	enum cond cond = COND_NE;
	int64_t value;

	if (node->kind == NODE_AND || node->kind == NODE_OR) {
		gen_branch_logical(c, node, label, when);
		return;
	}
	if (is_known(c, node, &value)) {
		if (!!value == when)
			emit_jump(c->e, COND_ALWAYS, label);
		return;
	}
	if (c->code->tier > 1 && node->kind == NODE_BINARY &&
	    comparison(node->op, &cond)) {
		gen_operands(c, node->a, node->b);
		emit_alu(c->e, ALU_CMP, RAX, RCX);
	} else {
		gen_value(c, node);
		emit_alu_imm(c->e, ALU_CMP, RAX, 0);
	}
	/* the lowest bit of a condition code negates it */
	emit_jump(c->e, when ? cond : cond ^ 1, label);
}

/* --------------------------------------------------------------- statements */

static void gen_store(struct compiler *c, const struct node *node)
{
	gen_value(c, node->a);
	emit_push(c->e, RAX);
	gen_value(c, node->b);
	emit_push(c->e, RAX);
	gen_value(c, node->c);
	emit_mov(c->e, RDX, RAX);
	emit_pop(c->e, RCX);
	emit_pop(c->e, RAX);
	emit_store_indexed(c->e);
}

static void gen_if(struct compiler *c, const struct node *node)
{
	struct label no = { 0 }, end = { 0 };

	gen_branch(c, node->a, &no, false);
	gen_statement(c, node->b);
	if (node->c)
		emit_jump(c->e, COND_ALWAYS, &end);
	emit_label(c->e, &no);
	if (node->c)
		gen_statement(c, node->c);
	emit_label(c->e, &end);
}

static void gen_while(struct compiler *c, const struct node *node)
{
	struct label again = { 0 }, end = { 0 };

	emit_label(c->e, &again);
	gen_poll(c);
	gen_branch(c, node->a, &end, false);
	gen_statement(c, node->b);
	emit_jump(c->e, COND_ALWAYS, &again);
	emit_label(c->e, &end);
}

static void gen_statement(struct compiler *c, const struct node *node)
{
	switch (node->kind) {
	case NODE_SET:
		gen_value(c, node->a);
		gen_set_local(c, node->index, RAX);
		break;
	case NODE_STORE:
		gen_store(c, node);
		break;
	case NODE_IF:
		gen_if(c, node);
		break;
	case NODE_WHILE:
		gen_while(c, node);
		break;
	case NODE_RETURN:
		gen_value(c, node->a);
		emit_jump(c->e, COND_ALWAYS, &c->done);
		break;
	case NODE_BLOCK:
		for (node = node->a; node; node = node->next)
			gen_statement(c, node);
		break;
	default:
		gen_value(c, node->a);
	}
}

/* ----------------------------------------------------------------- functions */

/* Counts calls in tier 1; after the last one, the entry is the stub again. */
static void gen_countdown(struct compiler *c)
{
	struct label skip = { 0 };

	emit_step(c->e, STEP_DOWN, R14,
		  slot_off(c->slot, offsetof(struct slot, countdown)));
	emit_jump(c->e, COND_NE, &skip);
	emit_load(c->e, RAX, R14,
		  slot_off(c->slot, offsetof(struct slot, stub)));
	emit_store(c->e, R14, slot_off(c->slot, offsetof(struct slot, entry)),
		   RAX);
	emit_label(c->e, &skip);
}

/* The words of the locals, and the mark above them. */
static void gen_prologue(struct compiler *c)
{
	int frame = 8 * c->nr_words + 16;

	for (int i = 0; i < c->nr_regs; i++)
		emit_save(c->e, homes[i]);
	emit_frame(c->e, frame);
	emit_mark(c->e, RSP, frame - 16, frame + 8 * c->nr_regs + 8,
		  c->code->id);
	emit_step(c->e, STEP_UP, R14, active_off(c->engine, c->code));
	if (c->code->tier == 1)
		gen_countdown(c);
	for (int i = 0; i < c->function->nr_params; i++)
		gen_set_local(c, i, arguments[i]);
	gen_poll(c);
}

static void gen_epilogue(struct compiler *c)
{
	int frame = 8 * c->nr_words + 16;

	emit_step(c->e, STEP_DOWN, R14, active_off(c->engine, c->code));
	emit_unmark(c->e, RSP, frame - 16);
	emit_frame(c->e, -frame);
	for (int i = c->nr_regs - 1; i >= 0; i--)
		emit_restore(c->e, homes[i]);
	emit_ret(c->e);
}

void compile_function(struct engine *engine, const struct code *code,
		      const struct function *function, int slot,
		      int first_slot)
{
	struct compiler c = {
		.engine		= engine,
		.e		= &engine->emit,
		.code		= code,
		.function	= function,
		.slot		= slot,
		.first_slot	= first_slot,
	};

	place_locals(&c);
	gen_prologue(&c);
	gen_statement(&c, function->body);
	emit_mov_imm(c.e, RAX, 0);
	emit_label(c.e, &c.done);
	gen_epilogue(&c);
}
