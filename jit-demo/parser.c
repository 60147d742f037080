// SPDX-License-Identifier: MIT
/*
 * A recursive descent parser:
 *
 *	program:	{ "fn" NAME "(" [NAME {"," NAME}] ")" block }
 *	block:		"{" { statement } "}"
 *	statement:	"var" NAME "=" expression ";"
 *			"if" "(" expression ")" block ["else" (block | if)]
 *			"while" "(" expression ")" block
 *			"return" expression ";"
 *			expression ["=" expression] ";"
 *
 * and expressions as in C, of 64-bit integers.  "a[i]" is the i-th word at a, without a check;
 * "&f" is a function, to be passed to C functions.  A comment goes from "#" to the end of the
 * line; a line that begins with "#= " has a line of the expected output.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lexer.h"
#include "runtime.h"

struct parser {
	struct lexer lexer;
	struct program *program;
	struct function *function;
	char locals[MAX_LOCALS][MAX_NAME];
};

static struct node *parse_expression(struct parser *p);
static struct node *parse_block(struct parser *p);

static struct node *new_node(enum node_kind kind, struct node *a,
			     struct node *b)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		abort();
	node->kind = kind;
	node->a = a;
	node->b = b;
	return node;
}

static void take_name(struct parser *p, char *name)
{
	if (p->lexer.token != TOKEN_NAME)
		lexer_fail(&p->lexer, "a name expected");
	memcpy(name, p->lexer.name, MAX_NAME);
	lexer_next(&p->lexer);
}

/* ------------------------------------------------------------------- names */

/* Of locals with the same name, the inner one is declared later. */
static int find_local(const struct parser *p, const char *name)
{
	for (int i = p->function->nr_locals - 1; i >= 0; i--)
		if (!strcmp(p->locals[i], name))
			return i;
	return -1;
}

static int add_local(struct parser *p, const char *name)
{
	int index = p->function->nr_locals;

	if (index == MAX_LOCALS)
		lexer_fail(&p->lexer, "too many locals");
	memcpy(p->locals[index], name, MAX_NAME);
	p->function->nr_locals++;
	return index;
}

static int find_builtin(const char *name)
{
	for (int i = 0; i < NR_BUILTINS; i++)
		if (!strcmp(builtins[i].name, name))
			return i;
	return -1;
}

/* Functions may be used before they are defined. */
static int find_function(struct parser *p, const char *name)
{
	struct program *program = p->program;
	struct function *f;

	for (int i = 0; i < program->nr_functions; i++)
		if (!strcmp(program->functions[i].name, name))
			return i;
	if (program->nr_functions == MAX_FUNCTIONS)
		lexer_fail(&p->lexer, "too many functions");
	f = &program->functions[program->nr_functions];
	memcpy(f->name, name, MAX_NAME);
	f->nr_params = -1;
	f->line = p->lexer.line;
	return program->nr_functions++;
}

static void set_params(struct parser *p, int index, int nr)
{
	struct function *f = &p->program->functions[index];

	if (nr > MAX_PARAMS)
		lexer_fail(&p->lexer, "too many parameters");
	if (f->nr_params >= 0 && f->nr_params != nr)
		lexer_fail(&p->lexer, "wrong number of parameters");
	f->nr_params = nr;
}

/* ------------------------------------------------------------- expressions */

static struct node *parse_arguments(struct parser *p, int *nr)
{
	struct node *first = NULL, **last = &first;

	lexer_expect(&p->lexer, "(");
	*nr = 0;
	while (!lexer_at(&p->lexer, ")")) {
		if (first)
			lexer_expect(&p->lexer, ",");
		*last = parse_expression(p);
		last = &(*last)->next;
		++*nr;
	}
	lexer_expect(&p->lexer, ")");
	return first;
}

static struct node *parse_call(struct parser *p, const char *name)
{
	struct node *call = new_node(NODE_CALL, NULL, NULL);
	int nr;

	call->a = parse_arguments(p, &nr);
	call->index = find_builtin(name);
	if (call->index >= 0) {
		call->kind = NODE_BUILTIN;
		if (builtins[call->index].nr_params != nr)
			lexer_fail(&p->lexer, "wrong number of parameters");
		return call;
	}
	call->index = find_function(p, name);
	set_params(p, call->index, nr);
	return call;
}

static struct node *parse_name(struct parser *p)
{
	struct node *node;
	char name[MAX_NAME];

	take_name(p, name);
	if (lexer_at(&p->lexer, "("))
		return parse_call(p, name);
	node = new_node(NODE_LOCAL, NULL, NULL);
	node->index = find_local(p, name);
	if (node->index < 0)
		lexer_fail(&p->lexer, "unknown name before this");
	return node;
}

static struct node *parse_primary(struct parser *p)
{
	struct node *node;
	char name[MAX_NAME];

	if (lexer_take(&p->lexer, "(")) {
		node = parse_expression(p);
		lexer_expect(&p->lexer, ")");
	} else if (lexer_take(&p->lexer, "&")) {
		node = new_node(NODE_FUNCTION, NULL, NULL);
		take_name(p, name);
		node->index = find_function(p, name);
	} else if (p->lexer.token == TOKEN_NUMBER) {
		node = new_node(NODE_NUMBER, NULL, NULL);
		node->value = p->lexer.value;
		lexer_next(&p->lexer);
	} else {
		node = parse_name(p);
	}
	while (lexer_take(&p->lexer, "[")) {
		node = new_node(NODE_INDEX, node, parse_expression(p));
		lexer_expect(&p->lexer, "]");
	}
	return node;
}

static struct node *parse_unary(struct parser *p)
{
	static const struct {
		const char *word;
		enum op op;
	} ops[] = { { "-", OP_NEG }, { "!", OP_NOT }, { "~", OP_BITNOT } };
	struct node *node;

	for (int i = 0; i < 3; i++) {
		if (!lexer_take(&p->lexer, ops[i].word))
			continue;
		node = new_node(NODE_UNARY, parse_unary(p), NULL);
		node->op = ops[i].op;
		return node;
	}
	return parse_primary(p);
}

/* Binary operators and their precedence. */
static const struct binary {
	const char *word;
	int level;
	enum node_kind kind;
	enum op op;
} binaries[] = {
	{ "||", 1, NODE_OR, 0 },
	{ "&&", 2, NODE_AND, 0 },
	{ "|", 3, NODE_BINARY, OP_BITOR },
	{ "^", 4, NODE_BINARY, OP_BITXOR },
	{ "&", 5, NODE_BINARY, OP_BITAND },
	{ "==", 6, NODE_BINARY, OP_EQ },
	{ "!=", 6, NODE_BINARY, OP_NE },
	{ "<", 7, NODE_BINARY, OP_LT },
	{ "<=", 7, NODE_BINARY, OP_LE },
	{ ">", 7, NODE_BINARY, OP_GT },
	{ ">=", 7, NODE_BINARY, OP_GE },
	{ "<<", 8, NODE_BINARY, OP_SHL },
	{ ">>", 8, NODE_BINARY, OP_SHR },
	{ "+", 9, NODE_BINARY, OP_ADD },
	{ "-", 9, NODE_BINARY, OP_SUB },
	{ "*", 10, NODE_BINARY, OP_MUL },
	{ "/", 10, NODE_BINARY, OP_DIV },
	{ "%", 10, NODE_BINARY, OP_MOD },
	{ NULL, 0, 0, 0 },
};

static const struct binary *binary_at(const struct lexer *lexer, int level)
{
	const struct binary *binary;

	for (binary = binaries; binary->word; binary++)
		if (binary->level >= level && lexer_at(lexer, binary->word))
			return binary;
	return NULL;
}

static struct node *parse_binary(struct parser *p, int level)
{
	struct node *node = parse_unary(p);
	const struct binary *binary;

	while ((binary = binary_at(&p->lexer, level))) {
		lexer_next(&p->lexer);
		node = new_node(binary->kind, node,
				parse_binary(p, binary->level + 1));
		node->op = binary->op;
	}
	return node;
}

static struct node *parse_expression(struct parser *p)
{
	return parse_binary(p, 1);
}

/* -------------------------------------------------------------- statements */

static struct node *parse_condition(struct parser *p)
{
	struct node *node;

	lexer_expect(&p->lexer, "(");
	node = parse_expression(p);
	lexer_expect(&p->lexer, ")");
	return node;
}

static struct node *parse_if(struct parser *p)
{
	struct node *node = new_node(NODE_IF, parse_condition(p), NULL);

	node->b = parse_block(p);
	if (lexer_take(&p->lexer, "else"))
		node->c = lexer_take(&p->lexer, "if") ? parse_if(p) :
							parse_block(p);
	return node;
}

static struct node *parse_var(struct parser *p)
{
	struct node *node = new_node(NODE_SET, NULL, NULL);
	char name[MAX_NAME];

	take_name(p, name);
	lexer_expect(&p->lexer, "=");
	node->a = parse_expression(p);
	lexer_expect(&p->lexer, ";");
	node->index = add_local(p, name);
	return node;
}

static struct node *parse_assignment(struct parser *p)
{
	struct node *target = parse_expression(p), *node;

	if (!lexer_take(&p->lexer, "=")) {
		node = new_node(NODE_EXPRESSION, target, NULL);
	} else if (target->kind == NODE_LOCAL) {
		node = new_node(NODE_SET, parse_expression(p), NULL);
		node->index = target->index;
	} else if (target->kind == NODE_INDEX) {
		node = new_node(NODE_STORE, target->a, target->b);
		node->c = parse_expression(p);
	} else {
		lexer_fail(&p->lexer, "nothing to assign to before this");
	}
	lexer_expect(&p->lexer, ";");
	return node;
}

static struct node *parse_statement(struct parser *p)
{
	struct node *node;

	if (lexer_take(&p->lexer, "var"))
		return parse_var(p);
	if (lexer_take(&p->lexer, "if"))
		return parse_if(p);
	if (lexer_take(&p->lexer, "while")) {
		node = new_node(NODE_WHILE, parse_condition(p), NULL);
		node->b = parse_block(p);
		return node;
	}
	if (lexer_take(&p->lexer, "return")) {
		node = new_node(NODE_RETURN, parse_expression(p), NULL);
		lexer_expect(&p->lexer, ";");
		return node;
	}
	return parse_assignment(p);
}

static struct node *parse_block(struct parser *p)
{
	struct node *block = new_node(NODE_BLOCK, NULL, NULL);
	struct node **last = &block->a;

	lexer_expect(&p->lexer, "{");
	while (!lexer_take(&p->lexer, "}")) {
		*last = parse_statement(p);
		last = &(*last)->next;
	}
	return block;
}

/* ---------------------------------------------------------------- programs */

static void parse_function(struct parser *p)
{
	char name[MAX_NAME];
	int index;

	lexer_expect(&p->lexer, "fn");
	take_name(p, name);
	index = find_function(p, name);
	p->function = &p->program->functions[index];
	if (p->function->body || find_builtin(name) >= 0)
		lexer_fail(&p->lexer, "function defined twice");
	p->function->line = p->lexer.line;
	lexer_expect(&p->lexer, "(");
	while (!lexer_at(&p->lexer, ")")) {
		if (p->function->nr_locals)
			lexer_expect(&p->lexer, ",");
		take_name(p, name);
		add_local(p, name);
	}
	lexer_expect(&p->lexer, ")");
	set_params(p, index, p->function->nr_locals);
	p->function->body = parse_block(p);
}

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0 && ferror(file)) {
		perror(path);
		exit(1);
	}
	fclose(file);
	return text;
}

/* The name of "programs/fib.jd" is "fib". */
static void name_program(struct program *program, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	if (asprintf(&program->name, "%.*s", (int)strcspn(base, "."), base) < 0)
		abort();
}

static void find_expected(struct program *program)
{
	const char *line = program->text, *end;
	FILE *file;
	size_t size;

	if (!strstr(line, "\n#= "))
		return;
	file = open_memstream(&program->expected, &size);
	if (!file)
		abort();
	for (; *line; line = end) {
		end = strchrnul(line, '\n');
		end += *end == '\n';
		if (!strncmp(line, "#= ", 3))
			fwrite(line + 3, 1, end - line - 3, file);
	}
	fclose(file);
}

struct program *parse_program(const char *path)
{
	struct parser p = { 0 };
	const struct function *f;

	p.program = calloc(1, sizeof(*p.program));
	if (!p.program)
		abort();
	p.program->text = read_file(path);
	if (!p.program->text) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	name_program(p.program, path);
	find_expected(p.program);
	lexer_start(&p.lexer, path, p.program->text);
	while (p.lexer.token != TOKEN_END)
		parse_function(&p);
	p.program->main = find_function(&p, "main");
	set_params(&p, p.program->main, 0);
	for (int i = 0; i < p.program->nr_functions; i++) {
		f = &p.program->functions[i];
		if (f->body)
			continue;
		fprintf(stderr, "%s:%d: no function %s\n", path, f->line,
			f->name);
		exit(1);
	}
	return p.program;
}
