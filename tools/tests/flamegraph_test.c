// SPDX-License-Identifier: MIT
/*
 * What is drawn of folded stacks: each function once for each different caller,
 * as wide as its share, and nothing that XML does not allow.
 */
#include <errno.h>

#include "check.h"
#include "flamegraph.h"

static char *svg;

/* The boxes are in 1180 pixels, from 10 on. */
static int draw(const char *text)
{
	FILE *folded = tmpfile(), *to;
	size_t size;
	int error;

	if (!folded)
		abort();
	fputs(text, folded);
	free(svg);
	to = open_memstream(&svg, &size);
	error = flamegraph_draw(folded, to);
	fclose(to);
	fclose(folded);
	return error;
}

/* The sanitizer's strstr() would look at all that follows, each time. */
static int count(const char *text)
{
	size_t len = strlen(text);
	int nr = 0;

	for (const char *at = svg; *at; at++)
		nr += *at == *text && !strncmp(at, text, len);
	return nr;
}

/* Whether @name has @box, as x, y and width. */
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
	CHECK(!draw("event;main;f 10\n"));
	CHECK(count("<svg ") == 1 && count("</svg>\n") == 1);
	CHECK(count("<title>") == 4);
	CHECK(count("(10 events, 100.00 %)") == 4);
	CHECK(has_box("all", "x=\"10.0\" y=\"88.0\" width=\"1180.0\""));
	CHECK(has_box("event", "x=\"10.0\" y=\"72.0\" width=\"1180.0\""));
	CHECK(has_box("f", "x=\"10.0\" y=\"40.0\" width=\"1180.0\""));
	CHECK(count(">main</text>") == 1);
}

static void shares_of_callers(void)
{
	CHECK(!draw("e;main;b 30\ne;main;a;c 60\ne;main 10\n"));
	CHECK(count("<title>main (100 events, 100.00 %)") == 1);
	CHECK(count("<title>a (60 events, 60.00 %)") == 1);
	/* what ends in main comes first */
	CHECK(has_box("a", "x=\"128.0\" y=\"56.0\" width=\"708.0\""));
	CHECK(has_box("c", "x=\"128.0\" y=\"40.0\" width=\"708.0\""));
	CHECK(has_box("b", "x=\"836.0\" y=\"56.0\" width=\"354.0\""));
}

/* A name that continues another one is no frame below it. */
static void names_that_begin_alike(void)
{
	CHECK(!draw("e;a;x 1\ne;a b;x 1\ne;a!;x 1\ne;a 1\ne;a;y 1\ne;ab;x 1\n"));
	CHECK(count("<title>a (3 events") == 1);
	CHECK(count("<title>a b (1 events") == 1);
	CHECK(count("<title>a! (1 events") == 1);
	CHECK(count("<title>ab (1 events") == 1);
	CHECK(count("<title>x (1 events") == 4);
}

static void names_of_another_syntax(void)
{
	CHECK(!draw("e;operator<<&>\";gr\xc3\xbc\xc3\x9f;a\x02\x1b]]>;\xff\xc3;"
		    "\xed\xa0\x80;\xc0\xaf;\xf4\x90\x80\x80 1\n"));
	CHECK(count("<title>operator&lt;&lt;&amp;&gt;\" (") == 1);
	CHECK(count("<title>gr\xc3\xbc\xc3\x9f (") == 1);
	CHECK(count("<title>a??]]&gt; (") == 1);
	CHECK(count("<title>?? (") == 2);
	CHECK(count("<title>??? (") == 1);
	CHECK(count("<title>???? (") == 1);
}

static void names_that_are_too_long(void)
{
	CHECK(!draw("e;abcdefghij\xc3\xbc\xc3\xbc 4\ne;zz 96\n"));
	CHECK(count(">abcd..</text>") == 1);
	CHECK(!draw("e;abcdefgh\xc3\xbc\xc3\xbcyz 7\ne;zz 93\n"));
	CHECK(count(">abcdefgh\xc3\xbc..</text>") == 1);
	CHECK(!draw("e;thin 1\ne;zz 99999\n"));
	CHECK(count("<title>thin") == 0);
}

static void a_truncated_stack(void)
{
	CHECK(!draw("e;[truncated: no-rule];f 3\n"));
	CHECK(count("<title>[truncated: no-rule] (3 events") == 1);
}

static void nothing(void)
{
	CHECK(!draw(""));
	CHECK(!*svg);
	CHECK(!draw("e;f 0\nno-number\n"));
	CHECK(!*svg);
}

static void a_full_disk(void)
{
	FILE *folded = tmpfile(), *full = fopen("/dev/full", "w");

	if (!folded || !full)
		abort();
	fputs("e;f 1\n", folded);
	CHECK(flamegraph_draw(folded, full) == ENOSPC);
	fclose(full);
	fclose(folded);
}

/* As deep as the kernel gives stacks, and wider. */
static void many_stacks(void)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	for (int line = 0; line < 2000; line++) {
		fprintf(to, "e");
		for (int depth = 0; depth < line % 512; depth++)
			fprintf(to, ";f%d", line % 7 ? depth : line);
		fprintf(to, " %d\n", 1 + line % 3);
	}
	fclose(to);
	CHECK(!draw(text));
	CHECK(count("<title>e (3999 events, 100.00 %)") == 1);
	CHECK(count("<g>") == count("</g>"));
	free(text);
}

int main(void)
{
	RUN(one_stack);
	RUN(shares_of_callers);
	RUN(names_that_begin_alike);
	RUN(names_of_another_syntax);
	RUN(names_that_are_too_long);
	RUN(a_truncated_stack);
	RUN(nothing);
	RUN(a_full_disk);
	RUN(many_stacks);
	free(svg);
	return check_end();
}
