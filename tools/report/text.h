/* SPDX-License-Identifier: MIT */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Length of the UTF-8 character at @text; 0 if it is not one, or a control character. */
size_t text_letter(const char *text);

/*
 * @text as a string of its own that any reader of UTF-8, a terminal or XML accepts:
 * bytes of invalid and of control characters become \ooo.
 */
char *text_clean(const char *text);

/* For text of XML, or an attribute in double quotes; @text is clean. */
void text_put_xml(const char *text, FILE *to);

#endif
