/* SPDX-License-Identifier: MIT */
/*
 * The calls in what is selected: stacks that begin alike share nodes from the outermost
 * frame on.  The outermost nodes are the groups.
 */
#ifndef TREE_H
#define TREE_H

#include "index.h"
#include "select.h"

/* What distinguishes nodes. */
enum tree_kind {
	TREE_FUNCTIONS,		/* the name of the function */
	TREE_FILES,		/* and its file */
	TREE_LINES,		/* and the source line, if known */
};

struct tree_label {
	const char *name;	/* of a group, of a function, or a substitute for it */
	const char *file;	/* the source file if there is a line; or NULL */
	uint32_t line;		/* 0 if none */
	uint32_t flags;		/* PROFILE_* */
};

/* The root. */
#define TREE_ROOT	0

/* Weights are those of the recording and of the base. */
struct tree_node {
	uint32_t parent, label;	/* of which there is one node */
	uint32_t child, next;	/* first child and next sibling; 0 if none */
	uint32_t depth;
	uint32_t zero;
	uint64_t self[2], total[2];
};

/* Samples may share all that a recording has of their stacks, but not their nodes. */
extern uint32_t tree_max_nodes;

struct tree {
	const struct selection *selection;
	struct pool labels, nodes;
	uint32_t depth;		/* of the deepest node; the root has 0 */
};

/* Siblings are sorted by name; callers come before callees. */
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
 * If @inside is false, skips what is below @node.
 */
uint32_t tree_next(const struct tree *tree, uint32_t node, uint32_t top, bool inside);

/* In percent of all that is selected of a recording; 0 if that is nothing. */
double tree_share(const struct tree *tree, uint64_t weight, bool base);

/* Is one of both large enough to be shown? */
bool tree_shows(const struct tree *tree, const uint64_t weight[2]);

/* The name of a frame, as a string of the profile's. */
const char *frame_name(struct profile *profile, const struct profile_frame *frame);

#endif
