// SPDX-License-Identifier: MIT
/*
 * Which system calls are made, and what happens when they are refused.
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "stand_in.h"
#include "test.h"

#ifndef __NR_codectl
#define __NR_codectl 473
#endif

#define NR_FUNCS	100000
#define FUNC_LEN	16

static void install(const struct sock_filter *filter, unsigned short len)
{
	struct sock_fprog prog = { .len = len, .filter = (void *)filter };

	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
}

/* From here on, the process dies of any system call of this thread. */
static void forbid_all(void)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};

	install(filter, ARRAY_SIZE(filter));
}

/* From here on, system call @nr fails with @error, whatever its arguments. */
static void refuse_call(unsigned int nr, int error)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	install(filter, ARRAY_SIZE(filter));
}

static void refuse_codectl(int error)
{
	refuse_call(__NR_codectl, error);
}

static struct codectl_region *region;
static uint64_t text;
static int published;

static void add_function(unsigned int i)
{
	const struct code_jit_unwind_fre rows[3] = {
		test_row(0, 4, 3 * i), test_row(4, 8, 3 * i + 1),
		test_row(12, 4, 3 * i + 2),
	};

	CHECK_EQ(codectl_region_add(region, text + i * FUNC_LEN, FUNC_LEN, rows,
				    3, "name"), 0);
}

/* Never returns: even to end the thread takes system calls. */
static void *publish(void *arg)
{
	unsigned int i;

	(void)arg;
	forbid_all();
	for (i = 0; i < NR_FUNCS; i++)
		add_function(i);
	for (i = 0; i < NR_FUNCS; i++)
		CHECK_EQ(test_id(text + i * FUNC_LEN + 15), 3 * i + 2);
	CHECK_EQ(codectl_region_retire(region, text, NR_FUNCS / 2 * FUNC_LEN),
		 NR_FUNCS / 2 * 3);
	__atomic_store_n(&published, 1, __ATOMIC_RELEASE);
	for (;;)
		__asm__ volatile("pause");

	return NULL;
}

/*
 * Everything between opening and closing the region happens in a thread that must not
 * make any system call.
 */
static void publish_without_calls(const struct codectl_region_attr *attr)
{
	struct codectl_region_stat stat;
	pthread_t thread;

	region = test_open(NR_FUNCS * FUNC_LEN, attr, &text);
	/* Where there are user events, nobody asks. */
	codectl_names_event(1);
	CHECK_EQ(pthread_create(&thread, NULL, publish, NULL), 0);
	while (!__atomic_load_n(&published, __ATOMIC_ACQUIRE))
		sched_yield();
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.rows_used, NR_FUNCS * 3);
	CHECK_EQ(stat.rows, NR_FUNCS * 3 / 2);
	codectl_region_close(region);
}

static void publishing_makes_no_call(void)
{
	struct codectl_region_attr attr = { .max_rows = NR_FUNCS * 3 };

	publish_without_calls(&attr);
}

static void nor_does_a_chain(void)
{
	struct codectl_region_attr attr = {
		.flags = CODECTL_REGION_REWRITE,
		.max_rows = NR_FUNCS * 3 + 64 * 3,
		.table_rows = (NR_FUNCS / 50) * 3 + 1,
	};

	publish_without_calls(&attr);
}

/* Otherwise the two above would show nothing. */
static void the_filter_kills(void)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		forbid_all();
		getppid();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status));
	CHECK_EQ(WTERMSIG(status), SIGSYS);
}

static void use_everything(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .max_rows = NR_FUNCS * 3 };
	struct codectl_region_stat stat;
	char path[64];

	region = test_open(NR_FUNCS * FUNC_LEN, &attr, &text);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.registered, 0);
	add_function(1);
	add_function(0);
	CHECK_EQ(codectl_region_retire(region, text, FUNC_LEN), 3);
	CHECK_EQ(codectl_region_compact(region), 0);
	CHECK_EQ(test_id(text), -ENODATA);
	CHECK_EQ(test_id(text + FUNC_LEN), 3);
	CHECK_EQ(codectl_perf_map(1), 0);
	add_function(2);
	CHECK_EQ(codectl_perf_map(0), 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	CHECK_EQ(unlink(path), 0);
	CHECK_EQ(codectl_elf_register(NULL, 0, 0), 0);
	codectl_region_close(region);
	CHECK_EQ(test_id(text), -ENOENT);
}

/* Everything works, without any message. */
static void refuse(int error)
{
	struct code_unregister_info info = { 0 };
	char said[16];
	int fds[2];

	CHECK_EQ(pipe(fds), 0);
	CHECK_EQ(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	CHECK(dup2(fds[1], 2) == 2);
	refuse_codectl(error);
	CHECK_EQ(codectl_probe(), -error);
	errno = 77;
	CHECK_EQ(codectl_syscall(CODE_UNREGISTER, &info, sizeof(info), 0),
		 -error);
	CHECK_EQ(errno, 77);
	use_everything();
	CHECK_EQ(read(fds[0], said, sizeof(said)), -1);
}

static void refused_as_unknown(void)
{
	refuse(ENOSYS);
}

static void refused_as_forbidden(void)
{
	refuse(EPERM);
}

static void refused_with_another_error(void)
{
	refuse(EACCES);
}

/* A filter may just make the call look as if it had worked. */
static void pretended(void)
{
	refuse_codectl(0);
	CHECK_EQ(codectl_probe(), -ENOSYS);
}

/* The kernel may continue to read the tables, and finds them empty. */
static void refused_at_the_end(void)
{
	struct stand_in_entry entry;
	const uint64_t *table;

	stand_in();
	region = test_open(NR_FUNCS * FUNC_LEN, NULL, &text);
	add_function(0);
	CHECK_EQ(stand_in_find(text, &entry), 1);
	table = (void *)(uintptr_t)entry.unwind_head;
	CHECK_EQ(table[1], 3 * sizeof(struct code_jit_unwind_fre));
	stand_in_refuse(EPERM);
	codectl_region_close(region);
	CHECK_EQ(test_id(text), -ENOENT);
	CHECK(!table[1] && !table[2]);
}

/* --- calls for the file of names, and for memory */

static char path[64];

/* In a child, which is told and can continue. */
static void refuse_map(unsigned int nr, int error)
{
	pid_t pid = fork();

	if (!pid) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		refuse_call(nr, error);
		CHECK_EQ(codectl_perf_map(1), -error);
		add_function(1);
		CHECK_EQ(test_id(text + FUNC_LEN), 3);
		CHECK_EQ(codectl_perf_map(0), 0);
		unlink(path);
		_exit(0);
	}
	test_wait(pid);
}

static void map_is_refused(void)
{
	region = test_open(NR_FUNCS * FUNC_LEN, NULL, &text);
	add_function(0);
	refuse_map(SYS_openat, EMFILE);
	refuse_map(SYS_write, ENOSPC);
}

/* Which of the two the C library makes is up to it. */
static void no_state_of_the_map(void)
{
	region = test_open(NR_FUNCS * FUNC_LEN, NULL, &text);
	refuse_call(SYS_newfstatat, ENOMEM);
	refuse_map(SYS_fstat, ENOMEM);
}

/* What an earlier process left is not mistaken for this one's. */
static void old_map_stays(void)
{
	const struct timespec old[2] = { { .tv_sec = 1000 },
					 { .tv_sec = 1000 } };

	region = test_open(NR_FUNCS * FUNC_LEN, NULL, &text);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	CHECK_EQ(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
	CHECK_EQ(utimensat(AT_FDCWD, path, old, 0), 0);
	refuse_call(SYS_ftruncate, EIO);
	CHECK_EQ(codectl_perf_map(1), -EIO);
	CHECK_EQ(unlink(path), 0);
}

/* Names end with the first that does not fit into the file. */
static void map_is_full(void)
{
	int fd;

	region = test_open(NR_FUNCS * FUNC_LEN, NULL, &text);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	CHECK_EQ(codectl_perf_map(1), 0);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	refuse_call(SYS_write, ENOSPC);
	add_function(0);
	CHECK_EQ(test_id(text), 0);
	/* The next one, with the same number, is where the last one was. */
	CHECK_EQ(dup(fd), fd - 1);
	CHECK_EQ(unlink(path), 0);
}

/* Names stay where they are, and with their functions. */
static void no_memory_to_compact(void)
{
	struct codectl_region_attr attr = { .flags = CODECTL_REGION_REWRITE,
					    .max_rows = NR_FUNCS };
	struct codectl_region_stat stat;

	region = test_open(NR_FUNCS * FUNC_LEN, &attr, &text);
	add_function(0);
	add_function(1);
	CHECK_EQ(codectl_region_retire(region, text, FUNC_LEN), 3);
	refuse_call(SYS_mmap, ENOMEM);
	CHECK_EQ(codectl_region_compact(region), 0);
	codectl_region_stat(region, &stat);
	CHECK_EQ(stat.rows_used, 3);
	CHECK_EQ(stat.names, 1);
	CHECK_EQ(test_id(text), -ENODATA);
	CHECK_EQ(test_id(text + FUNC_LEN), 3);
}

static const struct test tests[] = {
	TEST(publishing_makes_no_call),
	TEST(nor_does_a_chain),
	TEST(the_filter_kills),
	TEST(refused_as_unknown),
	TEST(refused_as_forbidden),
	TEST(refused_with_another_error),
	TEST(pretended),
	TEST(refused_at_the_end),
	TEST(map_is_refused),
	TEST(no_state_of_the_map),
	TEST(old_map_stays),
	TEST(map_is_full),
	TEST(no_memory_to_compact),
};

int main(void)
{
	return test_main(tests, ARRAY_SIZE(tests));
}
