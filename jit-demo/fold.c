// SPDX-License-Identifier: MIT
/* Folds constants. */
#include <stddef.h>

#include "ast.h"

/* As the processor computes: modulo 2^64, and shift counts modulo 64. */
static int64_t compute(enum op op, int64_t a, int64_t b)
{
	uint64_t x = a, y = b;

	switch (op) {
	case OP_ADD:
		return x + y;
	case OP_SUB:
		return x - y;
	case OP_MUL:
		return x * y;
	case OP_BITAND:
		return x & y;
	case OP_BITOR:
		return x | y;
	case OP_BITXOR:
		return x ^ y;
	case OP_SHL:
		return x << (y & 63);
	case OP_SHR:
		return a >> (y & 63);
	case OP_LT:
		return a < b;
	case OP_LE:
		return a <= b;
	case OP_GT:
		return a > b;
	case OP_GE:
		return a >= b;
	case OP_EQ:
		return a == b;
	default:
		return a != b;
	}
}

bool fold_node(const struct node *node, int64_t *value)
{
	int64_t a, b;

	if (node->kind == NODE_NUMBER) {
		*value = node->value;
		return true;
	}
	if (node->kind == NODE_BINARY) {
		if (node->op == OP_DIV || node->op == OP_MOD ||
		    !fold_node(node->a, &a) || !fold_node(node->b, &b))
			return false;
		*value = compute(node->op, a, b);
		return true;
	}
	if (node->kind != NODE_UNARY || !fold_node(node->a, &a))
		return false;
	if (node->op == OP_NEG)
		*value = -(uint64_t)a;
	else
		*value = node->op == OP_NOT ? !a : ~a;
	return true;
}
