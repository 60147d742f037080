/* SPDX-License-Identifier: MIT */
/* Splits the text of a program into words. */
#ifndef LEXER_H
#define LEXER_H

#include <stdbool.h>
#include <stdint.h>

#include "ast.h"

enum token {
	TOKEN_END,
	TOKEN_NUMBER,		/* value */
	TOKEN_NAME,		/* name */
	TOKEN_PUNCTUATION,	/* name, one or two characters */
};

struct lexer {
	const char *path;
	const char *at;
	int line;
	/* the next word */
	enum token token;
	char name[MAX_NAME];
	int64_t value;
};

void lexer_start(struct lexer *lexer, const char *path, const char *text);
void lexer_next(struct lexer *lexer);

/* Is the next word @word? */
bool lexer_at(const struct lexer *lexer, const char *word);
/* Takes @word if it is the next one. */
bool lexer_take(struct lexer *lexer, const char *word);
void lexer_expect(struct lexer *lexer, const char *word);

/* Prints an error with its line, and exits. */
_Noreturn void lexer_fail(const struct lexer *lexer, const char *what);

#endif /* LEXER_H */
