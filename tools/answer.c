// SPDX-License-Identifier: MIT
#include <stdlib.h>

#include "answer.h"
#include "tool.h"

/* Followed by the texts of the function, and of those that are inlined. */
struct head {
	uint64_t offset, nr_inlined;
};

/* Followed by the two texts. */
struct function_head {
	uint32_t name_len, source_len, line;
};

void answer_write_build_id(const void *bits, size_t len, FILE *to)
{
	const uint32_t written = len <= BUILD_ID_MAX ? len : 0;

	fwrite(&written, sizeof(written), 1, to);
	if (written)
		fwrite(bits, 1, written, to);
}

static uint32_t text_len(const char *text)
{
	return text ? strnlen(text, ANSWER_MAX_TEXT) : 0;
}

static void write_text(const char *text, uint32_t len, FILE *to)
{
	if (len)
		fwrite(text, 1, len, to);
}

static void write_function(const char *name, const char *source, uint32_t line, FILE *to)
{
	const struct function_head head = { text_len(name), text_len(source), line };

	fwrite(&head, sizeof(head), 1, to);
	write_text(name, head.name_len, to);
	write_text(source, head.source_len, to);
}

void answer_write(const struct symbol *symbol, FILE *to)
{
	const struct head head = {
		symbol->offset,
		symbol->nr_inlined < ANSWER_MAX_INLINED ? symbol->nr_inlined :
							  ANSWER_MAX_INLINED,
	};

	fwrite(&head, sizeof(head), 1, to);
	write_function(symbol->name, symbol->source, symbol->line, to);
	for (size_t i = 0; i < head.nr_inlined; i++) {
		const struct function *function = &symbol->inlined[i];

		write_function(function->name, function->source, function->line, to);
	}
}

static bool take(struct span *rest, void *data, size_t len)
{
	if (rest->len < len)
		return false;
	memcpy(data, rest->at, len);
	rest->at += len;
	rest->len -= len;
	return true;
}

bool answer_take_build_id(struct span *rest, uint8_t build_id[BUILD_ID_MAX], uint32_t *len)
{
	return take(rest, len, sizeof(*len)) && *len <= BUILD_ID_MAX &&
	       take(rest, build_id, *len);
}

/* Escaped, as a string of its own; NULL if empty. */
static char *take_text(struct span *rest, uint32_t len)
{
	const char *text = rest->at;

	rest->at += len;
	rest->len -= len;
	len = strnlen(text, len);
	return len ? escape(text, len, "") : NULL;
}

static bool take_function(struct span *rest, char **name, char **source, uint32_t *line)
{
	struct function_head head;

	if (!take(rest, &head, sizeof(head)) || head.name_len > ANSWER_MAX_TEXT ||
	    head.source_len > ANSWER_MAX_TEXT ||
	    head.name_len + head.source_len > rest->len)
		return false;
	*name = take_text(rest, head.name_len);
	*source = take_text(rest, head.source_len);
	*line = head.line;
	return true;
}

bool answer_take(struct span *rest, struct symbol *symbol)
{
	struct head head;

	*symbol = (struct symbol){ 0 };
	if (!take(rest, &head, sizeof(head)) || head.nr_inlined > ANSWER_MAX_INLINED ||
	    !take_function(rest, &symbol->name, &symbol->source, &symbol->line))
		return false;
	symbol->offset = head.offset;
	if (head.nr_inlined)
		symbol->inlined = need(calloc(head.nr_inlined, sizeof(*symbol->inlined)));
	while (symbol->nr_inlined < head.nr_inlined) {
		struct function *function = &symbol->inlined[symbol->nr_inlined];

		if (!take_function(rest, &function->name, &function->source,
				   &function->line) || !function->name) {
			free(function->source);
			symbol_free(symbol);
			return false;
		}
		symbol->nr_inlined++;
	}
	return true;
}

void symbol_free(struct symbol *symbol)
{
	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		free(symbol->inlined[i].name);
		free(symbol->inlined[i].source);
	}
	free(symbol->inlined);
	free(symbol->name);
	free(symbol->source);
	*symbol = (struct symbol){ 0 };
}
