// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../tool.h"
#include "keep.h"
#include "tables.h"

/* How often to look for what a converter has made, in milliseconds. */
#define MAKE_MS		200
/* How many mappings to take before checking for anything else. */
#define TAKE		256

/* How long the process of a user who has nothing mapped stays, in seconds. */
static int unused = FILES_UNMAPPED;

static volatile sig_atomic_t ended, asked;

static void end(int sig)
{
	(void)sig;
	ended = 1;
}

static void ask(int sig)
{
	(void)sig;
	asked = 1;
}

static void catch_signals(void)
{
	const struct sigaction to_end = { .sa_handler = end }, to_ask = { .sa_handler = ask };

	sigaction(SIGTERM, &to_end, NULL);
	sigaction(SIGHUP, &to_ask, NULL);
	/* The parent gets it, too. */
	signal(SIGINT, SIG_IGN);
}

static int compare_fds(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Except stdio: tables stay as long as anybody has them open. */
static void close_all_but(int *kept, size_t nr)
{
	int next = 3;

	qsort(kept, nr, sizeof(*kept), compare_fds);
	for (size_t i = 0; i < nr; i++) {
		if (kept[i] > next)
			close_range(next, kept[i] - 1, 0);
		if (kept[i] >= next)
			next = kept[i] + 1;
	}
	close_range(next, ~0U, 0);
}

/* Waits for up to @ms; false if nothing more will come. */
static bool take_told(struct files *files, int channel, int ms)
{
	struct pollfd in = { .fd = channel, .events = POLLIN };
	struct keep_told told;
	bool look = false, more;
	ssize_t len = 1;

	poll(&in, 1, ms);
	for (int i = 0; i < TAKE && len > 0; i++) {
		len = recv(channel, &told, sizeof(told), MSG_DONTWAIT);
		if (len > 0 && !told.pid)
			look = true;
		else if (len > 0)
			files_add_mapping(files, told.pid, told.start, told.end, told.name);
	}
	more = len > 0 || (len < 0 && (errno == EAGAIN || errno == EINTR));
	/* Once, however often that was asked for. */
	if (look)
		files_add_all(files);
	return more;
}

static void tell(const struct tables *t, int channel, bool more)
{
	const struct tables_sum sum = tables_sum(t);
	const struct keep_counts counts = {
		.state = !more ? KEEP_DONE : sum.only_anybodys ? KEEP_ANYBODYS : KEEP_BUSY,
		.nr = sum.nr,
		.without = sum.without,
		.pending = sum.pending,
		.unopened = t->files.unopened,
		.error = t->files.error,
		.bytes = sum.bytes,
	};

	/* If there is no room for it, the next one comes soon. */
	send(channel, &counts, sizeof(counts), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int time_to_wait(const struct tables *t, bool more)
{
	if (t->files.old < t->files.nr)
		return 0;
	return more ? MAKE_MS : KEEP_SECONDS * 1000 / 2;
}

void keep(uid_t owner, int store, int channel, bool verbose, pid_t parent)
{
	struct tables t = {
		.files = { .of_one = true, .owner = owner },
		.store = store,
		.ended = &ended,
		.quarters = owner ? TABLES_ONE_USERS : TABLES_ANYBODYS,
		.all = true,
		.verbose = verbose,
	};
	int kept[] = { store, channel, store_packaged() };
	bool more = true, look;
	time_t used;

	catch_signals();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(EXIT_FAILED);
	close_all_but(kept, ARRAY_SIZE(kept));
	t.unseen = !files_add_all(&t.files);
	used = now_seconds();
	while (!ended && take_told(&t.files, channel, time_to_wait(&t, more))) {
		more = tables_make(&t);
		tell(&t, channel, more);
		look = asked;
		asked = 0;
		tables_drop_stale(&t, look);
		if (t.files.nr)
			used = now_seconds();
		else if (owner && now_seconds() - used >= unused)
			_exit(0);
	}
	_exit(EXIT_FAILED);
}
