// SPDX-License-Identifier: GPL-2.0
/*
 * Many repetitions of what is otherwise tested once: objects that come and go on
 * several threads under sampling, a process at the limit of registrations that forks,
 * short-lived processes under a system-wide perf.  TEST_CYCLES is how often.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <pthread.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "memory.h"
#include "proc_file.h"
#include "sampler.h"
#include "unwind_plugin.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 36000

#define NR_THREADS 4
#define MAX_REGIONS "kernel/codectl_max_regions"
#define SHORT_ENV "LOAD_TEST_SHORT"
#define RECORDING "/tmp/codectl-load.data"

static unsigned int cycles(void)
{
	const char *cycles = getenv("TEST_CYCLES");

	return cycles ? atoi(cycles) : is_slow() ? 40 : 200;
}

FIXTURE(load)
{
	struct memory before;
	long max_regions;
};

FIXTURE_SETUP(load)
{
	REQUIRE_CODECTL();
	self->max_regions = sysctl_read(MAX_REGIONS);
	ASSERT_LT(0, self->max_regions);
	ASSERT_TRUE(memory_now(&self->before));
}

FIXTURE_TEARDOWN(load)
{
	sysctl_write(MAX_REGIONS, self->max_regions);
	EXPECT_TRUE(memory_is_back(&self->before));
}

/* --- objects that come and go */

static struct {
	char plugin[NR_THREADS][64];
	unsigned int rounds;
	unsigned int running;
	unsigned int failed;
} load;

/* The code that is sampled, and its caller, are in sections of their own. */
#define IN(section) __attribute__((__noinline__, __section__(section)))
extern const char __start_load_leaf[], __stop_load_leaf[];
extern const char __start_load_body[], __stop_load_body[];

IN("load_leaf") void plugin_event(enum plugin_event event)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}

int lazy_target(int x)
{
	return x;
}

static bool open_and_close(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW);
	plugin_function sort;
	bool ok;

	if (!handle)
		return false;
	sort = dlsym(handle, "plugin_sort");
	ok = sort && sort(5) == 1;
	return !dlclose(handle) && ok;
}

IN("load_body") static void *run_rounds(void *path)
{
	for (unsigned int i = 0; i < load.rounds; i++)
		if (!open_and_close(path))
			__atomic_add_fetch(&load.failed, 1, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&load.running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static bool is_in(const struct stack *stack, unsigned int i, const char *start,
		  const char *end)
{
	return stack->ip[i] - addr_of(start) < addr_of(end) - addr_of(start);
}

static bool has_body(const struct stack *stack)
{
	for (unsigned int i = 1; i < stack->nr; i++)
		if (is_in(stack, i, __start_load_body, __stop_load_body))
			return true;
	return false;
}

static int copy_plugin(char to[64], int i)
{
	char self[PATH_MAX] = "", command[PATH_MAX + 128];

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -1;
	sprintf(to, "/tmp/codectl-load-%d.so", i);
	snprintf(command, sizeof(command), "cp %s/unwind_plugin.so %s",
		 dirname(self), to);
	return system(command);
}

TEST_F(load, objects_under_sampling)
{
	unsigned int sampled = 0, whole = 0;
	pthread_t thread[NR_THREADS];
	struct sampler sampler;
	struct stack stack;

	load.rounds = cycles() / NR_THREADS;
	load.running = NR_THREADS;
	ASSERT_EQ(0, sampler_open_clock(&sampler, 1000));
	for (int i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, copy_plugin(load.plugin[i], i));
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, run_rounds,
					    load.plugin[i]));
	}
	while (__atomic_load_n(&load.running, __ATOMIC_ACQUIRE)) {
		usleep(10000);
		while (sampler_next(&sampler, &stack)) {
			if (!stack.nr || !is_in(&stack, 0, __start_load_leaf,
						__stop_load_leaf))
				continue;
			sampled++;
			whole += has_body(&stack);
		}
	}
	for (int i = 0; i < NR_THREADS; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
		unlink(load.plugin[i]);
	}
	sampler_close(&sampler);
	TH_LOG("%u of %u stacks whole", whole, sampled);
	EXPECT_EQ(0, load.failed);
	EXPECT_LT(10, sampled);
	EXPECT_EQ(sampled, whole);
}

/* --- at the limit */

/* One byte each, with one in between. */
static uint64_t byte_of(const uint8_t *text, unsigned int i)
{
	return addr_of(text) + 2 * i;
}

static bool child_is_right(const uint8_t *text, unsigned int nr)
{
	uint64_t free = byte_of(text, nr), last = byte_of(text, nr - 1);

	return register_elf_text(last, last + 1) == -EEXIST &&
	       register_elf_text(free, free + 1) == -ENOSPC &&
	       !unregister_text(last, last + 1) &&
	       !register_elf_text(free, free + 1) &&
	       register_elf_text(last, last + 1) == -ENOSPC;
}

static int child_status(const uint8_t *text, unsigned int nr)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(child_is_right(text, nr) ? 0 : 1);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

TEST_F(load, forks_at_the_limit)
{
	unsigned int nr = 0, forks = cycles() / 20 + 4;
	uint8_t *text = map_pages(40, PROT_READ | PROT_EXEC);

	ASSERT_NE(NULL, text);
	if (is_slow())
		ASSERT_EQ(0, sysctl_write(MAX_REGIONS, self->max_regions / 8));
	while (!register_elf_text(byte_of(text, nr), byte_of(text, nr) + 1))
		nr++;
	EXPECT_EQ(-ENOSPC, register_elf_text(byte_of(text, nr),
					     byte_of(text, nr) + 1));
	EXPECT_LT(sysctl_read(MAX_REGIONS) - 100, nr);
	for (unsigned int i = 0; i < forks; i++)
		ASSERT_EQ(0, child_status(text, nr));
	for (unsigned int i = 0; i < nr; i++)
		ASSERT_EQ(0, unregister_text(byte_of(text, i),
					     byte_of(text, i) + 1));
	TH_LOG("%u registered, %u forks", nr, forks);
}

/* --- short-lived processes */

/* In a process that is one of these. */
static __attribute__((constructor)) void be_short(void)
{
	if (!getenv(SHORT_ENV))
		return;
	for (volatile int i = 0; i < 400000; i++)
		;
	_exit(7);
}

static bool run_short(char *self)
{
	char *const argv[] = { self, NULL }, *const envp[] = { SHORT_ENV "=1", NULL };
	int status;
	pid_t pid = fork();

	if (!pid) {
		execve(self, argv, envp);
		_exit(1);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid &&
	       WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

/*
 * All of the system; the latest of it, as much as fits two files.  Returns once
 * it records, which may take a while.
 */
static pid_t start_perf(void)
{
	int control[2], ack[2];
	char fds[32], c;
	pid_t pid;

	if (pipe(control) || pipe(ack))
		return -1;
	snprintf(fds, sizeof(fds), "fd:%d,%d", control[0], ack[1]);
	pid = fork();
	if (!pid) {
		execlp("perf", "perf", "record", "-q", "-a", "-e", "cpu-clock",
		       "-F", "999", "--call-graph", "fp,defer", "-D", "-1",
		       "--control", fds, "--switch-output=16M",
		       "--switch-max-files=2", "-o", RECORDING, NULL);
		_exit(127);
	}
	close(control[0]);
	close(ack[1]);
	if (pid > 0 && (write(control[1], "enable\n", 7) != 7 ||
			read(ack[0], &c, 1) != 1)) {
		waitpid(pid, NULL, 0);
		pid = -1;
	}
	return pid;
}

struct stacks {
	unsigned int nr;	/* of be_short() */
	unsigned int whole;	/* up to _start */
};

/* A stack ends with an empty line; a few hundred of them are enough. */
static void read_stacks(struct stacks *s, FILE *script)
{
	bool is_short = false, whole = false;
	char line[1024];

	while (s->nr < 1000 && fgets(line, sizeof(line), script)) {
		is_short |= !!strstr(line, " be_short");
		whole |= !!strstr(line, " _start");
		if (*line != '\n')
			continue;
		s->nr += is_short;
		s->whole += is_short && whole;
		is_short = false;
		whole = false;
	}
}

static void read_recording(struct stacks *s)
{
	char command[256];
	glob_t found;

	if (glob(RECORDING "*", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *script;

		snprintf(command, sizeof(command),
			 "perf script -i %s --comm load_test --no-inline -F comm,ip,sym",
			 found.gl_pathv[i]);
		script = popen(command, "re");
		if (script) {
			read_stacks(s, script);
			pclose(script);
		}
		unlink(found.gl_pathv[i]);
	}
	globfree(&found);
}

TEST_F(load, short_lives_under_perf)
{
	char path[PATH_MAX] = "";
	struct stacks stacks = { };
	unsigned int nr = 0, ok = 0;
	int status;
	double end;
	pid_t perf;

	ASSERT_LT(0, readlink("/proc/self/exe", path, sizeof(path) - 1));
	perf = start_perf();
	ASSERT_LT(0, perf);
	for (end = now() + cycles() * 6 / 100; now() < end || nr < 40; nr++)
		ok += run_short(path);
	EXPECT_EQ(0, waitpid(perf, &status, WNOHANG));
	ASSERT_EQ(0, kill(perf, SIGINT));
	ASSERT_EQ(perf, waitpid(perf, &status, 0));
	read_recording(&stacks);
	TH_LOG("%u processes; %u of %u stacks whole; perf: status %x", nr,
	       stacks.whole, stacks.nr, status);
	EXPECT_NE(127, WIFEXITED(status) ? WEXITSTATUS(status) : 0);
	EXPECT_EQ(nr, ok);
	EXPECT_LT(10, stacks.nr);
	EXPECT_EQ(stacks.nr, stacks.whole);
}

TEST_HARNESS_MAIN
