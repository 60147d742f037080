// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for the answers of a compromised reader: the accepted part of an answer is
 * unchanged after it is written and read again.
 */
#include "answer.h"
#include "fuzz.h"

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool is_escaped(const char *text)
{
	for (; text && *text; text++)
		if ((unsigned char)*text < ' ' || *text == 127)
			return false;
	return true;
}

static void check_function(const struct function *a, const struct function *b)
{
	require(is_escaped(a->name) && is_escaped(a->source));
	require(same_text(a->name, b->name) && same_text(a->source, b->source));
	require(a->line == b->line);
}

/* Escaping makes texts longer, so they may be cut. */
static bool is_short(const struct symbol *symbol)
{
	const size_t max = ANSWER_MAX_TEXT;
	bool good = (!symbol->name || strlen(symbol->name) < max) &&
		    (!symbol->source || strlen(symbol->source) < max);

	for (size_t i = 0; good && i < symbol->nr_inlined; i++)
		good = strlen(symbol->inlined[i].name) < max &&
		       (!symbol->inlined[i].source ||
			strlen(symbol->inlined[i].source) < max);
	return good;
}

static void check_symbol(const struct symbol *symbol)
{
	struct symbol again;
	struct span rest;
	char *text;
	size_t len;
	FILE *to = open_memstream(&text, &len);

	require(to && symbol->nr_inlined <= ANSWER_MAX_INLINED);
	answer_write(symbol, to);
	fclose(to);
	rest = (struct span){ text, len };
	require(answer_take(&rest, &again) && !rest.len);
	require(again.offset == symbol->offset && again.nr_inlined == symbol->nr_inlined);
	check_function(&(struct function){ symbol->name, symbol->source, symbol->line },
		       &(struct function){ again.name, again.source, again.line });
	for (size_t i = 0; i < again.nr_inlined; i++)
		check_function(&symbol->inlined[i], &again.inlined[i]);
	symbol_free(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = exact_copy(data, size);
	struct span rest = { text, size };
	uint8_t build_id[BUILD_ID_MAX];
	struct symbol symbol = { 0 };
	uint32_t len;

	if (answer_take_build_id(&rest, build_id, &len))
		require(len <= sizeof(build_id) && rest.at + rest.len == text + size);
	while (answer_take(&rest, &symbol)) {
		require(rest.at + rest.len == text + size);
		if (is_short(&symbol))
			check_symbol(&symbol);
		symbol_free(&symbol);
	}
	require(!symbol.name && !symbol.inlined);
	free(text);
	return 0;
}
