// SPDX-License-Identifier: MIT
/*
 * The file of names: what is there before, what becomes of it, and whose it is.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "map_file.h"

/* A daemon closes all files that it does not know, and opens those it needs. */
static void file_is_closed(void)
{
	char want[4096], *end = want, got[16];
	int fd, i;

	start(NULL);
	CHECK_EQ(codectl_perf_map(1), 0);
	for (i = 3; i < 64; i++)
		close(i);
	for (i = 3; i < 64; i++)
		CHECK_EQ(memfd_create("other", 0), i);
	add(0, "function");
	for (i = 3; i < 64; i++)
		CHECK_EQ(pread(i, got, sizeof(got), 0), 0);
	end = line(end, 0, 16, "function");
	check_file(want);
	fd = dup(3);
	CHECK_EQ(codectl_perf_map(0), 0);
	for (i = 3; i < 64; i++)
		CHECK(fcntl(i, F_GETFD) >= 0);
	close(fd);
	unlink(path);
}

/* Whatever fails within. */
static void errno_is_not_used(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE };
	struct codectl_region *other;
	int i;

	start(&attr);
	CHECK_EQ(codectl_perf_map(1), 0);
	for (i = 3; i < 64; i++)
		close(i);
	errno = 1234;
	add(0, "to a file that is closed");
	CHECK_EQ(errno, 1234);
	codectl_names_event(1);
	codectl_names_poll();
	CHECK_EQ(errno, 1234);
	CHECK_EQ(codectl_region_retire(region, text, 16), 1);
	CHECK_EQ(codectl_region_compact(region), 0);
	stat_of_region();
	CHECK_EQ(errno, 1234);
	CHECK_EQ(codectl_region_open((void *)text, PAGE, NULL, &other),
		 -EEXIST);
	CHECK_EQ(codectl_region_open((void *)-PAGE, PAGE - 1, NULL, &other),
		 -EINVAL);
	codectl_region_close(region);
	CHECK_EQ(errno, 1234);
	codectl_perf_map(0);
	unlink(path);
}

/* No signal, no part of a line. */
static void file_is_full(void)
{
	struct rlimit limit;
	char *got;

	start(NULL);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 50;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	CHECK_EQ(codectl_perf_map(1), 0);
	add(0, "one");
	add(16, "a name that is longer than the rest of the file can be");
	add(32, "two");
	got = read_file();
	CHECK(strlen(got) < 50 && got[strlen(got) - 1] == '\n');
	free(got);
	unlink(path);
}

/* The last byte that is allowed is used, and none after it. */
static void file_is_full_to_the_byte(void)
{
	char want[4096], *end = want;
	struct rlimit limit;

	start(NULL);
	CHECK_EQ(codectl_perf_map(1), 0);
	/* All of them have this length. */
	end = line(end, 0x10, 16, "one");
	end = line(end, 0x20, 16, "two");
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = end - want;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
	add(0x10, "one");
	add(0x20, "two");
	add(0x30, "xxx");
	check_file(want);
	unlink(path);
}

static void *add_while_cancelled(void *arg)
{
	(void)arg;
	/* The request comes before the call, which is no cancellation point. */
	pthread_cancel(pthread_self());
	add(0, "function");
	pthread_testcancel();

	return NULL;
}

static void thread_is_cancelled(void)
{
	char want[4096];
	pthread_t thread;
	void *result;

	start(NULL);
	CHECK_EQ(codectl_perf_map(1), 0);
	CHECK_EQ(pthread_create(&thread, NULL, add_while_cancelled, NULL), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
	line(want, 0, 16, "function");
	check_file(want);
	CHECK_EQ(codectl_perf_map(0), 0);
	unlink(path);
}

/* A parent that has names on forks, and continues as if nothing had happened. */
static void fork_with_names(void (*in_child)(void))
{
	char want[4096], *end = want;
	pid_t pid;

	start(NULL);
	add(0, "shared");
	CHECK_EQ(codectl_perf_map(1), 0);
	pid = fork();
	if (!pid) {
		/* An earlier process with this PID may have left one. */
		unlink(map_path());
		in_child();
		unlink(path);
		_exit(0);
	}
	test_wait(pid);
	add(16, "parent");
	end = line(end, 0, 16, "shared");
	end = line(end, 16, 16, "parent");
	check_file(want);
	unlink(path);
}

static void add_in_child(void)
{
	char want[4096], *end = want;

	CHECK(access(path, F_OK));
	add(16, "child");
	add(32, "child again");
	end = line(end, 0, 16, "shared");
	end = line(end, 16, 16, "child");
	end = line(end, 32, 16, "child again");
	check_file(want);
}

/* It may switch on what its parent had on, and switch it off. */
static void switch_in_child(void)
{
	char want[4096];

	CHECK_EQ(codectl_perf_map(1), 0);
	line(want, 0, 16, "shared");
	check_file(want);
	CHECK_EQ(codectl_perf_map(0), 0);
	add(16, "unseen");
	check_file(want);
}

static void child_has_its_own(void)
{
	fork_with_names(add_in_child);
}

static void child_switches(void)
{
	fork_with_names(switch_in_child);
}

/* Anybody may make files in /tmp; files that are not our own are left alone. */
static void files_of_others(void)
{
	char elsewhere[] = "/tmp/codectl-names-XXXXXX";
	struct stat st;
	int fd;

	start(NULL);
	add(0, "f");
	fd = mkstemp(elsewhere);
	CHECK(fd >= 0);

	CHECK_EQ(symlink(elsewhere, path), 0);
	CHECK_EQ(codectl_perf_map(1), -ELOOP);
	unlink(path);
	CHECK_EQ(link(elsewhere, path), 0);
	CHECK_EQ(codectl_perf_map(1), -EPERM);
	unlink(path);
	CHECK_EQ(mkfifo(path, 0600), 0);
	CHECK_EQ(codectl_perf_map(1), -ENXIO);
	unlink(path);
	CHECK_EQ(mkdir(path, 0700), 0);
	CHECK_EQ(codectl_perf_map(1), -EISDIR);
	rmdir(path);
	if (!geteuid()) {
		CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0666)), 0);
		CHECK_EQ(chown(path, 1, 1), 0);
		/* fs.protected_regular answers before the library does. */
		fd = codectl_perf_map(1);
		CHECK(fd == -EPERM || fd == -EACCES);
		unlink(path);
	}
	CHECK_EQ(stat(elsewhere, &st), 0);
	CHECK_EQ(st.st_size, 0);
	unlink(elsewhere);

	/* A refusal changes nothing. */
	add(16, "g");
	CHECK(access(path, F_OK));
	CHECK_EQ(codectl_perf_map(1), 0);
	CHECK_EQ(stat(path, &st), 0);
	CHECK_EQ(st.st_mode, S_IFREG | 0600);
	unlink(path);
}

static void put(const char *what)
{
	FILE *file = fopen(path, "w");

	CHECK(file);
	fputs(what, file);
	CHECK_EQ(fclose(file), 0);
}

/* What an earlier process with this PID left goes; what this one wrote stays. */
static void old_files(void)
{
	const struct timespec old[2] = { { .tv_sec = 1000 },
					 { .tv_sec = 1000 } };
	char want[4096], *end = want;

	start(NULL);
	add(0, "f");
	put("1000 10 stale\n");
	CHECK_EQ(utimensat(AT_FDCWD, path, old, 0), 0);
	CHECK_EQ(codectl_perf_map(1), 0);
	end = line(end, 0, 16, "f");
	check_file(want);
	CHECK_EQ(codectl_perf_map(0), 0);

	put("1000 10 another runtime\n");
	CHECK_EQ(codectl_perf_map(1), 0);
	end = stpcpy(want, "1000 10 another runtime\n");
	end = line(end, 0, 16, "f");
	check_file(want);
	unlink(path);
}

/* When this process started, as ps(1) finds it, in nanoseconds. */
static int64_t start_of_process(void)
{
	const int64_t second = 1000000000;
	struct timespec real, boot;
	int64_t apart, most = INT64_MIN;
	int64_t ticks;
	char stat[1024] = "", *field;
	FILE *file = fopen("/proc/self/stat", "r");
	int i;

	CHECK(file);
	CHECK(fgets(stat, sizeof(stat), file));
	fclose(file);
	/* Field 22: the second one ends with the last bracket. */
	field = strrchr(stat, ')');
	for (i = 2; field && i < 22; i++)
		field = strchr(field + 1, ' ');
	CHECK(field);
	ticks = strtoll(field, NULL, 10);
	/* Any delay in between makes it less. */
	for (i = 0; i < 1000; i++) {
		clock_gettime(CLOCK_REALTIME, &real);
		clock_gettime(CLOCK_BOOTTIME, &boot);
		apart = (real.tv_sec - boot.tv_sec) * second +
			real.tv_nsec - boot.tv_nsec;
		if (apart > most)
			most = apart;
	}

	return most + ticks * (second / sysconf(_SC_CLK_TCK));
}

/* For a file that was written to at that time: does it keep its contents? */
static bool file_stays(int64_t time)
{
	const struct timespec times[2] = {
		{ .tv_nsec = UTIME_OMIT },
		{ .tv_sec = time / 1000000000, .tv_nsec = time % 1000000000 },
	};
	bool stays;
	char *got;

	put("1000 10 old\n");
	CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
	CHECK_EQ(codectl_perf_map(1), 0);
	CHECK_EQ(codectl_perf_map(0), 0);
	got = read_file();
	stays = strstr(got, "old");
	free(got);
	unlink(path);

	return stays;
}

/*
 * Only the start time distinguishes an earlier process from this one, with the
 * resolution of the tick that gives files their time.
 */
static void files_of_another_time(void)
{
	struct timespec tick;
	int64_t began;

	start(NULL);
	began = start_of_process();
	clock_getres(CLOCK_REALTIME_COARSE, &tick);
	CHECK(!file_stays(began - 10000000000));
	CHECK(file_stays(began - tick.tv_nsec / 4));
	CHECK(file_stays(began + 10000000));
}

static const struct test tests[] = {
	TEST(file_is_closed),
	TEST(errno_is_not_used),
	TEST(file_is_full),
	TEST(file_is_full_to_the_byte),
	TEST(thread_is_cancelled),
	TEST(child_has_its_own),
	TEST(child_switches),
	TEST(files_of_others),
	TEST(old_files),
	TEST(files_of_another_time),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}
