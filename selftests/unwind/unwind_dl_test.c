// SPDX-License-Identifier: GPL-2.0
/*
 * Objects that come and go: constructors, IFUNC resolvers, callbacks, lazy
 * binding and destructors of a plugin, and what is left of it after dlclose().
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>

#include "step.h"
#include "unwind_fixture.h"
#include "unwind_plugin.h"

static struct {
	struct sampler *sampler;	/* NULL: just be called */
	struct stack stack;
	struct truth base;
	unsigned int seen[NR_PLUGIN_EVENTS];
	unsigned int wrong[NR_PLUGIN_EVENTS];
} events;

/*
 * libgcc does not find an object that is being relocated: the truth it has of
 * a resolver ends there, and goes on with the callers of dlopen().
 */
static bool event_is_true(enum plugin_event event)
{
	const struct stack *stack = &events.stack;

	if (!stack_has_noted(stack) || !ends_in_start(stack) ||
	    !same_tail(stack, &events.base, events.base.nr))
		return false;
	if (event == PLUGIN_IFUNC_RESOLVER)
		return common_prefix(stack, &truth) == truth.nr;
	return stack_is_true(stack, &truth);
}

/*
 * Compared at once: what comes next may be from another object at the same
 * address.
 */
void plugin_event(enum plugin_event event)
{
	NOTE_FRAME();
	events.seen[event]++;
	if (!events.sampler)
		return;
	leaf();
	if (!sampler_next(events.sampler, &events.stack) ||
	    !event_is_true(event)) {
		if (!events.wrong[event]++)
			print_stack(&events.stack, &truth);
	}
	truth_reset();
}

int lazy_target(int x)
{
	return x + 1;
}

static char plugin_path[PATH_MAX];

static void *plugin_open(int flags)
{
	void *handle = dlopen(plugin_path, flags);

	if (!handle)
		printf("# %s\n", dlerror());
	return handle;
}

#define EXPECT_EVENT(event, times) do {					\
	EXPECT_EQ(times, events.seen[event]);				\
	EXPECT_EQ(0, events.wrong[event]);				\
} while (0)

static noinline void plugin_prepare(struct sampler *sampler)
{
	memset(&events, 0, sizeof(events));
	events.sampler = sampler;
	/* The callers of the test function. */
	truth_callers();
	events.base = truth;
	events.base.nr--;
	memmove(events.base.ip, truth.ip + 1, events.base.nr * 8);
	truth_reset();
}

TEST_F(unwind, constructor_and_resolver)
{
	void *handle;

	plugin_prepare(&self->sampler);
	handle = plugin_open(RTLD_NOW);
	ASSERT_NE(NULL, handle);
	EXPECT_EVENT(PLUGIN_CONSTRUCTOR, 1);
	EXPECT_LE(1, events.seen[PLUGIN_IFUNC_RESOLVER]);
	EXPECT_EQ(0, events.wrong[PLUGIN_IFUNC_RESOLVER]);
}

TEST_F(unwind, destructor)
{
	void *handle;

	plugin_prepare(&self->sampler);
	handle = plugin_open(RTLD_NOW);
	ASSERT_NE(NULL, handle);
	ASSERT_EQ(0, dlclose(handle));
	EXPECT_EVENT(PLUGIN_DESTRUCTOR, 1);
}

TEST_F(unwind, functions_and_callbacks)
{
	plugin_function sort, by_ifunc;
	void *handle;

	plugin_prepare(&self->sampler);
	handle = plugin_open(RTLD_NOW);
	ASSERT_NE(NULL, handle);
	sort = dlsym(handle, "plugin_sort");
	by_ifunc = dlsym(handle, "plugin_chosen");
	EXPECT_EQ(1, sort(5));
	EXPECT_EVENT(PLUGIN_CALLBACK, 1);
	EXPECT_EQ(6, by_ifunc(5));
	EXPECT_EVENT(PLUGIN_FUNCTION, 1);
}

static bool range_is_free(uint64_t start, uint64_t end)
{
	uint64_t first = start & -PAGE, len = ((end + PAGE - 1) & -PAGE) - first;
	void *p = mmap((void *)first, len, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	int err;

	if (p == MAP_FAILED)
		return false;
	err = register_text(start, end, NULL, 0);
	munmap(p, len);
	return !err;
}

TEST_F(unwind, after_dlclose)
{
	uint64_t start, end, before = 0;
	plugin_function sort;
	void *handle;

	plugin_prepare(&self->sampler);
	for (int i = 0; i < 3; i++) {
		handle = plugin_open(RTLD_NOW);
		ASSERT_NE(NULL, handle);
		sort = dlsym(handle, "plugin_sort");
		ASSERT_EQ(0, text_segment_of(sort, &start, &end));
		/* At the same address the first time, elsewhere the next. */
		TH_LOG("%s", before == start ? "same address" : "new address");
		before = start;
		EXPECT_TRUE(text_is_registered(addr_of(sort)));
		EXPECT_EQ(1, sort(5));
		ASSERT_EQ(0, dlclose(handle));
		EXPECT_TRUE(range_is_free(start, end));
		if (i == 1)
			ASSERT_NE(MAP_FAILED,
				  mmap((void *)(start & -PAGE), PAGE, PROT_READ,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	}
	EXPECT_EVENT(PLUGIN_CALLBACK, 3);
	EXPECT_EVENT(PLUGIN_CONSTRUCTOR, 3);
	EXPECT_EVENT(PLUGIN_DESTRUCTOR, 3);
}

static noinline int call_lazily(plugin_function f)
{
	int ret;

	truth_callers();
	if (step_prepare(events.sampler))
		return -1;
	step_on();
	ret = f(5);
	step_off();
	return ret;
}

static void check_lazy_call(struct __test_metadata *_metadata,
			    plugin_function f, unsigned int at_least,
			    unsigned int at_most)
{
	EXPECT_EQ(7, call_lazily(f));
	TH_LOG("%u instructions, %u unknown to libgcc", step_result.steps,
	       step_result.untold);
	EXPECT_LE(at_least, step_result.steps);
	EXPECT_GE(at_most, step_result.steps);
	EXPECT_EQ(0, step_result.none);
	EXPECT_EQ(0, step_result.wrong);
	EXPECT_EQ(0, step_result.untold);
	EXPECT_EQ(0, step_result.plt);
}

/* PLT entry, lazy resolver, and the second time the PLT entry alone. */
TEST_F(unwind, lazy_binding)
{
	plugin_function lazy;
	void *handle;

	plugin_prepare(&self->sampler);
	handle = plugin_open(RTLD_LAZY);
	ASSERT_NE(NULL, handle);
	lazy = dlsym(handle, "plugin_lazy");
	check_lazy_call(_metadata, lazy, 100, 100000);
	check_lazy_call(_metadata, lazy, 5, 40);
}

static noinline void open_and_close(void)
{
	void *handle = plugin_open(RTLD_NOW);

	if (handle)
		dlclose(handle);
}

TEST_F(unwind, at_any_instant_of_dlopen)
{
	const unsigned int enough = is_slow() ? 800 : 2000;
	unsigned int nr = 0, bad = 0;
	struct sampler sampler;
	double end = now() + scaled_seconds(20);

	/* libgcc itself, linked in, has no SFrame: no truth while sampling. */
	plugin_prepare(NULL);
	ASSERT_EQ(0, sampler_open_clock(&sampler, 2000));
	do {
		open_and_close();
		while (sampler_next(&sampler, &self->stack)) {
			nr++;
			if (same_tail(&self->stack, &events.base,
				      events.base.nr))
				continue;
			if (bad++ < 3)
				print_stack(&self->stack, &events.base);
		}
	} while (nr < enough && now() < end);
	TH_LOG("%u stacks, %u not complete", nr, bad);
	EXPECT_LT(50, nr);
	EXPECT_EQ(0, bad);
	sampler_close(&sampler);
}

int main(int argc, char **argv)
{
	char self[PATH_MAX] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return KSFT_FAIL;
	snprintf(plugin_path, sizeof(plugin_path), "%.*s/unwind_plugin.so",
		 (int)sizeof(plugin_path) - 32, dirname(self));
	return test_harness_run(argc, argv);
}
