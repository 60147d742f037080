// SPDX-License-Identifier: MIT
/*
 * Flame graphs of folded stacks: each function is drawn once for each different caller, with its
 * share as the width, and the output is well-formed XML.
 */
#include "profiles.h"

static char *svg;

/* The boxes are in 1180 pixels, from 10 on. */
static void draw_parts(const char *text, const char *before, double min_share)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);

	add_folded(profile, text, false);
	if (before)
		add_folded(profile, before, true);
	selection.min_share = min_share;
	select_unit(&selection);
	free(svg);
	svg = written_tree(&selection, TREE_FUNCTIONS, before, flamegraph_write);
	profile_free(profile);
}

static void draw(const char *text)
{
	draw_parts(text, NULL, 0);
}

/* The sanitizer's strstr() would check the whole rest of the text on each call. */
static int count(const char *text)
{
	size_t len = strlen(text);
	int nr = 0;

	for (const char *at = svg; *at; at++)
		nr += *at == *text && !strncmp(at, text, len);
	return nr;
}

/* Does @name have @box, given as x, y and width? */
static bool has_box(const char *name, const char *box)
{
	char want[200];
	const char *at;

	snprintf(want, sizeof(want), "<title>%s (", name);
	at = strstr(svg, want);
	at = at ? strstr(at, "<rect ") : NULL;
	return at && !strncmp(at + 6, box, strlen(box));
}

static void one_stack(void)
{
	draw("main;f 10\n");
	CHECK(count("<svg ") == 1 && count("</svg>\n") == 1);
	CHECK(count("<title>") == 4);
	CHECK(count("(10 events, 100.00 %)") == 4);
	CHECK(has_box("all", "x=\"10.0\" y=\"96.0\" width=\"1180.0\""));
	CHECK(has_box("e", "x=\"10.0\" y=\"80.0\" width=\"1180.0\""));
	CHECK(has_box("f", "x=\"10.0\" y=\"48.0\" width=\"1180.0\""));
	CHECK(count(">main</text>") == 1);
	CHECK(count("data-s=\"0\" data-n=\"10\" data-d=\"3\"") == 1);
}

static void shares_of_callers(void)
{
	draw("main;b 30\nmain;a;c 60\nmain 10\n");
	CHECK(count("<title>main (100 events, 100.00 %)") == 1);
	CHECK(count("<title>a (60 events, 60.00 %)") == 1);
	/* stacks that end in main come first */
	CHECK(has_box("a", "x=\"128.0\" y=\"64.0\" width=\"708.0\""));
	CHECK(has_box("c", "x=\"128.0\" y=\"48.0\" width=\"708.0\""));
	CHECK(has_box("b", "x=\"836.0\" y=\"64.0\" width=\"354.0\""));
}

/* A stack that is only in the base is not drawn, but counts for the change. */
static void changes(void)
{
	draw_parts("main;a 30\nmain;b 50\nmain;c 20\n", "main;a 5\nmain;b 5\nmain;d 10\n", 0);
	CHECK(count("<title>a (30 events, 30.00 %, before 25.00 %, change +5.00)") == 1);
	CHECK(count("<title>b (50 events, 50.00 %, before 25.00 %, change +25.00)") == 1);
	CHECK(count("<title>c (20 events, 20.00 %, before 0.00 %, change +20.00)") == 1);
	CHECK(count("<title>main (100 events, 100.00 %, before 100.00 %, change +0.00)") == 1);
	CHECK(count("<title>d ") == 0);
	CHECK(count("fill=\"rgb(240,137,137)\"") == 1);
	CHECK(count("fill=\"rgb(240,60,60)\"") == 2);
	CHECK(count("fill=\"rgb(215,215,215)\"") == 3);
	draw_parts("main;a 1\nmain;b 9\n", "main;a 1\n", 0);
	CHECK(count("fill=\"rgb(60,60,240)\"") == 1);
}

static void parts_that_are_small(void)
{
	draw_parts("main;a 90\nmain;b 10\n", NULL, 10.5);
	CHECK(count("<title>a ") == 1 && count("<title>b ") == 0);
	draw_parts("main;a 90\nmain;b 10\n", NULL, 10);
	CHECK(count("<title>b ") == 1);
	draw("thin 1\nzz 99999\n");
	CHECK(count("<title>thin") == 0);
}

/* A name that has another one as its prefix is not a child frame of it. */
static void names_that_begin_alike(void)
{
	draw("a;x 1\na b;x 1\na!;x 1\na 1\na;y 1\nab;x 1\n");
	CHECK(count("<title>a (3 events") == 1);
	CHECK(count("<title>a b (1 events") == 1);
	CHECK(count("<title>a! (1 events") == 1);
	CHECK(count("<title>ab (1 events") == 1);
	CHECK(count("<title>x (1 events") == 4);
}

static void names_of_another_syntax(void)
{
	draw("operator<<&>\";gr\xc3\xbc\xc3\x9f;a\x02\x1b]]>;\xff 1\n");
	CHECK(count("<title>operator&lt;&lt;&amp;&gt;&quot; (") == 1);
	CHECK(count("<title>gr\xc3\xbc\xc3\x9f (") == 1);
	CHECK(count("<title>a\\002\\033]]&gt; (") == 1);
	CHECK(count("<title>\\377 (") == 1);
}

static void names_that_are_too_long(void)
{
	draw("abcdefghij\xc3\xbc\xc3\xbc 4\nzz 96\n");
	CHECK(count(">abcd..</text>") == 1);
	draw("abcdefgh\xc3\xbc\xc3\xbcyz 7\nzz 93\n");
	CHECK(count(">abcdefgh\xc3\xbc..</text>") == 1);
	draw("abcdef 4\nzz 96\n");
	CHECK(count(">abcdef</text>") == 1);
}

/* Colours that are unique to these frames. */
static void kinds_of_frames(void)
{
	static const struct {
		uint32_t flags;
		const char *title, *fill;
	} kinds[] = {
		{ PROFILE_KERNEL, "<title>f [k] (", "fill=\"rgb(206,142,0)\"" },
		{ PROFILE_INLINED, "<title>f (inlined) (", "fill=\"rgb(92,191,191)\"" },
		{ PROFILE_MARK, "<title>f (", "fill=\"rgb(190,190,190)\"" },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct profile *profile = profile_new();
		struct selection selection = select_all(profile);
		const struct profile_event event = { .name = "e" };
		const struct profile_task task = { 0 };
		const struct profile_sample sample = {
			.stack = push_functions(profile, "f", kinds[i].flags), .events = 1,
			.event = profile_event(profile, &event),
			.task = profile_task(profile, &task),
		};

		CHECK(profile_add(profile, &sample));
		selection.unit = UNIT_EVENTS;
		free(svg);
		svg = written_tree(&selection, TREE_FUNCTIONS, false, flamegraph_write);
		CHECK(count(kinds[i].title) == 1);
		CHECK(count(kinds[i].fill) == 1);
		profile_free(profile);
	}
}

static void times(void)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);

	ADD(profile, .functions = "f", .events = 1, .ns = 1234567, .timed = true);
	CHECK(select_unit(&selection));
	free(svg);
	svg = written_tree(&selection, TREE_FUNCTIONS, false, flamegraph_write);
	CHECK(count("<title>f (1.235 ms, 100.00 %)") == 1);
	profile_free(profile);
}

/* As deep as the kernel's stacks can be, and wider. */
static void many_stacks(void)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	for (int line = 0; line < 2000; line++) {
		fprintf(to, "main");
		for (int depth = 0; depth < line % 512; depth++)
			fprintf(to, ";f%d", line % 7 ? depth : line);
		fprintf(to, " %d\n", 1 + line % 3);
	}
	fclose(to);
	draw(text);
	CHECK(count("<title>main (3999 events, 100.00 %)") == 1);
	CHECK(count("<g class=") == count("</g>"));
	free(text);
}

int main(void)
{
	RUN(one_stack);
	RUN(shares_of_callers);
	RUN(changes);
	RUN(parts_that_are_small);
	RUN(names_that_begin_alike);
	RUN(names_of_another_syntax);
	RUN(names_that_are_too_long);
	RUN(kinds_of_frames);
	RUN(times);
	RUN(many_stacks);
	free(svg);
	return check_end();
}
