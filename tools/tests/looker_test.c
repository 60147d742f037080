// SPDX-License-Identifier: MIT
/* Questions that are not answered in time, who pays for them, and what is left behind. */
#include <fcntl.h>
#include <sys/mman.h>

#include "check.h"
#include "looker.c"

#define SOMEBODY	12345
#define ANOTHER		23456

static bool is_number(pid_t pid, uint64_t *answer)
{
	*answer = 2 * pid;
	return true;
}

static bool has_gone(pid_t pid, uint64_t *answer)
{
	(void)pid;
	(void)answer;
	errno = ESRCH;
	return false;
}

/* As in execve(); but it ends if nobody ends it. */
static __attribute__((noreturn)) bool never(pid_t pid, uint64_t *answer)
{
	(void)pid;
	(void)answer;
	alarm(60);
	for (;;)
		pause();
}

static bool leads_a_session(pid_t pid, uint64_t *answer)
{
	(void)pid;
	*answer = getsid(0) == getpid();
	return true;
}

static bool nr_files(pid_t pid, uint64_t *answer)
{
	(void)pid;
	*answer = 0;
	for (int fd = 0; fd < 1024; fd++)
		*answer += fcntl(fd, F_GETFD) >= 0;
	return true;
}

static bool answers(uid_t user)
{
	uint64_t answer = 0;

	return looker_ask(is_number, 21, user, &answer) && answer == 42;
}

static bool is_late(uid_t user)
{
	uint64_t answer;

	return !looker_ask(never, 21, user, &answer) && errno == ETIMEDOUT;
}

static bool has_child(void)
{
	return waitpid(-1, NULL, WNOHANG) >= 0;
}

/* For the next test. */
static void forgive(void)
{
	memset(late, 0, sizeof(late));
}

static void it_is_asked(void)
{
	uint64_t answer;

	CHECK(answers(SOMEBODY));
	CHECK(!looker_ask(has_gone, 1, SOMEBODY, &answer) && errno == ESRCH);
	CHECK(answers(SOMEBODY));
}

static void it_keeps_nothing_open(void)
{
	uint64_t nr = 0, alone = 0;
	int ends[2];

	if (pipe(ends))
		abort();
	stop();
	CHECK(looker_ask(nr_files, 0, SOMEBODY, &nr) && nr == 1);
	CHECK(looker_ask(leads_a_session, 0, SOMEBODY, &alone) && alone);
	close(ends[0]);
	close(ends[1]);
}

static void it_is_given_up(void)
{
	const int64_t before = now_ms();

	CHECK(is_late(SOMEBODY));
	CHECK(now_ms() - before >= LONGEST_MS && now_ms() - before < 5 * LONGEST_MS);
	CHECK(!has_child());
	CHECK(answers(SOMEBODY));
	CHECK(has_child());
	forgive();
}

static void who_is_late_too_often_is_not_asked(void)
{
	int64_t before;

	for (int i = 0; i < MOST_LATE; i++)
		CHECK(is_late(SOMEBODY));
	before = now_ms();
	for (int i = 0; i < 1000 && now_ms() - before < LONGEST_MS; i++)
		CHECK(is_late(SOMEBODY));
	CHECK(!answers(SOMEBODY) && errno == ETIMEDOUT);
	CHECK(now_ms() - before < LONGEST_MS);
	CHECK(answers(ANOTHER));
	for (size_t i = 0; i < MOST_USERS; i++)
		late[i].latest -= LATE_SECONDS;
	CHECK(answers(SOMEBODY));
	forgive();
}

static void many_users_have_little_time_each(void)
{
	CHECK(time_to_wait() == LONGEST_MS);
	note_late(SOMEBODY);
	CHECK(time_to_wait() == LONGEST_MS / 2);
	note_late(SOMEBODY);
	note_late(ANOTHER);
	CHECK(time_to_wait() == LONGEST_MS / 8);
	/* They were late the longest ago. */
	for (size_t i = 0; i < MOST_USERS; i++)
		late[i].latest--;
	for (uid_t user = 1; user < 10 * MOST_USERS; user++)
		note_late(user);
	CHECK(time_to_wait() == SHORTEST_MS);
	note_late(ANOTHER);
	/* On a busy machine the answer may take longer than that: nobody is asked here. */
	CHECK(is_refused(ANOTHER) && !is_refused(SOMEBODY));
	forgive();
}

static void it_is_started_anew(void)
{
	CHECK(answers(SOMEBODY));
	kill(looker, SIGKILL);
	CHECK(answers(SOMEBODY));
	CHECK(waitpid(-1, NULL, WNOHANG) == 0);
}

/* Nor does a child have to wait for the end of what it does not know. */
static void a_child_has_its_own(void)
{
	const pid_t ours = looker;
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(channel >= 0 || !answers(SOMEBODY) || looker == ours);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(answers(SOMEBODY) && looker == ours);
}

/* Shared: the process that hangs. */
static volatile pid_t *hangs;

static bool hang(pid_t pid, uint64_t *answer)
{
	*hangs = getpid();
	never(pid, answer);
}

/* It sees the end of the channel, too, but not while it hangs. */
static void it_ends_with_its_parent(void)
{
	const struct request request = { .question = hang };
	int status = 0;
	pid_t pid;

	hangs = mmap(NULL, sizeof(*hangs), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (hangs == MAP_FAILED || prctl(PR_SET_CHILD_SUBREAPER, 1))
		abort();
	pid = fork();
	if (!pid) {
		alarm(60);
		if (start())
			send(channel, &request, sizeof(request), 0);
		for (;;)
			pause();
	}
	for (int i = 0; i < 30000 && !*hangs; i++)
		usleep(1000);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	CHECK(*hangs && waitpid(*hangs, &status, 0) == *hangs);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

int main(void)
{
	RUN(it_is_asked);
	RUN(it_keeps_nothing_open);
	RUN(it_is_given_up);
	RUN(who_is_late_too_often_is_not_asked);
	RUN(many_users_have_little_time_each);
	RUN(it_is_started_anew);
	RUN(a_child_has_its_own);
	RUN(it_ends_with_its_parent);
	return check_end();
}
