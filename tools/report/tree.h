/* SPDX-License-Identifier: MIT */
/*
 * The calls of what is selected: stacks that begin alike are one from the outermost
 * frame on.  The outermost nodes are the groups.
 */
#ifndef TREE_H
#define TREE_H

#include "index.h"
#include "select.h"

/* What of frames tells nodes apart. */
enum tree_kind {
	TREE_FUNCTIONS,		/* the name of the function */
	TREE_FILES,		/* and its file */
	TREE_LINES,		/* and the source line, where it is known */
};

struct tree_label {
	const char *name;	/* of a group, of a function, or what stands for it */
	const char *file;	/* the source file if there is a line; NULL: none */
	uint32_t line;		/* 0: none */
	uint32_t flags;		/* PROFILE_* */
};

/* The root. */
#define TREE_ROOT	0

/* Weights are those of the recording and of the base. */
struct tree_node {
	uint32_t parent, label;	/* of which there is one node */
	uint32_t child, next;	/* first one and sibling; 0: none */
	uint32_t depth;
	uint32_t zero;
	uint64_t self[2], total[2];
};

struct tree {
	const struct selection *selection;
	struct pool labels, nodes;
	uint32_t depth;		/* of the deepest node; the root has 0 */
};

/* Siblings are in the order of their names; callers are before what they call. */
struct tree *tree_new(const struct selection *selection, enum tree_kind kind);
void tree_free(struct tree *tree);

static inline struct tree_node *tree_node(const struct tree *tree, uint32_t nr)
{
	return pool_at(&tree->nodes, nr);
}

static inline const struct tree_label *tree_label(const struct tree *tree, uint32_t node)
{
	return pool_at(&tree->labels, tree_node(tree, node)->label);
}

/*
 * The node after @node in depth-first order below @top, callers first; 0: none is left.
 * @inside: not what is below @node if it is false.
 */
uint32_t tree_next(const struct tree *tree, uint32_t node, uint32_t top, bool inside);

/* In percent of all that is selected of a recording, 0 if that is nothing. */
double tree_share(const struct tree *tree, uint64_t weight, bool base);

/* Whether one of both is as large as has to be shown. */
bool tree_shows(const struct tree *tree, const uint64_t weight[2]);

/* What a frame is called, as a string of the profile's. */
const char *frame_name(struct profile *profile, const struct profile_frame *frame);

#endif
