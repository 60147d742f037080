// SPDX-License-Identifier: MIT
/*
 * A line for each different stack, for renderers of flame graphs.
 */
#include <stdlib.h>
#include <string.h>

#include "tool.h"
#include "writers.h"

/* A name with the separator would be two frames. */
static void put_name(const struct tree_label *label, FILE *to)
{
	char *text = escape(label->name, strlen(label->name), ";");

	fputs(text, to);
	if (label->flags & PROFILE_KERNEL)
		fputs("_[k]", to);
	else if (label->flags & PROFILE_INLINED)
		fputs("_[i]", to);
	free(text);
}

/* @path has the nodes from depth 1 on. */
static void put_stack(const struct tree *tree, const uint32_t *path, bool diff, FILE *to)
{
	const struct tree_node *node;

	for (;; path++) {
		put_name(tree_label(tree, *path), to);
		node = tree_node(tree, *path);
		if (!path[1])
			break;
		putc(';', to);
	}
	if (diff)
		fprintf(to, " %llu", (unsigned long long)node->self[1]);
	fprintf(to, " %llu\n", (unsigned long long)node->self[0]);
}

void folded_write(const struct tree *tree, bool diff, FILE *to)
{
	uint32_t *path = need(calloc(tree->depth + 1, sizeof(*path))), node = TREE_ROOT;

	while ((node = tree_next(tree, node, TREE_ROOT, true))) {
		const struct tree_node *at = tree_node(tree, node);

		path[at->depth - 1] = node;
		path[at->depth] = 0;
		if (tree_shows(tree, at->self))
			put_stack(tree, path, diff, to);
	}
	free(path);
}
