/* SPDX-License-Identifier: MIT */
/* Which files had tables attached. */
#ifndef TABLES_H
#define TABLES_H

#include <stdbool.h>

/* Reads what /proc/codectl_files has said; exits if it cannot. */
void tables_read(const char *list);

/* Whether a list was read. */
bool tables_known(void);

/* Whether the file at @path had one; without a list, all had. */
bool tables_have(const char *path);

#endif /* TABLES_H */
