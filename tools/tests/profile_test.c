// SPDX-License-Identifier: MIT
/*
 * Profiles: no duplicates, no overflow of sums, printable strings.
 */
#include <sys/wait.h>

#include "profiles.h"
#include "report/index.h"
#include "report/text.h"
#include "report/tree.h"
#include "tool.h"

static bool cleans(const char *text, const char *wanted)
{
	char *clean = text_clean(text), *twice = text_clean(clean);
	bool good = !strcmp(clean, wanted) && !strcmp(clean, twice);

	if (!good)
		printf("# '%s', '%s'\n", clean, twice);
	free(clean);
	free(twice);
	return good;
}

static void texts_are_clean(void)
{
	CHECK(cleans("", ""));
	CHECK(cleans("operator<<&>\"\\", "operator<<&>\"\\"));
	CHECK(cleans("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"));
	CHECK(cleans("\xe2\x82\xac\xf0\x9f\x98\x80", "\xe2\x82\xac\xf0\x9f\x98\x80"));
	CHECK(cleans("a\n\t\x1b[m\x7f", "a\\012\\011\\033[m\\177"));
	CHECK(cleans("\xc2\x9b\xc2\x80", "\\302\\233\\302\\200"));
	CHECK(cleans("\xc2\xa0", "\xc2\xa0"));
	CHECK(cleans("\xff\xc3", "\\377\\303"));
	/* a surrogate, overlong ones, beyond Unicode, none that XML has */
	CHECK(cleans("\xed\xa0\x80", "\\355\\240\\200"));
	CHECK(cleans("\xc0\xaf", "\\300\\257"));
	CHECK(cleans("\xe0\x80\xaf", "\\340\\200\\257"));
	CHECK(cleans("\xf4\x90\x80\x80", "\\364\\220\\200\\200"));
	CHECK(cleans("\xf8\x88\x80\x80\x80", "\\370\\210\\200\\200\\200"));
	CHECK(cleans("\xef\xbf\xbe\xef\xbf\xbf", "\\357\\277\\276\\357\\277\\277"));
	CHECK(cleans("\xe2\x82", "\\342\\202"));
}

static void everything_is_kept_once(void)
{
	struct profile *profile = profile_new();
	struct profile_counts counts;

	for (int i = 0; i < 5; i++)
		ADD(profile, .functions = "main;f;g", .comm = "c", .events = 2);
	counts = profile_counts(profile);
	CHECK(counts.events == 1 && counts.tasks == 1 && counts.frames == 3);
	CHECK(counts.stacks == 3 && counts.samples == 1 && !counts.notes);
	CHECK(profile_sample_at(profile, 0)->events == 10);
	CHECK(profile_string(profile, "main") == profile_string(profile, "main"));
	CHECK(profile_string(profile, "a\n") == profile_string(profile, "a\\012"));
	CHECK(!profile_string(profile, NULL));
	profile_free(profile);
}

/* Frames that differ in any member are different frames. */
static void frames_that_differ(void)
{
	const struct profile_frame frames[] = {
		{ 0 }, { .function = "" }, { .function = "f" }, { .file = "f" },
		{ .build_id = "f" }, { .source = "f" }, { .line = 1 }, { .flags = 1 },
		{ .offset = 1 }, { .distance = 1 }, { .id = 1 }, { .code = 1 },
	};
	struct profile *profile = profile_new();

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++)
			CHECK(profile_frame(profile, &frames[i]) == i);
	for (uint32_t i = 0; i < ARRAY_SIZE(frames); i++) {
		struct profile_frame frame = profile_frame_at(profile, i);

		CHECK(profile_frame(profile, &frame) == i);
	}
	profile_free(profile);
}

static void samples_that_differ(void)
{
	static const struct added samples[] = {
		{ .functions = "a" }, { .functions = "b" }, { .functions = "a;b" },
		{ .functions = "a", .event = "x" }, { .functions = "a", .comm = "x" },
		{ .functions = "a", .pid = 1 }, { .functions = "a", .base = true },
		{ .functions = "a", .time = PROFILE_TICK_NS }, { .functions = "a", .timed = true },
	};
	struct profile *profile = profile_new();

	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < ARRAY_SIZE(samples); i++)
			CHECK(add_sample(profile, samples[i]));
	CHECK(profile_counts(profile).samples == ARRAY_SIZE(samples));
	ADD(profile, .functions = "a", .time = PROFILE_TICK_NS - 1);
	CHECK(profile_counts(profile).samples == ARRAY_SIZE(samples));
	profile_free(profile);
}

static void weights_that_are_too_large(void)
{
	struct profile *profile = profile_new();
	const struct added most = { .functions = "a", .events = INT64_MAX, .ns = INT64_MAX - 1 };
	const struct added event = { .functions = "b", .events = 1 };
	const struct added ns = { .functions = "b", .ns = 1 }, two = { .functions = "b", .ns = 2 };

	CHECK(add_sample(profile, most));
	CHECK(!add_sample(profile, event));
	CHECK(!add_sample(profile, two));
	CHECK(add_sample(profile, ns));
	CHECK(!add_sample(profile, ns));
	/* The base has its own sums. */
	ADD(profile, .functions = "b", .events = 1, .base = true);
	CHECK(!add_sample(profile, (struct added){ .functions = "b", .events = UINT64_MAX }));
	profile_free(profile);
}

static void stacks_that_are_too_deep(void)
{
	struct profile *profile = profile_new();
	uint32_t frame = profile_frame(profile, &(struct profile_frame){ .function = "f" });
	uint32_t stack = PROFILE_NO_STACK;

	CHECK(!profile_depth(profile, stack));
	for (uint32_t i = 1; i <= PROFILE_MAX_DEPTH; i++) {
		stack = profile_stack(profile, stack, frame);
		CHECK(profile_depth(profile, stack) == i);
	}
	CHECK(profile_stack(profile, stack, frame) == stack);
	profile_free(profile);
}

/* Enough to make tables grow, in any order. */
static void many_strings(void)
{
	struct profile *profile = profile_new();
	static const char *kept[5000];
	char text[20];

	for (int i = 0; i < 5000; i++) {
		snprintf(text, sizeof(text), "string %d", i);
		kept[i] = profile_string(profile, text);
	}
	for (int i = 4999; i >= 0; i--) {
		snprintf(text, sizeof(text), "string %d", i);
		CHECK(profile_string(profile, text) == kept[i] && !strcmp(kept[i], text));
	}
	profile_free(profile);
}

/* The hash: the next word cannot undo the effect of the highest bit of a word. */
static void hashes_of_highest_bits(void)
{
	unsigned int same = 0;

	for (uint64_t i = 0; i < 64; i++) {
		const uint64_t one[2] = { i, i }, other[2] = {
			i ^ 1ULL << 63, i ^ (1ULL << 63 | 1ULL << 31),
		}, third[2] = { i ^ 1ULL << 63, i ^ 1ULL << 63 };

		same += index_hash(one, sizeof(one)) == index_hash(other, sizeof(other));
		same += index_hash(one, sizeof(one)) == index_hash(third, sizeof(third));
	}
	CHECK(same < 2);
}

/* Are the event and the functions too many?  The root counts, too. */
static bool is_refused(uint32_t most, const char *functions)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	int status = 0;
	pid_t pid;

	ADD(profile, .functions = functions, .comm = "c", .events = 1);
	tree_max_nodes = most;
	pid = fork();
	if (!pid) {
		tree_free(tree_new(&selection, TREE_FUNCTIONS));
		_exit(0);
	}
	waitpid(pid, &status, 0);
	profile_free(profile);
	return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILED;
}

/* A small recording of a stranger may stand for any number. */
static void trees_that_are_too_large(void)
{
	const uint32_t most = tree_max_nodes;

	CHECK(!is_refused(4, "main;f"));
	CHECK(is_refused(4, "main;f;g"));
	tree_max_nodes = most;
}

int main(void)
{
	RUN(texts_are_clean);
	RUN(everything_is_kept_once);
	RUN(frames_that_differ);
	RUN(samples_that_differ);
	RUN(weights_that_are_too_large);
	RUN(stacks_that_are_too_deep);
	RUN(many_strings);
	RUN(hashes_of_highest_bits);
	RUN(trees_that_are_too_large);
	return check_end();
}
