/* SPDX-License-Identifier: MIT */
#ifndef TEXT_H
#define TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Bytes of the character at @text in UTF-8; 0 if it is none, or a control character. */
size_t text_letter(const char *text);

/*
 * @text as a string of its own that any reader of UTF-8, a terminal or XML takes:
 * each byte of what is no character, or one that controls something, as \ooo.
 */
char *text_clean(const char *text);

/* As text of XML, or of an attribute in double quotes; @text is clean. */
void text_put_xml(const char *text, FILE *to);

#endif
