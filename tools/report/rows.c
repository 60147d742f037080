// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>

#include "tool.h"
#include "writers.h"

/* For labels: the row in the group, plus 1, and how many of its nodes are open. */
struct seen {
	size_t row;
	uint32_t open;
};

struct counting {
	const struct tree *tree;
	struct rows rows;
	size_t first;		/* row of the group */
	struct seen *seen;
};

static struct row *row_of(struct counting *counting, uint32_t group, uint32_t label)
{
	struct seen *seen = &counting->seen[label];
	struct rows *rows = &counting->rows;

	if (seen->row > counting->first)
		return &rows->list[seen->row - 1];
	if (rows->nr == rows->room) {
		rows->room = rows->room ? 2 * rows->room : 64;
		rows->list = need(reallocarray(rows->list, rows->room, sizeof(*rows->list)));
	}
	rows->list[rows->nr] = (struct row){ .group = group, .label = label };
	seen->row = ++rows->nr;
	return &rows->list[seen->row - 1];
}

/* A recursive function counts once. */
static void open_node(struct counting *counting, uint32_t group, uint32_t nr)
{
	const struct tree_node *node = tree_node(counting->tree, nr);
	bool again = counting->seen[node->label].open++;
	struct row *row = row_of(counting, group, node->label);

	for (int base = 0; base < 2; base++) {
		row->self[base] += node->self[base];
		row->total[base] += again ? 0 : node->total[base];
	}
}

static void close_nodes(struct counting *counting, uint32_t nr, uint32_t depth)
{
	const struct tree_node *node = tree_node(counting->tree, nr);

	for (; node->depth >= depth; node = tree_node(counting->tree, node->parent))
		counting->seen[node->label].open--;
}

static void count_group(struct counting *counting, uint32_t group)
{
	const struct tree *tree = counting->tree;
	const uint32_t top = tree_node(tree, group)->depth + 1;
	uint32_t node = group, next;

	counting->first = counting->rows.nr;
	while ((next = tree_next(tree, node, group, true))) {
		close_nodes(counting, node, tree_node(tree, next)->depth);
		open_node(counting, group, next);
		node = next;
	}
	if (node != group)
		close_nodes(counting, node, top);
}

static uint64_t key_of(const struct row *row, enum row_order order, bool base)
{
	return order == BY_SELF ? row->self[base] : row->total[base];
}

struct row_context {
	const struct tree *tree;
	bool diff;
	enum row_order order;
};

static double size_of(const struct row_context *context, const struct row *row,
		      enum row_order order)
{
	double share = tree_share(context->tree, key_of(row, order, false), false);

	if (!context->diff)
		return share;
	return fabs(share - tree_share(context->tree, key_of(row, order, true), true));
}

static int by_size(const void *one, const void *other, void *data)
{
	const struct row *a = one, *b = other;
	const struct row_context *context = data;
	const enum row_order orders[] = { context->order, BY_TOTAL, BY_SELF };

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		double left = size_of(context, a, orders[i]);
		double right = size_of(context, b, orders[i]);

		if (left != right)
			return left > right ? -1 : 1;
	}
	/* In the order in which they came. */
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return a->label < b->label ? -1 : 1;
}

static void drop_small(const struct tree *tree, struct rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->nr; i++)
		if (tree_shows(tree, rows->list[i].total))
			rows->list[kept++] = rows->list[i];
	rows->nr = kept;
}

struct rows rows_new(const struct tree *tree, bool diff, enum row_order order)
{
	struct counting counting = { .tree = tree };
	struct row_context context = { tree, diff, order };
	const uint32_t depth = tree->selection->nr_groups;
	uint32_t node = TREE_ROOT;

	counting.seen = need(calloc(tree->labels.nr, sizeof(*counting.seen)));
	do {
		bool above = tree_node(tree, node)->depth < depth;

		if (!above)
			count_group(&counting, node);
		node = tree_next(tree, node, TREE_ROOT, above);
	} while (node);
	free(counting.seen);
	drop_small(tree, &counting.rows);
	if (counting.rows.nr)
		qsort_r(counting.rows.list, counting.rows.nr, sizeof(struct row), by_size,
			&context);
	return counting.rows;
}

static void put_group(const struct tree *tree, uint32_t node, FILE *to)
{
	const uint32_t parent = tree_node(tree, node)->parent;

	if (node == TREE_ROOT)
		return;
	put_group(tree, parent, to);
	fprintf(to, "%s%s", parent == TREE_ROOT ? "" : ", ", tree_label(tree, node)->name);
}

char *row_group(const struct tree *tree, const struct row *row)
{
	size_t size;
	char *text;
	FILE *to = need(open_memstream(&text, &size));

	put_group(tree, row->group, to);
	need_done(fclose(to));
	return text;
}
