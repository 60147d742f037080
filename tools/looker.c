// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "looker.h"
#include "tool.h"

/*
 * How long an answer may take, in ms.  Each that does not come halves that for a while: to
 * SHORTEST_MS, which an answer rarely takes.  For one user may have the ids of many.
 */
#define LONGEST_MS	2000
#define SHORTEST_MS	20

/*
 * How many of a user's processes may not answer, and for how long that counts.  Once there is
 * only SHORTEST_MS, it is one.
 */
#define MOST_LATE	3
#define LATE_SECONDS	60

/* Users beyond take the place of the one who was late the longest ago. */
#define MOST_USERS	1024

struct request {
	looker_question *question;	/* the child is a copy of this process */
	pid_t pid;
};

struct reply {
	uint64_t answer;
	bool good;
	int error;
};

struct late {
	uid_t user;
	unsigned int nr;
	time_t latest;
};

enum outcome { ANSWERED, LATE, GONE };

static pid_t looker;
static int channel = -1;	/* to it; -1: there is none */
static struct late late[MOST_USERS];

/* ------------------------------------------------------------------ the child */

/* Its parent may be in a terminal, and has files that others wait for the end of. */
static void __attribute__((noreturn)) serve(int end, pid_t parent)
{
	struct request request;
	struct reply reply;

	setsid();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
	    dup2(end, 0) || close_range(1, ~0U, 0))
		_exit(EXIT_FAILED);
	for (;;) {
		ssize_t got = recv(0, &request, sizeof(request), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(request))
			_exit(0);
		reply = (struct reply){ 0 };
		reply.good = request.question(request.pid, &reply.answer);
		reply.error = errno;
		send(0, &reply, sizeof(reply), MSG_NOSIGNAL);
	}
}

/* Another child of this process asks one of its own. */
static void forget(void)
{
	if (channel >= 0)
		close(channel);
	channel = -1;
}

static bool start(void)
{
	static bool prepared;
	const pid_t parent = getpid();
	int ends[2], error;

	if (!prepared && pthread_atfork(NULL, NULL, forget))
		return false;
	prepared = true;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return false;
	looker = fork();
	error = errno;
	if (!looker)
		serve(ends[1], parent);
	close(ends[1]);
	if (looker < 0) {
		close(ends[0]);
		errno = error;
		return false;
	}
	channel = ends[0];
	return true;
}

/* Its waits end when it is killed. */
static void stop(void)
{
	forget();
	kill(looker, SIGKILL);
	while (waitpid(looker, NULL, 0) < 0 && errno == EINTR)
		;
}

/* ------------------------------------------------------------------- patience */

static bool counts(const struct late *of)
{
	return of->nr && now_seconds() - of->latest < LATE_SECONDS;
}

static int64_t time_to_wait(void)
{
	int64_t ms = LONGEST_MS;

	for (size_t i = 0; i < MOST_USERS && ms > SHORTEST_MS; i++)
		if (counts(&late[i]))
			ms >>= late[i].nr;
	return ms > SHORTEST_MS ? ms : SHORTEST_MS;
}

static bool is_refused(uid_t user)
{
	for (size_t i = 0; i < MOST_USERS; i++)
		if (late[i].user == user && counts(&late[i]))
			return late[i].nr >= MOST_LATE || time_to_wait() == SHORTEST_MS;
	return false;
}

static void note_late(uid_t user)
{
	struct late *of = &late[0];

	for (size_t i = 0; i < MOST_USERS; i++) {
		if (late[i].user == user && counts(&late[i])) {
			of = &late[i];
			break;
		}
		if (!counts(&late[i]) || (counts(of) && late[i].latest < of->latest))
			of = &late[i];
	}
	if (of->user != user || !counts(of))
		*of = (struct late){ .user = user };
	of->nr++;
	of->latest = now_seconds();
}

/* --------------------------------------------------------------------- asking */

static enum outcome exchange(const struct request *request, struct reply *reply)
{
	const int64_t end = now_ms() + time_to_wait();
	struct pollfd ready = { .fd = channel, .events = POLLIN };
	int64_t left;

	if (send(channel, request, sizeof(*request), MSG_NOSIGNAL) != sizeof(*request))
		return GONE;
	do {
		left = end - now_ms();
		if (poll(&ready, 1, left > 0 ? left : 0) > 0)
			return recv(channel, reply, sizeof(*reply), MSG_DONTWAIT) ==
			       sizeof(*reply) ? ANSWERED : GONE;
	} while (left > 0);
	return LATE;
}

/* Somebody may have killed it since the last question. */
bool looker_ask(looker_question *question, pid_t pid, uid_t user, uint64_t *answer)
{
	const struct request request = { question, pid };
	enum outcome outcome = is_refused(user) ? LATE : GONE;
	struct reply reply;

	for (int tries = 0; outcome == GONE && tries < 2; tries++) {
		if (channel < 0 && !start())
			return false;
		outcome = exchange(&request, &reply);
		if (outcome != ANSWERED)
			stop();
		if (outcome == LATE)
			note_late(user);
	}
	if (outcome != ANSWERED) {
		errno = ETIMEDOUT;
		return false;
	}
	*answer = reply.answer;
	errno = reply.error;
	return reply.good;
}
