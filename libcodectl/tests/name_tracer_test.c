// SPDX-License-Identifier: MIT
/*
 * Tracers that come and go at any time, are killed, or cannot be had.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tracer.h"

static struct codectl_region *region;
static uint64_t text;

static void add(uint32_t off, const char *name)
{
	CHECK_EQ(test_add(region, text + off, 16, 1, name), 0);
}

static void start(void)
{
	region = test_open(PAGE, NULL, &text);
	tracer_open_all();
	CHECK_EQ(codectl_names_event(1), 0);
}

/* --- perf */

static int open_perf(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.sample_period = 1,
	};
	unsigned long long id = 0;
	FILE *file;

	file = fopen("/sys/kernel/tracing/events/user_events/codectl_name/id",
		     "r");
	CHECK(file && fscanf(file, "%llu", &id) == 1);
	fclose(file);
	attr.config = id;

	return syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
}

static pid_t start_perf(void)
{
	pid_t pid, parent = getpid();
	int fds[2];
	char ready;

	CHECK_EQ(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		CHECK(open_perf(parent) >= 0);
		CHECK_EQ(write(fds[1], "", 1), 1);
		for (;;)
			pause();
	}
	CHECK_EQ(read(fds[0], &ready, 1), 1);
	test_wait_for(codectl_names_word(), ASKED);

	return pid;
}

static void kill_perf(pid_t pid)
{
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* The word says so after one more name, at the latest. */
static void killed(void)
{
	struct tracer *tracer = &tracers[0];
	pid_t pid;

	start();
	add(0, "a");
	pid = start_perf();
	add(16, "b");
	CHECK(*codectl_names_word() & OURS);
	kill_perf(pid);
	add(32, "c");
	CHECK_EQ(*codectl_names_word() & OURS, 0);

	/* Killed before it was answered. */
	pid = start_perf();
	kill_perf(pid);
	CHECK_EQ(*codectl_names_word() & OURS, 0);

	/* Next to another, which gets everything again as each of them comes. */
	tracer_on(tracer);
	test_wait_for(codectl_names_word(), ASKED);
	codectl_names_poll();
	pid = start_perf();
	codectl_names_poll();
	kill_perf(pid);
	test_wait_for(codectl_names_word(), ASKED);
	add(48, "d");
	tracer_wait(tracer, 3);
	tracer_off(tracer);
	add(64, "e");
	CHECK_EQ(*codectl_names_word() & OURS, 0);
}

/* perf opens the event long before it listens. */
static void perf_is_late(void)
{
	struct tracer *tracer = &tracers[0];
	pid_t pid;

	start();
	add(0, "a");
	tracer_on(tracer);
	pid = start_perf();
	codectl_names_poll();
	tracer_wait(tracer, 1);
	CHECK(*codectl_names_word() & CODECTL_NAMES_POLL);
	while (*codectl_names_word() & CODECTL_NAMES_POLL) {
		codectl_names_poll();
		usleep(1000);
	}
	tracer_wait(tracer, 2);
	kill_perf(pid);
	tracer_off(tracer);
}

/* --- several libraries in a process */

struct copy {
	int (*name_event)(int on);
	void (*names_poll)(void);
	uint32_t *(*names_word)(void);
};

/* Loads the library once more, with all that it needs. */
static struct copy load_copy(void)
{
	struct copy copy;
	void *lib;

	lib = dlmopen(LM_ID_NEWLM, "libcodectl.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		printf("# %s\n", dlerror());
	CHECK(lib);
	copy.name_event = dlsym(lib, "codectl_names_event");
	copy.names_poll = dlsym(lib, "codectl_names_poll");
	copy.names_word = dlsym(lib, "codectl_names_word");
	CHECK(copy.name_event && copy.name_event != codectl_names_event);

	return copy;
}

/* Each has its own numbers, which may be the same. */
static void several_copies(void)
{
	const uint32_t actions[] = {
		CODECTL_NAME_BEGIN, CODECTL_NAME_ADD, CODECTL_NAME_END,
		CODECTL_NAME_BEGIN, CODECTL_NAME_END,
	};
	struct tracer *tracer = &tracers[0];
	struct copy other;
	unsigned int i;

	start();
	add(0, "a");
	other = load_copy();
	CHECK_EQ(other.name_event(1), 0);
	tracer_on(tracer);
	test_wait_for(codectl_names_word(), ASKED);
	test_wait_for(other.names_word(), ASKED);
	codectl_names_poll();
	other.names_poll();
	tracer_wait(tracer, 2);
	CHECK_EQ(tracer->nr, ARRAY_SIZE(actions));
	for (i = 0; i < ARRAY_SIZE(actions); i++) {
		CHECK_EQ(tracer->records[i].action, actions[i]);
		CHECK_EQ(tracer->records[i].pid, getpid());
		CHECK_EQ(tracer->records[i].copy,
			 tracer->records[i < 3 ? 0 : 3].copy);
	}
	CHECK_EQ(tracer->records[0].id, tracer->records[3].id);
	CHECK(tracer->records[0].copy != tracer->records[3].copy);
	tracer_off(tracer);
	CHECK_EQ(other.name_event(0), 0);
}

/* --- refusals */

/* Everything else works. */
static void check_refused(int error)
{
	CHECK_EQ(codectl_names_event(1), -error);
	CHECK_EQ(codectl_names_event(0), 0);
	region = test_open(PAGE, NULL, &text);
	add(0, "a");
	codectl_names_poll();
	CHECK_EQ(codectl_region_retire(region, text, 16), 1);
	CHECK_EQ(*codectl_names_word(), 0);
	codectl_region_close(region);
}

static void leave_tracefs(void)
{
	CHECK_EQ(unshare(CLONE_NEWNS), 0);
	CHECK_EQ(mount("", "/", "", MS_REC | MS_PRIVATE, ""), 0);
	umount2("/sys/kernel/debug", MNT_DETACH);
	CHECK_EQ(umount2("/sys/kernel/tracing", MNT_DETACH), 0);
}

static void no_tracefs(void)
{
	if (tracer_is_real())
		leave_tracefs();
	tracer_open_error = ENOENT;
	check_refused(ENOENT);
}

static void tracefs_elsewhere(void)
{
	char dir[] = "/tmp/codectl tracefs-XXXXXX";

	leave_tracefs();
	CHECK(mkdtemp(dir));
	CHECK_EQ(mount("tracefs", dir, "tracefs", 0, ""), 0);
	CHECK_EQ(codectl_names_event(1), 0);
	CHECK_EQ(codectl_names_event(0), 0);
	CHECK_EQ(umount2(dir, MNT_DETACH), 0);
	rmdir(dir);
}

static void no_permission(void)
{
	if (tracer_is_real())
		CHECK_EQ(setuid(65534), 0);
	tracer_open_error = EACCES;
	check_refused(EACCES);
}

/* Its names could not be distinguished from those of others. */
static void no_number(void)
{
	tracer_random_error = EPERM;
	check_refused(EPERM);
}

/* Somebody has another event of this name. */
static void other_fields(void)
{
	const char *define = "u:codectl_name u32 other";
	const char *remove = "-:codectl_name u32 other";
	int fd = -1;

	tracer_wait_gone();
	if (tracer_is_real()) {
		fd = open("/sys/kernel/tracing/dynamic_events",
			  O_WRONLY | O_APPEND);
		CHECK(write(fd, define, strlen(define)) > 0);
	}
	tracer_register_error = EADDRINUSE;
	check_refused(EADDRINUSE);
	if (fd >= 0) {
		CHECK(write(fd, remove, strlen(remove)) > 0);
		close(fd);
	}
}

/* --- cycles */

/*
 * A thread publishes functions with numbers for names, and retires them in the same
 * order: at least those in [@lowest, @next) are there.  Another region is left alone,
 * and only polling reports it.
 */
#define LIVE	8
#define SLOTS	16
#define STILL	4

static uint32_t lowest, next_number, stop;
static uint64_t still_text;

static uint32_t load(const uint32_t *value)
{
	return __atomic_load_n(value, __ATOMIC_SEQ_CST);
}

static void publish(uint32_t number)
{
	char name[16];

	sprintf(name, "%u", number);
	add(number % SLOTS * 16, name);
	__atomic_store_n(&next_number, number + 1, __ATOMIC_SEQ_CST);
	if (number < LIVE)
		return;
	number -= LIVE;
	__atomic_store_n(&lowest, number + 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(codectl_region_retire(region, text + number % SLOTS * 16, 16),
		 1);
}

static void *publish_all(void *arg)
{
	uint32_t number;

	for (number = 0; !load(&stop); number++) {
		publish(number);
		if (number % 64 == 63)
			CHECK_EQ(codectl_region_compact(region), 0);
		usleep(1000);
	}

	return arg;
}

static void *poll_always(void *arg)
{
	while (!load(&stop)) {
		codectl_names_poll();
		usleep(100);
	}

	return arg;
}

static bool has_name(const struct tracer *tracer, size_t from, const char *name)
{
	for (; from < tracer->nr; from++) {
		if (tracer->records[from].action == CODECTL_NAME_ADD &&
		    !strcmp(tracer->records[from].name, name))
			return true;
	}

	return false;
}

static void check_number(const struct tracer *tracer, size_t from,
			 uint32_t number)
{
	char name[16];

	sprintf(name, "%u", number);
	if (!has_name(tracer, from, name))
		printf("# %s is missing\n", name);
	CHECK(has_name(tracer, from, name));
}

/* From one begin to the next no name is reported twice. */
static void check_doubles(const struct tracer *tracer)
{
	const struct record *records = tracer->records;
	size_t i, k;

	for (i = 0; i < tracer->nr; i++) {
		if (records[i].action != CODECTL_NAME_ADD)
			continue;
		for (k = i + 1; k < tracer->nr; k++) {
			if (records[k].action == CODECTL_NAME_BEGIN)
				break;
			if (records[k].action == CODECTL_NAME_ADD &&
			    records[k].id == records[i].id)
				printf("# %s is there twice\n",
				       records[k].name);
			CHECK(records[k].action != CODECTL_NAME_ADD ||
			      records[k].id != records[i].id);
		}
	}
}

static void print_records(const struct tracer *tracer)
{
	const struct record *record;
	size_t i;

	for (i = 0; i < tracer->nr; i++) {
		record = &tracer->records[i];
		printf("# %zu: at %" PRIu64 ": action %u, id %" PRIu64
		       ", length %" PRIu64 ", \"%s\"\n", i, record->time,
		       record->action, record->id, record->len, record->name);
	}
}

/* The number of names reported between begin and end is what the end says. */
static size_t check_replay(const struct tracer *tracer, size_t begin)
{
	size_t end, nr = 0;

	for (end = begin + 1; end < tracer->nr; end++) {
		if (tracer->records[end].action != CODECTL_NAME_ADD)
			break;
		nr++;
	}
	if (end == tracer->nr)
		return 0;
	if (tracer->records[end].action != CODECTL_NAME_END ||
	    tracer->records[end].len != nr)
		print_records(tracer);
	CHECK_EQ(tracer->records[end].action, CODECTL_NAME_END);
	CHECK_EQ(tracer->records[end].len, nr);
	CHECK_EQ(tracer->records[end].id, tracer->records[begin].id);

	return end;
}

/* All in [@low, @high) have been reported, and the still ones by each replay. */
static void check_session(const struct tracer *tracer, uint32_t low,
			  uint32_t high)
{
	size_t i, begin = tracer->nr, last = 0;
	char name[16];

	for (i = 0; i < tracer->nr; i++) {
		if (tracer->records[i].action != CODECTL_NAME_BEGIN)
			continue;
		if (check_replay(tracer, i))
			last = i;
		if (begin == tracer->nr)
			begin = i;
	}
	CHECK(begin < tracer->nr && tracer->records[last].action ==
	      CODECTL_NAME_BEGIN);
	check_doubles(tracer);
	for (i = 0; i < STILL; i++) {
		sprintf(name, "still-%zu", i);
		CHECK(has_name(tracer, last, name));
	}
	for (; low < high; low++)
		check_number(tracer, begin, low);
}

/* For both tracers. */
static unsigned int cycles(void)
{
	const char *cycles = getenv("TEST_CYCLES");

	return cycles ? (unsigned int)atoi(cycles) : test_rounds(1000);
}

static void *come_and_go(void *arg)
{
	struct tracer *tracer = arg;
	uint32_t low, high;
	unsigned int i;

	for (i = 0; i < cycles() / NR_TRACERS; i++) {
		/* The lock: whoever was writing when it was turned off is done. */
		CHECK_EQ(codectl_names_event(1), 0);
		tracer_on(tracer);
		tracer_wait(tracer, 1);
		low = load(&lowest);
		usleep(i % 8 * 500);
		high = load(&next_number);
		tracer_off(tracer);
		check_session(tracer, low, high);
	}

	return NULL;
}

static void run_threads(void *(*first)(void *), void *(*second)(void *))
{
	pthread_t threads[2 + NR_TRACERS];
	unsigned int i;

	CHECK_EQ(pthread_create(&threads[0], NULL, first, NULL), 0);
	CHECK_EQ(pthread_create(&threads[1], NULL, second, NULL), 0);
	for (i = 0; i < NR_TRACERS; i++)
		CHECK_EQ(pthread_create(&threads[2 + i], NULL, come_and_go,
					&tracers[i]), 0);
	for (i = 0; i < NR_TRACERS; i++)
		CHECK_EQ(pthread_join(threads[2 + i], NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

/* Two tracers, while one thread publishes and another polls. */
static void come_and_go_often(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };
	struct codectl_region *still;
	char name[16];
	uint32_t i;

	start();
	codectl_region_close(region);
	region = test_open(PAGE, &attr, &text);
	still = test_open(PAGE, NULL, &still_text);
	for (i = 0; i < STILL; i++) {
		sprintf(name, "still-%u", i);
		CHECK_EQ(test_add(still, still_text + i * 16, 16, 1, name), 0);
	}
	run_threads(publish_all, poll_always);

	/* It is neither stuck nor lost. */
	publish(next_number);
	CHECK_EQ(*codectl_names_word(), 0);
	tracer_on(&tracers[0]);
	test_wait_for(codectl_names_word(), ASKED);
	codectl_names_poll();
	tracer_wait(&tracers[0], 1);
	tracer_off(&tracers[0]);
	publish(next_number);
	CHECK_EQ(*codectl_names_word(), 0);
}

/* The first ones have no stand-in: they need the kernel. */
#define NR_REAL	4

static const struct test tests[] = {
	TEST(killed),
	TEST(perf_is_late),
	TEST(several_copies),
	TEST(tracefs_elsewhere),
	TEST(no_tracefs),
	TEST(no_permission),
	TEST(no_number),
	TEST(other_fields),
	TEST(come_and_go_often),
};

int main(void)
{
	size_t first = tracer_is_real() ? 0 : NR_REAL;
	int ret = test_main(tests + first, ARRAY_SIZE(tests) - first);

	tracer_remove_all();

	return ret;
}
