// SPDX-License-Identifier: MIT
/*
 * Flame graphs as SVG: a box for each function of each different stack, as wide
 * as its share of the weight, on top of the box of its caller.  A script in it
 * zooms and searches.
 */
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "tool.h"
#include "writers.h"

#define WIDTH		1200.0
#define MARGIN		10.0
#define TOP		48.0	/* for the title */
#define BOTTOM		28.0	/* for the frame under the pointer */
#define BOX		16.0	/* height of a frame */
#define LETTER		7.0	/* approximate width at a height of 12 pixels */
#define NARROWEST	0.1	/* of those drawn */

/* Change of the share with full colour, in percentage points. */
#define FULL_COLOUR	10.0

struct drawing {
	const struct tree *tree;
	FILE *svg;
	bool diff;
	uint64_t *starts;	/* of nodes: weight to the left of it */
};

static const char script[] =
#include "flamegraph.js.h"
;

/* At most @most letters, with two dots at the end if there are more. */
static void put_short(FILE *svg, const char *text, size_t most)
{
	size_t letters = 0, end = 0;
	char *cut;

	for (size_t i = 0; text[i]; letters++) {
		i += text_letter(text + i);
		if (letters < most - 2)
			end = i;
	}
	if (letters <= most) {
		text_put_xml(text, svg);
		return;
	}
	cut = need(strndup(text, end));
	text_put_xml(cut, svg);
	fputs("..", svg);
	free(cut);
}

/* The same name has the same colour wherever it is. */
static unsigned int hash_of(const char *name)
{
	unsigned int hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return hash;
}

/* Red: its share has grown; blue: it has shrunk; grey: neither. */
static void put_change(FILE *svg, double change)
{
	double part = (change < 0 ? -change : change) / FULL_COLOUR;
	int pale = 215 - 155 * (part < 1 ? part : 1);

	if (change > 0)
		fprintf(svg, "rgb(240,%d,%d)", pale, pale);
	else if (change < 0)
		fprintf(svg, "rgb(%d,%d,240)", pale, pale);
	else
		fputs("rgb(215,215,215)", svg);
}

static void put_colour(FILE *svg, const struct tree_label *label)
{
	unsigned int hash = hash_of(label->name);
	unsigned int a = hash % 50, b = hash / 50 % 60;

	if (label->flags & PROFILE_MARK)
		fputs("rgb(190,190,190)", svg);
	else if (label->flags & PROFILE_KERNEL)
		fprintf(svg, "rgb(%u,%u,0)", 205 + a, 110 + b);
	else if (label->flags & PROFILE_INLINED)
		fprintf(svg, "rgb(%u,%u,%u)", 60 + b, 190 + a, 190 + a);
	else
		fprintf(svg, "rgb(%u,%u,%u)", 205 + a, 60 + hash / 50 % 150, hash / 7500 % 60);
}

static double change_of(const struct tree *tree, const struct tree_node *node)
{
	return tree_share(tree, node->total[0], false) - tree_share(tree, node->total[1], true);
}

static void put_title(const struct drawing *drawing, const struct tree_node *node,
		      const struct tree_label *label)
{
	const struct tree *tree = drawing->tree;
	FILE *svg = drawing->svg;

	fputs("<title>", svg);
	text_put_xml(label->name, svg);
	if (label->flags & PROFILE_KERNEL)
		fputs(" [k]", svg);
	if (label->flags & PROFILE_INLINED)
		fputs(" (inlined)", svg);
	if (tree->selection->unit == UNIT_TIME)
		fprintf(svg, " (%.3f ms", node->total[0] / 1e6);
	else
		fprintf(svg, " (%llu events", (unsigned long long)node->total[0]);
	fprintf(svg, ", %.2f %%", tree_share(tree, node->total[0], false));
	if (drawing->diff)
		fprintf(svg, ", before %.2f %%, change %+.2f",
			tree_share(tree, node->total[1], true), change_of(tree, node));
	fputs(")</title>", svg);
}

static void put_box(const struct drawing *drawing, uint32_t nr, double x, double width)
{
	const struct tree *tree = drawing->tree;
	const struct tree_node *node = tree_node(tree, nr);
	const struct tree_label *label = tree_label(tree, nr);
	double y = TOP + (tree->depth - node->depth) * BOX;
	size_t shown = width / LETTER;
	FILE *svg = drawing->svg;

	fprintf(svg, "<g class=\"f\" data-s=\"%llu\" data-n=\"%llu\" data-d=\"%u\">",
		(unsigned long long)drawing->starts[nr], (unsigned long long)node->total[0],
		node->depth);
	put_title(drawing, node, label);
	fprintf(svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" fill=\"",
		x, y, width, BOX - 1);
	if (drawing->diff)
		put_change(svg, change_of(tree, node));
	else
		put_colour(svg, label);
	fprintf(svg, "\"/><text x=\"%.1f\" y=\"%.1f\">", x + 3, y + BOX - 4);
	if (shown >= 3)
		put_short(svg, label->name, shown);
	fputs("</text></g>\n", svg);
}

/* Stacks that end in a function come before its callees. */
static void place_callees(const struct drawing *drawing, uint32_t nr)
{
	const struct tree *tree = drawing->tree;
	uint64_t start = drawing->starts[nr] + tree_node(tree, nr)->self[0];

	for (uint32_t i = tree_node(tree, nr)->child; i; i = tree_node(tree, i)->next) {
		drawing->starts[i] = start;
		start += tree_node(tree, i)->total[0];
	}
}

static void put_boxes(const struct drawing *drawing)
{
	const struct tree *tree = drawing->tree;
	double scale = (WIDTH - 2 * MARGIN) / tree_node(tree, TREE_ROOT)->total[0];
	uint32_t node = TREE_ROOT;

	do {
		const struct tree_node *at = tree_node(tree, node);
		double width = at->total[0] * scale;
		bool wide = width >= NARROWEST && tree_shows(tree, at->total);

		if (wide) {
			put_box(drawing, node, MARGIN + drawing->starts[node] * scale, width);
			place_callees(drawing, node);
		}
		node = tree_next(tree, node, TREE_ROOT, wide);
	} while (node);
}

static void put_head(const struct drawing *drawing, double height)
{
	const char *unit = drawing->tree->selection->unit == UNIT_TIME ? "time" : "events";
	FILE *svg = drawing->svg;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", svg);
	fprintf(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" ",
		WIDTH, height);
	fprintf(svg, "viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"12\">\n",
		WIDTH, height);
	fputs("<style>.f,.button{cursor:pointer}.above{opacity:.5}", svg);
	fputs(".f:hover rect{stroke:black;stroke-width:.5}</style>\n", svg);
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"#eee\"/>\n", svg);
	fprintf(svg, "<text x=\"%.0f\" y=\"24\" text-anchor=\"middle\" font-size=\"17\">",
		WIDTH / 2);
	fprintf(svg, "%s by %s</text>\n", drawing->diff ? "Change of stacks" : "Stacks", unit);
	fprintf(svg, "<text id=\"reset\" class=\"button\" x=\"%.0f\" y=\"24\" ", MARGIN);
	fputs("visibility=\"hidden\">Reset zoom</text>\n", svg);
	fprintf(svg, "<text id=\"search\" class=\"button\" x=\"%.0f\" y=\"24\" ", WIDTH - MARGIN);
	fputs("text-anchor=\"end\">Search (Ctrl-F)</text>\n", svg);
	fprintf(svg, "<text id=\"details\" x=\"%.0f\" y=\"%.0f\"> </text>\n", MARGIN, height - 10);
	fprintf(svg, "<text id=\"matched\" x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\"> </text>\n",
		WIDTH - MARGIN, height - 10);
}

void flamegraph_write(const struct tree *tree, bool diff, FILE *to)
{
	const struct drawing drawing = {
		.tree = tree, .svg = to, .diff = diff,
		.starts = need(calloc(tree->nodes.nr, sizeof(*drawing.starts))),
	};

	put_head(&drawing, TOP + (tree->depth + 1) * BOX + BOTTOM);
	put_boxes(&drawing);
	fprintf(to, "<script><![CDATA[\n%s]]></script>\n</svg>\n", script);
	free(drawing.starts);
}
