// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../owner.h"
#include "../tool.h"
#include "keepers.h"

/* Maximum number of users; each has a process. */
#define MOST		1024
/* How long something that takes its time is assumed to be root's files. */
#define BELIEVED	(3 * KEEP_SECONDS)
/* How long to wait for all of them to end, in milliseconds. */
#define END_MS		10000

/* How long one may be silent, as a disk may be slow, in seconds. */
static int patience = 300;
/* When to restart one that has gone, in seconds. */
static int again = 60;

/* It looks at all processes by itself.  If it cannot be started, try again later. */
static void start(const struct keepers *keepers, struct keeper *keeper)
{
	pid_t parent = getpid(), pid;
	int ends[2];

	keeper->heard = now_seconds();
	keeper->counts = (struct keep_counts){ .state = KEEP_DONE };
	keeper->missed = false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	pid = fork();
	if (!pid)
		keep(keeper->owner, keepers->store, ends[1], keepers->verbose, parent);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return;
	}
	keeper->pid = pid;
	keeper->channel = ends[0];
	keeper->counts.state = KEEP_BUSY;
}

static struct keeper *find(const struct keepers *keepers, uid_t owner)
{
	for (size_t i = 0; i < keepers->nr; i++)
		if (keepers->keeper[i].owner == owner)
			return &keepers->keeper[i];
	return NULL;
}

/* It is started when its turn comes: see hear(). */
static void add(struct keepers *keepers, uid_t owner)
{
	static bool said;

	if (keepers->nr == MOST) {
		if (!said)
			fprintf(stderr,
				"codectl: there are more than %d users: user %u gets no tables\n",
				MOST, owner);
		said = true;
		return;
	}
	if (!(keepers->nr & (keepers->nr - 1)))
		keepers->keeper = need(reallocarray(keepers->keeper,
						    keepers->nr ? 2 * keepers->nr : 1,
						    sizeof(*keepers->keeper)));
	keepers->keeper[keepers->nr++] = (struct keeper){
		.owner = owner, .heard = now_seconds() - again,
	};
}

static bool tell(const struct keeper *keeper, const struct keep_told *told)
{
	size_t len = offsetof(struct keep_told, name) + strlen(told->name) + 1;

	return send(keeper->channel, told, len, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)len;
}

void keepers_tell(void *arg, pid_t pid, unsigned long start, unsigned long end,
		  const char *name)
{
	struct keep_told told = { .pid = pid, .start = start, .end = end };
	struct keepers *keepers = arg;
	struct keeper *keeper;
	uid_t owner;

	if (!owner_of(pid, &owner))
		return;
	keeper = find(keepers, owner);
	if (!keeper) {
		add(keepers, owner);
	} else if (keeper->pid) {
		strncpy(told.name, name, sizeof(told.name) - 1);
		keeper->missed |= !tell(keeper, &told);
	}
}

bool keepers_look(struct keepers *keepers)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	bool good = proc;
	uid_t owner;

	if (!keepers->nr)
		add(keepers, 0);
	for (size_t i = 0; i < keepers->nr; i++)
		keepers->keeper[i].missed = true;
	while (proc && (entry = readdir(proc))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (!owner_of(strtol(entry->d_name, NULL, 10), &owner))
			good &= errno != EMFILE && errno != ENFILE && errno != ENOMEM;
		else if (!find(keepers, owner))
			add(keepers, owner);
	}
	if (proc)
		closedir(proc);
	return good;
}

static void forget(struct keeper *keeper)
{
	close(keeper->channel);
	keeper->pid = 0;
	keeper->heard = now_seconds();
	keeper->counts = (struct keep_counts){ .state = KEEP_DONE };
}

/*
 * It ends when it finds its channel closed, if ever, and has its tables until then: a
 * file system that does not answer for a while costs none.
 */
static void abandon(struct keeper *keeper)
{
	fprintf(stderr, "codectl: a file of user %u has not answered for %d seconds\n",
		keeper->owner, patience);
	keeper->hung[keeper->nr_hung++] = keeper->pid;
	forget(keeper);
}

static void reap_hung(struct keeper *keeper)
{
	for (unsigned int i = 0; i < keeper->nr_hung; i++)
		if (waitpid(keeper->hung[i], NULL, WNOHANG) == keeper->hung[i]) {
			keeper->hung[i--] = keeper->hung[--keeper->nr_hung];
			/*
			 * Its tables are gone: the next one looks again for files
			 * without one.
			 */
			if (keeper->pid)
				kill(keeper->pid, SIGHUP);
		}
}

/*
 * Files that everybody has mapped are root's, whose processes have them, too: root's is
 * first.
 */
static bool may_start(const struct keepers *keepers, const struct keeper *keeper)
{
	return keeper->nr_hung < KEEPERS_HUNG && now_seconds() - keeper->heard >= again &&
	       (!keeper->owner || keepers->keeper[0].counts.state != KEEP_BUSY);
}

/* Forgets one that has ended; returns whether for good, until its owner maps a file. */
static bool forget_ended(struct keeper *keeper, int status, bool unread)
{
	bool unused = keeper->owner && WIFEXITED(status) && !WEXITSTATUS(status);

	forget(keeper);
	/* It has missed something: start one that looks at all processes at once. */
	if (unused && (keeper->missed || unread)) {
		keeper->heard -= again;
		return false;
	}
	return unused && !keeper->nr_hung;
}

/* Returns whether it has gone for good. */
static bool hear(const struct keepers *keepers, struct keeper *keeper)
{
	const struct keep_told look = { 0 };
	struct keep_counts counts;
	time_t now = now_seconds();
	ssize_t got;
	int status;

	reap_hung(keeper);
	if (!keeper->pid) {
		if (may_start(keepers, keeper))
			start(keepers, keeper);
		return false;
	}
	while ((got = recv(keeper->channel, &counts, sizeof(counts), MSG_DONTWAIT)) ==
	       sizeof(counts)) {
		keeper->counts = counts;
		keeper->heard = now;
	}
	if (waitpid(keeper->pid, &status, WNOHANG) == keeper->pid)
		return forget_ended(keeper, status, got < 0 && errno == ECONNRESET);
	if (now - keeper->heard >= patience)
		abandon(keeper);
	else if (keeper->missed)
		keeper->missed = !tell(keeper, &look);
	return false;
}

void keepers_hear(struct keepers *keepers)
{
	for (size_t i = 0; i < keepers->nr; i++)
		if (hear(keepers, &keepers->keeper[i]))
			keepers->keeper[i--] = keepers->keeper[--keepers->nr];
}

struct keep_counts keepers_sum(const struct keepers *keepers)
{
	struct keep_counts sum = { .state = KEEP_DONE };

	for (size_t i = 0; i < keepers->nr; i++) {
		const struct keeper *keeper = &keepers->keeper[i];
		const struct keep_counts *counts = &keeper->counts;
		enum keep_state state = counts->state;

		if (state == KEEP_BUSY && keeper->owner && keeper->pid &&
		    now_seconds() - keeper->heard >= BELIEVED)
			state = KEEP_ANYBODYS;

		if (state < sum.state)
			sum.state = state;
		sum.nr += counts->nr;
		sum.without += counts->without;
		sum.pending += counts->pending;
		sum.unopened += counts->unopened;
		sum.bytes += counts->bytes;
		if (counts->unopened)
			sum.error = counts->error;
	}
	return sum;
}

void keepers_signal(const struct keepers *keepers, int sig)
{
	for (size_t i = 0; i < keepers->nr; i++)
		if (keepers->keeper[i].pid)
			kill(keepers->keeper[i].pid, sig);
}

void keepers_end(struct keepers *keepers)
{
	size_t left = keepers->nr;

	keepers_signal(keepers, SIGTERM);
	for (int waited = 0; left && waited < END_MS; waited += 10) {
		left = 0;
		for (size_t i = 0; i < keepers->nr; i++) {
			struct keeper *keeper = &keepers->keeper[i];

			if (keeper->pid && waitpid(keeper->pid, NULL, WNOHANG) == keeper->pid)
				keeper->pid = 0;
			left += keeper->pid != 0;
		}
		if (left)
			usleep(10000);
	}
}
