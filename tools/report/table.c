// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "tool.h"
#include "writers.h"

/* No column is wider for a name that is longer: another name may be in each row. */
#define MAX_WIDTH	100

static const char *place_of(const struct tree_label *label)
{
	if (label->file)
		return basename(label->file);
	if (label->flags & PROFILE_MARK)
		return "-";
	return label->flags & PROFILE_KERNEL ? "[kernel]" : "[memory]";
}

static char *show_place(const struct tree_label *label)
{
	if (label->line)
		return format("%s:%u", place_of(label), label->line);
	return format("%s", place_of(label));
}

/* In milliseconds if it is time. */
static char *show_weight(const struct tree *tree, uint64_t weight)
{
	if (tree->selection->unit == UNIT_TIME)
		return format("%llu.%03llu", (unsigned long long)weight / 1000000,
			      (unsigned long long)weight / 1000 % 1000);
	return format("%llu", (unsigned long long)weight);
}

static void put_share(const struct tree *tree, const uint64_t weight[2], bool diff, FILE *to)
{
	double share = tree_share(tree, weight[0], false);

	fprintf(to, "%7.2f%%", share);
	if (diff)
		fprintf(to, " %+8.2f", share - tree_share(tree, weight[1], true));
}

static void put_weight(const struct tree *tree, const uint64_t weight[2], bool diff, FILE *to)
{
	for (int base = 0; base <= diff; base++) {
		char *text = show_weight(tree, weight[base]);

		fprintf(to, " %12s", text);
		free(text);
	}
}

struct widths {
	int group, place;
};

static int longer(int width, const char *text)
{
	size_t len = strlen(text);

	return len > MAX_WIDTH ? MAX_WIDTH : (int)len > width ? (int)len : width;
}

static struct widths measure(const struct tree *tree, const struct rows *rows)
{
	struct widths widths = { 5, 4 };

	for (size_t i = 0; i < rows->nr; i++) {
		char *group = row_group(tree, &rows->list[i]);
		char *place = show_place(pool_at(&tree->labels, rows->list[i].label));

		widths.group = longer(widths.group, group);
		widths.place = longer(widths.place, place);
		free(group);
		free(place);
	}
	return widths;
}

/* With one group there is nothing to distinguish. */
static bool has_groups(const struct tree *tree)
{
	uint32_t node = TREE_ROOT;

	for (size_t i = 0; i < tree->selection->nr_groups; i++) {
		node = tree_node(tree, node)->child;
		if (!node)
			return false;
		if (tree_node(tree, node)->next)
			return true;
	}
	return false;
}

static void put_row(const struct tree *tree, const struct row *row, bool diff,
		    struct widths widths, FILE *to)
{
	const struct tree_label *label = pool_at(&tree->labels, row->label);
	char *group = row_group(tree, row), *place = show_place(label);

	put_share(tree, row->self, diff, to);
	put_share(tree, row->total, diff, to);
	put_weight(tree, row->self, diff, to);
	put_weight(tree, row->total, diff, to);
	if (widths.group)
		fprintf(to, "  %-*s", widths.group, group);
	fprintf(to, "  %-*s  %s%s%s\n", widths.place, place, label->name,
		label->flags & PROFILE_KERNEL ? " [k]" : "",
		label->flags & PROFILE_INLINED ? " (inlined)" : "");
	free(group);
	free(place);
}

static void put_head(bool diff, struct widths widths, FILE *to)
{
	static const char *const names[] = { "Self", "Total" };

	for (int i = 0; i < 2; i++)
		fprintf(to, "%c%*s%%%s", i ? ' ' : '#', 6, names[i], diff ? "   Change" : "");
	for (int i = 0; i < 2; i++)
		for (int base = 0; base <= diff; base++)
			fprintf(to, " %12s", base ? "before" : names[i]);
	if (widths.group)
		fprintf(to, "  %-*s", widths.group, "Group");
	fprintf(to, "  %-*s  %s\n", widths.place, "File", "Function");
}

static void put_sums(const struct tree *tree, bool diff, FILE *to)
{
	const struct tree_node *root = tree_node(tree, TREE_ROOT);
	const char *unit = tree->selection->unit == UNIT_TIME ? "ms" : "events";

	for (int base = 0; base <= diff; base++) {
		char *weight = show_weight(tree, root->total[base]);

		fprintf(to, "# %s%s %s\n", base ? "before: " : "", weight, unit);
		free(weight);
	}
	if (tree_node(tree, TREE_ROOT)->child && !has_groups(tree))
		for (uint32_t node = TREE_ROOT, i = 0; i < tree->selection->nr_groups; i++) {
			node = tree_node(tree, node)->child;
			fprintf(to, "# %s: %s\n", group_name(tree->selection->groups[i]),
				tree_label(tree, node)->name);
		}
}

void table_print(const struct tree *tree, bool diff, enum row_order order, FILE *to)
{
	struct rows rows = rows_new(tree, diff, order);
	struct widths widths = measure(tree, &rows);

	if (!has_groups(tree))
		widths.group = 0;
	put_sums(tree, diff, to);
	put_head(diff, widths, to);
	for (size_t i = 0; i < rows.nr; i++)
		put_row(tree, &rows.list[i], diff, widths, to);
	free(rows.list);
}
