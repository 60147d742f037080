// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recording.h"
#include "tables.h"

static char **paths;		/* sorted; NULL: no list was read */
static size_t nr_paths;

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

bool tables_known(void)
{
	return paths;
}

bool tables_have(const char *path)
{
	return !paths || bsearch(&path, paths, nr_paths, sizeof(*paths), compare_paths);
}

/* Lines of ID MAJOR:MINOR INODE ROWS BYTES STATE PATH. */
void tables_read(const char *list)
{
	FILE *f = fopen(list, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int at = 0;

	if (!f)
		recording_fail(list, strerror(errno));
	/* An empty list is a list, too. */
	paths = malloc(sizeof(*paths));
	for (; paths && (len = getline(&line, &room, f)) > 0; at = 0) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%*s %*s %*s %*s %*s attached %n", &at) < 0 || !at)
			continue;
		paths[nr_paths++] = strdup(line + at);
		paths = realloc(paths, (nr_paths + 1) * sizeof(*paths));
	}
	if (!paths)
		recording_fail(list, "no memory");
	free(line);
	fclose(f);
	qsort(paths, nr_paths, sizeof(*paths), compare_paths);
}
