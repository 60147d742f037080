// SPDX-License-Identifier: MIT
/*
 * Flame graphs as SVG: a box for each function of each different stack, as wide
 * as its share of the events, on top of the box of its caller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "flamegraph.h"
#include "tool.h"

#define WIDTH		1200.0
#define MARGIN		10.0
#define TOP		40.0	/* for the title */
#define BOX		16.0	/* height of a frame */
#define LETTER		7.0	/* about what one takes of 12 pixels' height */
#define NARROWEST	0.1	/* that is drawn */

/* Between frames while lines are sorted: before all that a name may hold. */
#define SEPARATOR	'\1'

/* A stack, outermost frame first, from the frame on that is looked at. */
struct line {
	char *rest;		/* NULL: none is left */
	unsigned long count;
};

struct drawing {
	FILE *svg;
	struct line *lines;
	size_t nr;
	unsigned long total;
	size_t depth;		/* of the deepest */
};

static void add_line(struct drawing *drawing, char *text)
{
	char *blank = strrchr(text, ' ');
	struct line *line;
	size_t depth = 1;

	if (!blank)
		return;
	*blank = '\0';
	for (char *c = text; (c = strchr(c, ';')); depth++)
		*c = SEPARATOR;
	drawing->lines = need(reallocarray(drawing->lines, drawing->nr + 1,
					   sizeof(*line)));
	line = &drawing->lines[drawing->nr++];
	line->rest = need(strdup(text));
	line->count = strtoul(blank + 1, NULL, 10);
	drawing->total += line->count;
	if (drawing->depth < depth)
		drawing->depth = depth;
}

static int by_frames(const void *a, const void *b)
{
	const struct line *left = a, *right = b;

	return strcmp(left->rest, right->rest);
}

/* Bytes of the character there, or 0 if XML has no such character. */
static size_t letter_bytes(const char *text, size_t len)
{
	unsigned char c = *text;
	size_t bytes = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
	static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int value = bytes == 1 ? c : c & (0xff >> (bytes + 1));

	if (bytes > len || (c >= 0x80 && c < 0xc0) || c >= 0xf8)
		return 0;
	for (size_t i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (text[i] & 0x3f);
	}
	if (value < least[bytes] || value < ' ' || (value >= 0xd800 && value < 0xe000) ||
	    value == 0xfffe || value == 0xffff || value > 0x10ffff)
		return 0;
	return bytes;
}

static void put_letter(FILE *svg, const char *text, size_t bytes)
{
	if (*text == '&')
		fputs("&amp;", svg);
	else if (*text == '<')
		fputs("&lt;", svg);
	else if (*text == '>')
		fputs("&gt;", svg);
	else if (bytes)
		fwrite(text, bytes, 1, svg);
	else
		putc('?', svg);
}

/* At most @most letters, the last two as dots if there are more. */
static void put_text(FILE *svg, const char *text, size_t len, size_t most)
{
	size_t letters = 0, bytes, i;

	for (i = 0; i < len; i += bytes ?: 1, letters++)
		bytes = letter_bytes(text + i, len - i);
	if (letters > most)
		most -= 2;
	for (i = 0, letters = most < letters ? most : letters; letters; letters--) {
		bytes = letter_bytes(text + i, len - i);
		put_letter(svg, text + i, bytes);
		i += bytes ?: 1;
	}
	if (i < len)
		fputs("..", svg);
}

/* The same name has the same colour wherever it is. */
static void put_colour(FILE *svg, const char *name, size_t len)
{
	unsigned int hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	fprintf(svg, "rgb(%u,%u,%u)", 205 + hash % 50, 60 + hash / 50 % 150,
		hash / 7500 % 60);
}

static void draw_box(const struct drawing *drawing, const char *name, size_t len,
		     size_t depth, unsigned long before, unsigned long count)
{
	double scale = (WIDTH - 2 * MARGIN) / drawing->total;
	double x = MARGIN + before * scale, width = count * scale;
	double y = TOP + (drawing->depth - depth) * BOX;
	size_t shown = width / LETTER;
	FILE *svg = drawing->svg;

	if (width < NARROWEST)
		return;
	fputs("<g><title>", svg);
	put_text(svg, name, len, len);
	fprintf(svg, " (%lu events, %.2f %%)</title>", count,
		100.0 * count / drawing->total);
	fprintf(svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"2\" fill=\"",
		x, y, width, BOX - 1);
	put_colour(svg, name, len);
	fputs("\"/>", svg);
	if (shown >= 3) {
		fprintf(svg, "<text x=\"%.1f\" y=\"%.1f\">", x + 3, y + BOX - 4);
		put_text(svg, name, len, shown);
		fputs("</text>", svg);
	}
	fputs("</g>\n", svg);
}

static bool starts_with(const struct line *line, const char *name, size_t len)
{
	return line->rest && !strncmp(line->rest, name, len) &&
	       (!line->rest[len] || line->rest[len] == SEPARATOR);
}

/* Sorted lines that have all frames below @depth in common. */
static void draw_lines(const struct drawing *drawing, struct line *lines,
		       size_t nr, size_t depth, unsigned long before)
{
	size_t first, i = 0;

	while (i < nr) {
		const char *name = lines[i].rest;
		size_t len = name ? strcspn(name, "\1") : 0;
		unsigned long count = 0;

		if (!name) {
			before += lines[i++].count;
			continue;
		}
		for (first = i; i < nr && starts_with(&lines[i], name, len); i++) {
			count += lines[i].count;
			lines[i].rest = lines[i].rest[len] ?
					lines[i].rest + len + 1 : NULL;
		}
		draw_box(drawing, name, len, depth, before, count);
		draw_lines(drawing, lines + first, i - first, depth + 1, before);
		before += count;
	}
}

static void draw(const struct drawing *drawing)
{
	double height = TOP + (drawing->depth + 1) * BOX + MARGIN;
	FILE *svg = drawing->svg;

	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n", svg);
	fprintf(svg, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" ",
		WIDTH, height);
	fprintf(svg, "viewBox=\"0 0 %.0f %.0f\" font-family=\"monospace\" font-size=\"12\">\n",
		WIDTH, height);
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"#eee\"/>\n", svg);
	fprintf(svg, "<text x=\"%.0f\" y=\"24\" text-anchor=\"middle\" font-size=\"17\">",
		WIDTH / 2);
	fputs("User stacks of events</text>\n", svg);
	draw_box(drawing, "all", strlen("all"), 0, 0, drawing->total);
	draw_lines(drawing, drawing->lines, drawing->nr, 1, 0);
	fputs("</svg>\n", svg);
}

int flamegraph_draw(FILE *folded, FILE *svg)
{
	struct drawing drawing = { .svg = svg };
	char *text = NULL;
	char **whole;
	size_t room = 0;
	ssize_t len;

	rewind(folded);
	while ((len = getline(&text, &room, folded)) > 0)
		add_line(&drawing, text);
	free(text);
	if (drawing.nr)
		qsort(drawing.lines, drawing.nr, sizeof(*drawing.lines), by_frames);
	/* Drawing uses up what the lines point to. */
	whole = need(calloc(drawing.nr + 1, sizeof(*whole)));
	for (size_t i = 0; i < drawing.nr; i++)
		whole[i] = drawing.lines[i].rest;
	if (drawing.total)
		draw(&drawing);
	for (size_t i = 0; i < drawing.nr; i++)
		free(whole[i]);
	free(whole);
	free(drawing.lines);
	if (ferror(folded) || fflush(svg) || ferror(svg))
		return errno ? errno : EIO;
	return 0;
}
