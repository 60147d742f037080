// SPDX-License-Identifier: MIT
/* The keeper process of one owner, with stand-ins for files and tables that count calls. */
#include <fcntl.h>
#include <sys/wait.h>

#include "check.h"
#include "attach/keep.c"

/* Counted in the process, which reports the counts. */
static size_t nr_looks, nr_mappings;

/* Set before the process starts. */
static int packaged;
static uid_t of;
static bool has_files;

bool files_add_all(struct files *files)
{
	(void)files;
	nr_looks++;
	return true;
}

void files_add_mapping(struct files *files, pid_t pid, unsigned long start,
		       unsigned long end, const char *name)
{
	(void)files;
	(void)pid;
	(void)start;
	(void)end;
	nr_mappings += !strcmp(name, "file");
}

bool tables_make(struct tables *t)
{
	t->files.unopened = fcntl(packaged + 1, F_GETFD) >= 0;
	t->files.nr = has_files;
	return false;
}

struct tables_sum tables_sum(const struct tables *t)
{
	return (struct tables_sum){
		.nr = nr_looks, .without = nr_mappings,
		.bytes = fcntl(packaged, F_GETFD) >= 0 && fcntl(t->store, F_GETFD) >= 0,
	};
}

void tables_drop_stale(struct tables *t, bool asked)
{
	(void)t;
	(void)asked;
}

int store_packaged(void)
{
	return packaged;
}

static int channel;

/* Return: the counts that the process reports after it was told of @mappings. */
static struct keep_counts counts_after(size_t mappings)
{
	struct keep_counts counts = { 0 };

	while (recv(channel, &counts, sizeof(counts), 0) > 0 && counts.without < mappings)
		;
	return counts;
}

static void say(pid_t pid)
{
	const struct keep_told told = { .pid = pid, .name = "file" };
	const ssize_t len = offsetof(struct keep_told, name) + sizeof("file");

	CHECK(send(channel, &told, len, 0) == len);
}

/* Starts the process after some mappings were reported. */
static pid_t start(size_t looks)
{
	pid_t parent = getpid(), pid;
	int ends[2], store;

	packaged = open("/", O_RDONLY | O_DIRECTORY);
	/* The next descriptor has no owner. */
	CHECK(dup(packaged) == packaged + 1);
	store = open("/", O_RDONLY | O_DIRECTORY);
	CHECK(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	channel = ends[0];
	while (looks--)
		say(0);
	say(1);
	pid = fork();
	if (!pid)
		keep(of, store, ends[1], false, parent);
	close(ends[1]);
	close(packaged);
	close(packaged + 1);
	close(store);
	return pid;
}

static void it_keeps_what_it_needs(void)
{
	pid_t pid = start(0);
	struct keep_counts counts = counts_after(1);

	CHECK(counts.bytes && !counts.unopened);
	kill(pid, SIGTERM);
	CHECK(waitpid(pid, NULL, 0) == pid);
	close(channel);
}

static void it_looks_once_for_all(void)
{
	pid_t pid = start(20);
	struct keep_counts counts = counts_after(1);

	/* It has also looked once at the start. */
	CHECK(counts.nr == 2);
	say(0);
	say(1);
	CHECK(counts_after(2).nr == 3);
	close(channel);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

/* There is never a file. */
static void it_ends_if_it_is_not_used(void)
{
	pid_t pid;
	int status;

	unused = 0;
	of = 1;
	pid = start(0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
	close(channel);
}

/* Is it there after some idle time, and does it end with another status? */
static bool stays(uid_t owner, bool used)
{
	pid_t pid;
	int status;

	of = owner;
	has_files = used;
	pid = start(0);
	counts_after(1);
	usleep(100000);
	say(1);
	CHECK(counts_after(2).without == 2);
	kill(pid, SIGTERM);
	CHECK(waitpid(pid, &status, 0) == pid);
	close(channel);
	return WIFEXITED(status) && WEXITSTATUS(status);
}

static void it_stays_if_it_is_used_or_roots(void)
{
	CHECK(stays(0, false));
	CHECK(stays(1, true));
}

int main(void)
{
	/* So that the ones below have numbers without a gap. */
	close_range(3, ~0U, 0);
	signal(SIGPIPE, SIG_IGN);
	RUN(it_keeps_what_it_needs);
	RUN(it_looks_once_for_all);
	RUN(it_ends_if_it_is_not_used);
	RUN(it_stays_if_it_is_used_or_roots);
	return check_end();
}
