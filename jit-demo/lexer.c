// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lexer.h"

static const char * const two_characters[] = {
	"==", "!=", "<=", ">=", "<<", ">>", "&&", "||", NULL
};

void lexer_fail(const struct lexer *lexer, const char *what)
{
	fprintf(stderr, "%s:%d: %s", lexer->path, lexer->line, what);
	if (lexer->token == TOKEN_NAME || lexer->token == TOKEN_PUNCTUATION)
		fprintf(stderr, " at '%s'", lexer->name);
	fprintf(stderr, "\n");
	exit(1);
}

static void skip_space(struct lexer *lexer)
{
	for (;; lexer->at++) {
		if (*lexer->at == '#')
			lexer->at += strcspn(lexer->at, "\n");
		if (*lexer->at == '\n')
			lexer->line++;
		if (!isspace((unsigned char)*lexer->at))
			return;
	}
}

static void read_number(struct lexer *lexer)
{
	char *end;

	lexer->token = TOKEN_NUMBER;
	lexer->value = (int64_t)strtoull(lexer->at, &end, 0);
	lexer->at = end;
}

static void read_word(struct lexer *lexer, enum token token, size_t len)
{
	lexer->token = token;
	if (len >= sizeof(lexer->name))
		lexer_fail(lexer, "a name that is too long");
	memcpy(lexer->name, lexer->at, len);
	lexer->name[len] = '\0';
	lexer->at += len;
}

static size_t name_length(const char *at)
{
	size_t len = 0;

	while (isalnum((unsigned char)at[len]) || at[len] == '_')
		len++;
	return len;
}

static size_t punctuation_length(const char *at)
{
	for (int i = 0; two_characters[i]; i++)
		if (!strncmp(at, two_characters[i], 2))
			return 2;
	return 1;
}

void lexer_next(struct lexer *lexer)
{
	skip_space(lexer);
	if (!*lexer->at)
		lexer->token = TOKEN_END;
	else if (isdigit((unsigned char)*lexer->at))
		read_number(lexer);
	else if (name_length(lexer->at))
		read_word(lexer, TOKEN_NAME, name_length(lexer->at));
	else
		read_word(lexer, TOKEN_PUNCTUATION,
			  punctuation_length(lexer->at));
}

void lexer_start(struct lexer *lexer, const char *path, const char *text)
{
	lexer->path = path;
	lexer->at = text;
	lexer->line = 1;
	lexer_next(lexer);
}

bool lexer_at(const struct lexer *lexer, const char *word)
{
	return lexer->token >= TOKEN_NAME && !strcmp(lexer->name, word);
}

bool lexer_take(struct lexer *lexer, const char *word)
{
	if (!lexer_at(lexer, word))
		return false;
	lexer_next(lexer);
	return true;
}

void lexer_expect(struct lexer *lexer, const char *word)
{
	char what[64];

	if (lexer_take(lexer, word))
		return;
	snprintf(what, sizeof(what), "'%s' expected", word);
	lexer_fail(lexer, what);
}
