/* SPDX-License-Identifier: MIT */
/*
 * A directory with an object that a table can be made for.
 */
#ifndef OBJECT_FOLDER_H
#define OBJECT_FOLDER_H

#include "check.h"
#include "tool.h"

static char *folder, *store, *object;

/* The path of @name in the directory of the test. */
static inline char *in_folder(const char *name)
{
	return format("%s/%s", folder, name);
}

static inline bool make_folder(void)
{
	static char name[] = CFI_OBJECT "-XXXXXX";
	char *command;
	bool good;

	/* Not in /tmp, where codectl does not trust root's files. */
	folder = mkdtemp(name);
	store = in_folder("store");
	object = in_folder("object");
	command = format("cp %s %s", CFI_OBJECT, object);
	good = folder && !system(command);
	if (!good)
		printf("Bail out! no %s\n", CFI_OBJECT);
	free(command);
	return good;
}

static inline void remove_folder(void)
{
	char *command = format("rm -rf %s", folder);

	if (system(command))
		printf("# cannot remove %s\n", folder);
	free(command);
	free(store);
	free(object);
}

#endif
