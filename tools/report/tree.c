// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tool.h"
#include "tree.h"

/* They take 2 GiB. */
uint32_t tree_max_nodes = 16U << 20;

static uint32_t new_node(struct tree *tree, uint32_t parent, const struct tree_label *label)
{
	const struct tree_node node = {
		.parent = parent,
		.label = pool_intern(&tree->labels, label),
		.depth = parent == INDEX_NONE ? 0 : tree_node(tree, parent)->depth + 1,
	};
	uint32_t nr;

	if (tree->depth < node.depth)
		tree->depth = node.depth;
	nr = pool_intern(&tree->nodes, &node);
	if (tree->nodes.nr > tree_max_nodes)
		die("there are too many different stacks to show: select fewer of them");
	return nr;
}

const char *frame_name(struct profile *profile, const struct profile_frame *frame)
{
	const char *name;
	char *text;

	if (frame->function)
		return frame->function;
	if (!frame->file || !*basename(frame->file))
		return profile_string(profile, "[unknown]");
	text = format("[%s]", basename(frame->file));
	name = profile_string(profile, text);
	free(text);
	return name;
}

static struct tree_label label_of(const struct tree *tree, uint32_t frame, enum tree_kind kind)
{
	struct profile *profile = tree->selection->profile;
	const struct profile_frame at = profile_frame_at(profile, frame);
	struct tree_label label = {
		.name = frame_name(profile, &at), .flags = at.flags & ~PROFILE_CLAIMED,
	};

	if (kind != TREE_FUNCTIONS)
		label.file = at.file;
	if (kind == TREE_LINES && at.source && at.line) {
		label.file = at.source;
		label.line = at.line;
	}
	return label;
}

static uint32_t add_groups(struct tree *tree, const struct profile_sample *sample)
{
	const struct selection *selection = tree->selection;
	uint32_t node = TREE_ROOT;

	for (size_t i = 0; i < selection->nr_groups; i++) {
		const struct tree_label label = {
			.name = select_group(selection, selection->groups[i], sample),
		};

		node = new_node(tree, node, &label);
	}
	return node;
}

static uint32_t add_frames(struct tree *tree, uint32_t node, uint32_t stack, enum tree_kind kind)
{
	const struct profile *profile = tree->selection->profile;
	uint32_t frames[PROFILE_MAX_DEPTH], nr = 0;

	for (; stack != PROFILE_NO_STACK; stack = profile_stack_caller(profile, stack))
		frames[nr++] = profile_stack_frame(profile, stack);
	while (nr--) {
		const struct tree_label label = label_of(tree, frames[nr], kind);

		node = new_node(tree, node, &label);
	}
	return node;
}

static void add_samples(struct tree *tree, enum tree_kind kind)
{
	const struct selection *selection = tree->selection;
	const uint32_t nr = profile_counts(selection->profile).samples;

	for (uint32_t i = 0; i < nr; i++) {
		const struct profile_sample *sample = profile_sample_at(selection->profile, i);
		uint32_t node;

		if (!select_takes(selection, sample))
			continue;
		node = add_frames(tree, add_groups(tree, sample), sample->stack, kind);
		tree_node(tree, node)->self[sample->base] += select_weight(selection, sample);
	}
}

/* Parents have lower numbers. */
static void add_totals(struct tree *tree)
{
	for (uint32_t i = tree->nodes.nr; i--;) {
		struct tree_node *node = tree_node(tree, i);

		for (int base = 0; base < 2; base++) {
			node->total[base] += node->self[base];
			if (i)
				tree_node(tree, node->parent)->total[base] += node->total[base];
		}
	}
}

static int compare_texts(const char *one, const char *other)
{
	return strcmp(one ?: "", other ?: "");
}

static int by_label(const void *one, const void *other, void *context)
{
	const struct tree *tree = context;
	const struct tree_label *a = tree_label(tree, *(uint32_t *)one);
	const struct tree_label *b = tree_label(tree, *(uint32_t *)other);
	int order = compare_texts(a->name, b->name) ?: compare_texts(a->file, b->file);

	if (order)
		return order;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return a->flags < b->flags ? -1 : a->flags > b->flags;
}

static void link_siblings(struct tree *tree)
{
	uint32_t nr = tree->nodes.nr, *list = need(calloc(nr, sizeof(*list)));

	for (uint32_t i = 0; i < nr; i++)
		list[i] = i;
	qsort_r(list + 1, nr - 1, sizeof(*list), by_label, tree);
	while (nr-- > 1) {
		struct tree_node *node = tree_node(tree, list[nr]);
		struct tree_node *parent = tree_node(tree, node->parent);

		node->next = parent->child;
		parent->child = list[nr];
	}
	free(list);
}

struct tree *tree_new(const struct selection *selection, enum tree_kind kind)
{
	struct tree *tree = need(calloc(1, sizeof(*tree)));
	const struct tree_label all = { .name = "all" };

	tree->selection = selection;
	tree->labels.size = sizeof(struct tree_label);
	tree->labels.key_size = sizeof(struct tree_label);
	tree->nodes.size = sizeof(struct tree_node);
	tree->nodes.key_size = offsetof(struct tree_node, child);
	new_node(tree, INDEX_NONE, &all);
	add_samples(tree, kind);
	add_totals(tree);
	link_siblings(tree);
	return tree;
}

void tree_free(struct tree *tree)
{
	pool_free(&tree->labels);
	pool_free(&tree->nodes);
	free(tree);
}

uint32_t tree_next(const struct tree *tree, uint32_t node, uint32_t top, bool inside)
{
	if (inside && tree_node(tree, node)->child)
		return tree_node(tree, node)->child;
	while (node != top) {
		if (tree_node(tree, node)->next)
			return tree_node(tree, node)->next;
		node = tree_node(tree, node)->parent;
	}
	return 0;
}

double tree_share(const struct tree *tree, uint64_t weight, bool base)
{
	uint64_t all = tree_node(tree, TREE_ROOT)->total[base];

	return all ? 100.0 * weight / all : 0;
}

bool tree_shows(const struct tree *tree, const uint64_t weight[2])
{
	const double least = tree->selection->min_share;

	for (int base = 0; base < 2; base++)
		if (weight[base] && tree_share(tree, weight[base], base) >= least)
			return true;
	return false;
}
