/* SPDX-License-Identifier: MIT */
/* Which files had tables attached. */
#ifndef TABLES_H
#define TABLES_H

#include <stdbool.h>

/* Reads a copy of /proc/codectl_files; exits if it cannot. */
void tables_read(const char *list);

/* Was a list read? */
bool tables_known(void);

/* Did the file at @path have one?  Without a list, every file did. */
bool tables_have(const char *path);

#endif /* TABLES_H */
