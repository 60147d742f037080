// SPDX-License-Identifier: GPL-2.0
/*
 * Readers of /proc/PID/codectl concurrent with threads that open and close objects: no
 * line is torn, and what is registered throughout is in every pass.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>

#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"
#include "unwind_plugin.h"

/* The plugin calls this in its program. */
void plugin_event(enum plugin_event event)
{
}

int lazy_target(int x)
{
	return x;
}

#define NR_LASTING 64

static struct {
	char plugin[2][64];
	uint8_t *text;
	struct proc_line lasting[NR_LASTING];
	int nr_lasting;
	volatile bool stop;
	unsigned long opened;
	unsigned long passes;
	unsigned long queries;
	int most;
	unsigned long errors;
} race;

static void error(const char *what, const char *all)
{
	if (__atomic_fetch_add(&race.errors, 1, __ATOMIC_RELAXED) < 3)
		printf("# %s in:\n%s", what, all);
}

static void *open_and_close(void *name)
{
	while (!race.stop) {
		void *handle = dlopen(name, RTLD_NOW);

		if (!handle || dlclose(handle))
			error("dlopen or dlclose", dlerror());
		__atomic_add_fetch(&race.opened, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Between registrations that last, one byte each. */
static void *register_and_drop(void *)
{
	for (unsigned int i = 0; !race.stop; i++) {
		uint64_t at = addr_of(race.text) + 2 * (i % 32) + 1;

		if (register_elf_text(at, at + 1) || unregister_text(at, at + 1))
			error("registering", "");
	}
	return NULL;
}

/* A pass in pieces of this many bytes; for free(). */
static char *read_pieces(int fd, size_t piece)
{
	size_t size = 1 << 18, used = 0;
	char *all = malloc(size);
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while (used + piece < size && (n = read(fd, all + used, piece)) > 0)
		used += n;
	all[used] = '\0';
	return all;
}

static bool is_the_same(const struct proc_line *a, const struct proc_line *b)
{
	return a->q.id == b->q.id && a->q.text_end == b->q.text_end &&
	       a->q.names == b->q.names && a->q.file_id == b->q.file_id &&
	       !strcmp(a->path, b->path);
}

static void check_pass(const char *all)
{
	struct proc_line l;
	int nr = proc_check(all);

	if (nr < 0)
		error("a torn line", all);
	else if (nr > race.most)
		race.most = nr;
	for (int i = 0; i < race.nr_lasting; i++) {
		const struct proc_line *want = &race.lasting[i];

		if (!proc_find(all, want->q.text_start, &l) ||
		    !is_the_same(want, &l))
			error("a registration that is not", all);
	}
}

static void *read_passes(void *piece)
{
	int fd = proc_open(0);

	while (!race.stop) {
		char *all = read_pieces(fd, (size_t)piece);

		check_pass(all);
		free(all);
		__atomic_add_fetch(&race.passes, 1, __ATOMIC_RELAXED);
	}
	close(fd);
	return NULL;
}

static void *query_all(void *)
{
	int fd = proc_open(0);
	struct proc_line l;

	while (!race.stop) {
		int i = race.queries % race.nr_lasting;
		const struct proc_line *want = &race.lasting[i];

		if (code_query_all(fd, want->q.text_end - 1, &l) ||
		    l.q.text_start != want->q.text_start ||
		    !is_the_same(want, &l))
			error("a query", want->path);
		race.queries++;
	}
	close(fd);
	return NULL;
}

static int copy_plugin(char *to, int i)
{
	char self[PATH_MAX] = "", command[PATH_MAX + 128];

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return -1;
	sprintf(to, "/tmp/codectl-race-%d.so", i);
	snprintf(command, sizeof(command), "cp %s/unwind_plugin.so %s",
		 dirname(self), to);
	return system(command);
}

/* Of this program and its libraries, and bytes of memory in between. */
static int register_lasting(void)
{
	const char *line;
	char *all;
	int fd;

	race.text = map_pages(1, PROT_READ | PROT_EXEC);
	for (int i = 0; i < 33; i++) {
		uint64_t at = addr_of(race.text) + 2 * i;

		if (i & 1 ? register_jit_text(at, at + 1) :
			    register_elf_text(at, at + 1))
			return -1;
	}
	fd = proc_open(0);
	all = proc_read(fd, NULL);
	for (line = all; *line; line = strchr(line, '\n') + 1) {
		if (race.nr_lasting == NR_LASTING ||
		    !proc_find(line, strtoull(line, NULL, 16),
			       &race.lasting[race.nr_lasting++]))
			return -1;
	}
	free(all);
	close(fd);
	return 0;
}

FIXTURE(race)
{
};

FIXTURE_SETUP(race)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, copy_plugin(race.plugin[0], 0));
	ASSERT_EQ(0, copy_plugin(race.plugin[1], 1));
	ASSERT_EQ(0, register_lasting());
}

FIXTURE_TEARDOWN(race)
{
	unlink(race.plugin[0]);
	unlink(race.plugin[1]);
}

static void run(struct __test_metadata *_metadata,
		void *(*const threads[])(void *), void **args, unsigned int nr)
{
	double end = now() + scaled_seconds(1) + 2;
	pthread_t thread[8];

	for (unsigned int i = 0; i < nr; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, threads[i],
					    args[i]));
	while (now() < end)
		usleep(10000);
	race.stop = true;
	for (unsigned int i = 0; i < nr; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	TH_LOG("%lu passes, %lu queries, %lu times opened; %d to %d lines",
	       race.passes, race.queries, race.opened, race.nr_lasting,
	       race.most);
	EXPECT_EQ(0, race.errors);
	EXPECT_LT(10, race.opened);
	EXPECT_LT(10, race.passes);
	/* Otherwise nothing has come and gone while it was read. */
	EXPECT_LT(race.nr_lasting, race.most);
}

TEST_F(race, readers_and_dlopen)
{
	void *(*const threads[])(void *) = {
		open_and_close, open_and_close, read_passes, read_passes,
	};
	void *args[] = { race.plugin[0], race.plugin[1], (void *)65536,
			 (void *)61 };

	run(_metadata, threads, args, ARRAY_SIZE(threads));
}

TEST_F(race, readers_queries_and_neighbours)
{
	void *(*const threads[])(void *) = {
		open_and_close, open_and_close, read_passes, read_passes,
		register_and_drop, query_all,
	};
	void *args[] = { race.plugin[0], race.plugin[1], (void *)4096,
			 (void *)1000, NULL, NULL };

	run(_metadata, threads, args, ARRAY_SIZE(threads));
	EXPECT_LT(10, race.queries);
}

/* Reads on, in pieces that end amid lines; false: as much as there is room for. */
static bool read_on(int fd, char *all, size_t size, unsigned int pieces)
{
	size_t used = strlen(all);
	ssize_t n = 1;

	for (; pieces && n > 0; pieces--) {
		if (used + 100 >= size)
			return false;
		n = read(fd, all + used, 100);
		used += n > 0 ? n : 0;
		all[used] = '\0';
	}
	/* A process that is gone by now has no more lines. */
	return n >= 0 || errno == ESRCH;
}

/* The number of lines, all of them whole, which are the first of what lasts; or -1. */
static int beginning_of_lasting(const char *all)
{
	struct proc_line l;
	int nr = proc_check(all);

	for (int i = 0; i < nr; i++) {
		const struct proc_line *want = &race.lasting[i];

		if (i == race.nr_lasting ||
		    !proc_find(all, want->q.text_start, &l) ||
		    l.q.text_end != want->q.text_end ||
		    strcmp(l.path, want->path))
			return -1;
	}
	return nr;
}

struct exiting {
	pid_t pid;
	int fd;
	int stay[2];
};

/* A child that has what this process has, until it is told to exit. */
static bool exiting_start(struct exiting *e)
{
	char c;

	if (pipe2(e->stay, O_CLOEXEC))
		return false;
	e->pid = fork();
	if (!e->pid) {
		close(e->stay[1]);
		_exit(read(e->stay[0], &c, 1) != 0);
	}
	close(e->stay[0]);
	e->fd = proc_open(e->pid);
	return e->pid > 0 && e->fd >= 0;
}

static bool exiting_end(struct exiting *e)
{
	int status;

	return waitpid(e->pid, &status, 0) == e->pid && !status;
}

/*
 * The child exits after so many pieces were read: while the rest is, or before.
 * Either way the lines are whole, and the first of all that there are.
 */
TEST_F(race, a_process_that_exits_while_it_is_read)
{
	double end = now() + scaled_seconds(4);
	unsigned int cut = 0, i;
	static char all[1 << 16];
	struct exiting e;
	int nr;

	for (i = 0; i < 200 && (i < 10 || now() < end); i++) {
		unsigned int pieces = i / 2 % 20;
		bool gone = i & 1;

		*all = '\0';
		ASSERT_TRUE(exiting_start(&e));
		ASSERT_TRUE(read_on(e.fd, all, sizeof(all), pieces));
		close(e.stay[1]);
		if (gone)
			ASSERT_TRUE(exiting_end(&e));
		ASSERT_TRUE(read_on(e.fd, all, sizeof(all), -1));
		if (!gone)
			ASSERT_TRUE(exiting_end(&e));
		close(e.fd);
		nr = beginning_of_lasting(all);
		ASSERT_LE(!!pieces, nr) {
			printf("# after %u pieces:\n%s", pieces, all);
		}
		if (gone)
			ASSERT_LT(nr, race.nr_lasting);
		cut += nr < race.nr_lasting;
	}
	TH_LOG("%u of %u cut short", cut, i);
	EXPECT_LE(i / 2, cut);
}

TEST_F(race, a_process_that_stays_while_it_is_read)
{
	static char all[1 << 16];
	struct exiting e;

	ASSERT_TRUE(exiting_start(&e));
	ASSERT_TRUE(read_on(e.fd, all, sizeof(all), -1));
	EXPECT_EQ(race.nr_lasting, beginning_of_lasting(all));
	close(e.fd);
	close(e.stay[1]);
	EXPECT_TRUE(exiting_end(&e));
}

static void query_and_read(pid_t pid, unsigned long *seen)
{
	static char all[1 << 14];
	struct code_query q = {
		.size = sizeof(q),
		.query_flags = CODE_QUERY_OR_NEXT,
	};
	int fd = proc_open(pid);

	for (; fd >= 0 && !code_query(fd, &q); q.query_addr = q.text_end)
		++*seen;
	while (fd >= 0 && read(fd, all, sizeof(all)) > 0)
		++*seen;
	close(fd);
}

/*
 * Nobody shares what execve() registers, so it goes as soon as its process does, and
 * not some time later.
 */
TEST_F(race, processes_that_exec_and_exit_while_they_are_read)
{
	double end = now() + scaled_seconds(2);
	unsigned long seen = 0;
	unsigned int i;

	for (i = 0; i < 200 && now() < end; i++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		while (waitpid(pid, NULL, WNOHANG) == 0)
			query_and_read(pid, &seen);
	}
	TH_LOG("%lu registrations and lines of %u processes", seen, i);
	EXPECT_LT(10, i);
	EXPECT_LT(i, seen);
}

TEST_HARNESS_MAIN
