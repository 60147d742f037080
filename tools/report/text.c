// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "tool.h"

size_t text_letter(const char *text)
{
	static const unsigned int least[] = { 0, ' ', 0xa0, 0x800, 0x10000 };
	unsigned char c = *text;
	size_t bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	unsigned int value = bytes == 1 ? c : c & (0xff >> (bytes + 1));

	if ((c >= 0x80 && c < 0xc0) || c >= 0xf8)
		return 0;
	/* The NUL at the end is no continuation byte. */
	for (size_t i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[bytes] || value == 127 || (value >= 0xd800 && value < 0xe000) ||
	    value == 0xfffe || value == 0xffff || value > 0x10ffff)
		return 0;
	return bytes;
}

char *text_clean(const char *text)
{
	char *clean = need(malloc(4 * strlen(text) + 1)), *to = clean;

	while (*text) {
		size_t bytes = text_letter(text);

		if (bytes)
			to = mempcpy(to, text, bytes);
		else
			to += sprintf(to, "\\%03o", (unsigned char)*text);
		text += bytes ?: 1;
	}
	*to = '\0';
	return clean;
}

void text_put_xml(const char *text, FILE *to)
{
	for (; *text; text++) {
		if (*text == '&')
			fputs("&amp;", to);
		else if (*text == '<')
			fputs("&lt;", to);
		else if (*text == '>')
			fputs("&gt;", to);
		else if (*text == '"')
			fputs("&quot;", to);
		else
			putc(*text, to);
	}
}
