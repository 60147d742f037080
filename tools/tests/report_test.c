// SPDX-License-Identifier: MIT
/*
 * What reports select and count, and the tables and stacks that people read.
 */
#include "profiles.h"
#include "tool.h"

static char *folded(const struct selection *selection, bool diff)
{
	return written_tree(selection, TREE_FUNCTIONS, diff, folded_write);
}

static void print_by_self(const struct tree *tree, bool diff, FILE *to)
{
	table_print(tree, diff, BY_SELF, to);
}

static void print_by_total(const struct tree *tree, bool diff, FILE *to)
{
	table_print(tree, diff, BY_TOTAL, to);
}

static void selections(void)
{
	struct profile *profile = make_mixed();
	const char *comms[] = { "one", "no", NULL }, *events[] = { "x", NULL };
	const char *full[] = { "a:x", "b:x", NULL }, *part[] = { "a", "a:", ":x", NULL };
	int32_t pids[] = { 2, 3, 0 };
	struct selection selection;

	selection = select_all(profile);
	selection.nr_groups = 0;
	CHECK(select_unit(&selection) && selection.unit == UNIT_EVENTS);
	CHECK(select_any(&selection));
	CHECK(is(folded(&selection, false), "main;f 5\nmain;g 10\n"));
	selection.comms = comms;
	CHECK(is(folded(&selection, false), "main;f 1\nmain;g 2\n"));
	selection.comms = NULL;
	selection.pids = pids;
	CHECK(is(folded(&selection, false), "main;f 4\nmain;g 8\n"));
	selection.pids = NULL;
	selection.events = events;
	CHECK(is(folded(&selection, false), "main;f 5\nmain;g 8\n"));
	selection.events = full;
	CHECK(is(folded(&selection, false), "main;f 5\nmain;g 8\n"));
	selection.events = part;
	CHECK(is(folded(&selection, false), ""));
	CHECK(!select_any(&selection));
	selection.events = NULL;
	selection.from = PROFILE_TICK_NS;
	selection.to = 3 * PROFILE_TICK_NS;
	CHECK(is(folded(&selection, false), "main;f 4\nmain;g 2\n"));
	profile_free(profile);
}

/* One event per cgroup, each of a different thread. */
static struct profile *make_cgroups(void)
{
	static const char *const cgroups[] = { "/a", "/a/b", "/ab", NULL };
	struct profile *profile = profile_new();

	for (size_t i = 0; i < ARRAY_SIZE(cgroups); i++) {
		const struct profile_event event = { .name = "e" };
		const struct profile_task task = {
			.cgroup = cgroups[i], .pid = 1, .tid = i + 1,
		};
		const struct profile_sample sample = {
			.stack = push_functions(profile, "f", 0), .events = 1ULL << i,
			.event = profile_event(profile, &event),
			.task = profile_task(profile, &task),
		};

		CHECK(profile_add(profile, &sample));
	}
	return profile;
}

static void selections_by_thread_and_cgroup(void)
{
	struct profile *profile = make_cgroups();
	const char *one[] = { "/a", NULL }, *slash[] = { "/a/", NULL }, *all[] = { "/", NULL };
	const char *below[] = { "/a/b", "/ab", NULL };
	int32_t tids[] = { 2, 4, 0 };
	struct selection selection = select_all(profile);

	selection.nr_groups = 0;
	select_unit(&selection);
	CHECK(is(folded(&selection, false), "f 15\n"));
	selection.tids = tids;
	CHECK(is(folded(&selection, false), "f 10\n"));
	selection.cgroups = one;
	CHECK(is(folded(&selection, false), "f 2\n"));
	selection.tids = NULL;
	CHECK(is(folded(&selection, false), "f 3\n"));
	selection.cgroups = slash;
	CHECK(is(folded(&selection, false), "f 3\n"));
	selection.cgroups = below;
	CHECK(is(folded(&selection, false), "f 6\n"));
	/* Events without a known cgroup are not selected. */
	selection.cgroups = all;
	CHECK(is(folded(&selection, false), "f 7\n"));
	profile_free(profile);
}

static void units(void)
{
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);
	const char *events[] = { "x", NULL };

	selection.unit = UNIT_TIME;
	CHECK(!select_unit(&selection));
	selection.events = events;
	CHECK(select_unit(&selection));
	selection.unit = UNIT_UNSET;
	selection.nr_groups = 0;
	CHECK(select_unit(&selection) && selection.unit == UNIT_TIME);
	CHECK(is(folded(&selection, false), "main;f 40\nmain;g 50\n"));
	selection.unit = UNIT_EVENTS;
	CHECK(select_unit(&selection));
	CHECK(is(folded(&selection, false), "main;f 5\nmain;g 8\n"));
	selection.from = UINT64_MAX;
	selection.unit = UNIT_UNSET;
	CHECK(select_unit(&selection) && selection.unit == UNIT_EVENTS);
	profile_free(profile);
}

static void groups(void)
{
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);

	select_unit(&selection);
	CHECK(is(folded(&selection, false),
		 "a:x;main;f 1\na:x;main;g 8\na:y;main;g 2\nb:x;main;f 4\n"));
	selection.groups[0] = GROUP_COMM;
	selection.groups[1] = GROUP_PID;
	selection.groups[2] = GROUP_TID;
	selection.groups[3] = GROUP_CGROUP;
	selection.nr_groups = 4;
	CHECK(is(folded(&selection, false),
		 "one;pid 1;tid 2;/c;main;f 1\none;pid 1;tid 2;/c;main;g 2\n"
		 "two;pid 2;tid 3;/c;main;f 4\ntwo\\0733;pid 3;tid 4;/c;main;g 8\n"));
	CHECK(group_of("comm") == GROUP_COMM && group_of("") == GROUP_MAX);
	profile_free(profile);
}

static void no_names(void)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	const struct profile_frame frames[] = { { .file = "/a/b" }, { .file = "/" }, { 0 } };
	const struct profile_event event = { .name = "e" };
	const struct profile_task task = { 0 };
	struct profile_sample sample = { .stack = PROFILE_NO_STACK, .events = 1 };

	sample.event = profile_event(profile, &event);
	sample.task = profile_task(profile, &task);
	CHECK(profile_add(profile, &sample));
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		sample.stack = profile_stack(profile, sample.stack,
					     profile_frame(profile, &frames[i]));
	CHECK(profile_add(profile, &sample));
	selection.groups[0] = GROUP_COMM;
	select_unit(&selection);
	CHECK(is(folded(&selection, false), "[unknown] 1\n[unknown];[b];[unknown];[unknown] 1\n"));
	profile_free(profile);
}

static void self_and_total(void)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);

	/* f calls itself, g through f; its total counts once. */
	add_folded(profile, "main;f;f 10\nmain;f;g;f 20\nmain;g 30\nmain 40\n", false);
	select_unit(&selection);
	CHECK(is(written_tree(&selection, TREE_FILES, false, print_by_self),
		 "# 100 events\n# event: e\n"
		 "#  Self%  Total%         Self        Total  File  Function\n"
		 "  40.00% 100.00%           40          100  a     main\n"
		 "  30.00%  50.00%           30           50  a     g\n"
		 "  30.00%  30.00%           30           30  a     f\n"));
	selection.min_share = 40;
	CHECK(is(written_tree(&selection, TREE_FILES, false, print_by_total),
		 "# 100 events\n# event: e\n"
		 "#  Self%  Total%         Self        Total  File  Function\n"
		 "  40.00% 100.00%           40          100  a     main\n"
		 "  30.00%  50.00%           30           50  a     g\n"));
	profile_free(profile);
}

static void tables_of_groups(void)
{
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);
	const char *events[] = { "x", NULL };

	selection.events = events;
	select_unit(&selection);
	CHECK(is(written_tree(&selection, TREE_FILES, false, print_by_total),
		 "# 0.000 ms\n"
		 "#  Self%  Total%         Self        Total  Group  File  Function\n"
		 "   0.00%  66.67%        0.000        0.000  a:x    a     main\n"
		 "  55.56%  55.56%        0.000        0.000  a:x    a     g\n"
		 "  33.33%  33.33%        0.000        0.000  b:x    a     f\n"
		 "   0.00%  33.33%        0.000        0.000  b:x    a     main\n"
		 "  11.11%  11.11%        0.000        0.000  a:x    a     f\n"));
	profile_free(profile);
}

/* One long name does not make all rows as long. */
static void tables_with_long_names(void)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	char *name = need(calloc(1, 10001)), *table;

	selection.groups[0] = GROUP_COMM;
	memset(name, 'n', 10000);
	ADD(profile, "main", .comm = name, .pid = 1, .events = 1);
	for (int i = 1; i < 10; i++)
		ADD(profile, "main", .comm = name + 10000 - i, .pid = 1, .events = 1);
	table = written_tree(&selection, TREE_FILES, false, print_by_self);
	CHECK(strstr(table, name) && strlen(table) < 13000);
	free(table);
	free(name);
	profile_free(profile);
}

static void tables_of_lines(void)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	const struct profile_frame frames[] = {
		{ .function = "main", .file = "/bin/a", .source = "/s/a.c", .line = 3 },
		{ .function = "f", .file = "/bin/a", .source = "/s/a.c", .line = 9,
		  .flags = PROFILE_INLINED },
		{ .function = "f", .file = "/bin/a", .source = "/s/a.c", .line = 10,
		  .flags = PROFILE_INLINED },
		{ .function = "k", .flags = PROFILE_KERNEL }, { .function = "j" },
		{ .function = "m", .flags = PROFILE_MARK },
	};
	const struct profile_event event = { .name = "e" };
	const struct profile_task task = { 0 };

	for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++) {
		const struct profile_sample sample = {
			.stack = profile_stack(profile, PROFILE_NO_STACK,
					       profile_frame(profile, &frames[i])),
			.event = profile_event(profile, &event),
			.task = profile_task(profile, &task), .events = 60 - i,
		};

		CHECK(profile_add(profile, &sample));
	}
	selection.nr_groups = 0;
	select_unit(&selection);
	CHECK(is(written_tree(&selection, TREE_LINES, false, print_by_self),
		 "# 345 events\n"
		 "#  Self%  Total%         Self        Total  File      Function\n"
		 "  17.39%  17.39%           60           60  a.c:3     main\n"
		 "  17.10%  17.10%           59           59  a.c:9     f (inlined)\n"
		 "  16.81%  16.81%           58           58  a.c:10    f (inlined)\n"
		 "  16.52%  16.52%           57           57  [kernel]  k [k]\n"
		 "  16.23%  16.23%           56           56  [memory]  j\n"
		 "  15.94%  15.94%           55           55  -         m\n"));
	CHECK(is(folded(&selection, false), "f_[i] 117\nj 56\nk_[k] 57\nm 55\nmain 60\n"));
	CHECK(is(listed(&selection),
		 "60 e\n\tmain+0x0 (/bin/a+0x0) at /s/a.c:3\n\n"
		 "59 e\n\tf (inlined) at /s/a.c:9\n\n"
		 "58 e\n\tf (inlined) at /s/a.c:10\n\n"
		 "57 e\n\tk+0x0 [k] (0x0)\n\n56 e\n\tj+0x0 (0x0)\n\n55 e\n\tm\n\n"));
	profile_free(profile);
}

static void differences(void)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	bool good;

	add_folded(profile, "main;f 3\nmain;g 1\n", false);
	add_folded(profile, "main;f 3\nmain;h 9\n", true);
	select_unit(&selection);
	CHECK(is(folded(&selection, true), "e;main;f 3 3\ne;main;g 0 1\ne;main;h 9 0\n"));
	good = is(written_tree(&selection, TREE_FILES, true, print_by_self),
		  "# 4 events\n# before: 12 events\n# event: e\n"
		  "#  Self%   Change  Total%   Change         Self       before        Total       before  File  Function\n"
		  "   0.00%   -75.00   0.00%   -75.00            0            9            0            9  a     h\n"
		  "  75.00%   +50.00  75.00%   +50.00            3            3            3            3  a     f\n"
		  "  25.00%   +25.00  25.00%   +25.00            1            0            1            0  a     g\n"
		  "   0.00%    +0.00 100.00%    +0.00            0            0            4           12  a     main\n");
	CHECK(good);
	profile_free(profile);
}

static void stacks_that_are_listed(void)
{
	struct profile *profile = make_mixed();
	struct selection selection = select_all(profile);
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	ADD(profile, .functions = "main;g", .event = "a:x", .base = true, .events = 9);
	select_unit(&selection);
	selection.min_share = 30;
	CHECK(listing_write(&selection, NULL) == 4);
	CHECK(listing_write(&selection, to) == 4);
	fclose(to);
	CHECK(is(text, "8 a:x\n\tg+0x0 (/bin/a+0x0)\n\tmain+0x0 (/bin/a+0x0)\n\n"));
	profile_free(profile);
}

int main(void)
{
	RUN(selections);
	RUN(selections_by_thread_and_cgroup);
	RUN(units);
	RUN(groups);
	RUN(no_names);
	RUN(self_and_total);
	RUN(tables_of_groups);
	RUN(tables_with_long_names);
	RUN(tables_of_lines);
	RUN(differences);
	RUN(stacks_that_are_listed);
	return check_end();
}
