/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a buffer that somebody else has filled: no NUL at the end.
 */
#ifndef SPAN_H
#define SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct span {
	const char *at;
	size_t len;
};

static inline bool span_is(struct span span, const char *text)
{
	return span.len == strlen(text) && !memcmp(span.at, text, span.len);
}

/* Takes from @rest what is before the first @end, or all of it. */
static inline struct span span_take(struct span *rest, char end)
{
	const char *found = rest->len ? memchr(rest->at, end, rest->len) : NULL;
	struct span taken = { rest->at, rest->len };

	if (!found) {
		rest->at += rest->len;
		rest->len = 0;
		return taken;
	}
	taken.len = found - rest->at;
	rest->at = found + 1;
	rest->len -= taken.len + 1;
	return taken;
}

/* Takes @text from the start of @rest if it is there. */
static inline bool span_skip(struct span *rest, const char *text)
{
	size_t len = strlen(text);

	if (rest->len < len || memcmp(rest->at, text, len))
		return false;
	rest->at += len;
	rest->len -= len;
	return true;
}

static inline int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* All of @span as a hexadecimal number, with or without 0x; false if it is not one. */
static inline bool span_hex(struct span span, uint64_t *value)
{
	span_skip(&span, "0x");
	if (!span.len || span.len > 16)
		return false;
	*value = 0;
	for (size_t i = 0; i < span.len; i++) {
		int digit = hex_digit(span.at[i]);

		if (digit < 0)
			return false;
		*value = *value << 4 | digit;
	}
	return true;
}

/* All of @span as START-END. */
static inline bool span_range(struct span span, uint64_t *start, uint64_t *end)
{
	struct span first = span_take(&span, '-');

	return span_hex(first, start) && span_hex(span, end);
}

#endif
