/* SPDX-License-Identifier: MIT */
/* The abstract syntax tree of a program. */
#ifndef AST_H
#define AST_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_PARAMS	5	/* a call into C has one argument more */
#define MAX_NAME	32
#define MAX_FUNCTIONS	64
#define MAX_LOCALS	64

enum op {
	OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MOD,
	OP_BITAND, OP_BITOR, OP_BITXOR, OP_SHL, OP_SHR,
	OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE,
	OP_NEG, OP_NOT, OP_BITNOT,
};

enum node_kind {
	/* expressions */
	NODE_NUMBER,		/* value */
	NODE_LOCAL,		/* index */
	NODE_FUNCTION,		/* &index */
	NODE_CALL,		/* function index, args a */
	NODE_BUILTIN,		/* C function index, args a */
	NODE_UNARY,		/* op a */
	NODE_BINARY,		/* a op b */
	NODE_AND,		/* a && b */
	NODE_OR,		/* a || b */
	NODE_INDEX,		/* a[b] */
	/* statements */
	NODE_SET,		/* local index = a */
	NODE_STORE,		/* a[b] = c */
	NODE_IF,		/* if (a) b else c */
	NODE_WHILE,		/* while (a) b */
	NODE_RETURN,		/* return a */
	NODE_EXPRESSION,	/* a */
	NODE_BLOCK,		/* { a }, a list */
};

struct node {
	enum node_kind kind;
	enum op op;
	int index;
	int64_t value;
	struct node *a, *b, *c;
	struct node *next;	/* in a list of arguments or statements */
};

struct function {
	char name[MAX_NAME];
	int nr_params;		/* -1: neither called yet nor defined */
	int nr_locals;		/* the parameters are the first */
	int line;		/* of its definition, or of its first use */
	struct node *body;	/* NULL: not defined */
};

/* A program is read-only after it was parsed; threads may share it. */
struct program {
	char *name;
	char *text;
	char *expected;		/* its expected output; NULL: not given */
	int number;
	int nr_functions;
	int main;
	struct function functions[MAX_FUNCTIONS];
};

/* Reads and parses FILE; after an error, prints it and exits. */
struct program *parse_program(const char *path);

/* Is the value of an expression known at compile time? */
bool fold_node(const struct node *node, int64_t *value);

#endif /* AST_H */
