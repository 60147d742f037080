// SPDX-License-Identifier: MIT
/*
 * One keeper process per owner.  Stand-ins for the keepers do what the name of a mapping says; the
 * owner of a process follows from its id.
 */
#include <time.h>

#include "check.h"

/* The wall clock, which is advanced by an hour all the time. */
__attribute__((unused))
static time_t leap(time_t *now)
{
	static time_t leaps;

	(void)now;
	return leaps += 3600;
}

#define time leap
#include "attach/keepers.c"
#undef time

/* Process 1 is root's, 2000 and 2001 are user 2's; there are none above 2999. */
static bool all_of_5;

bool owner_of(pid_t pid, uid_t *uid)
{
	*uid = all_of_5 ? 5 : pid / 1000;
	if (all_of_5)
		return true;
	errno = ESRCH;
	return pid < 3000;
}

static volatile sig_atomic_t hangups;

static void count_hangup(int sig)
{
	(void)sig;
	hangups++;
}

/*
 * nr counts mappings, without counts requests to scan all processes, and pending counts SIGHUPs.
 */
void keep(uid_t owner, int store, int channel, bool verbose, pid_t parent)
{
	struct keep_counts counts = { .state = owner ? KEEP_DONE : KEEP_BUSY };
	struct keep_told told;

	/* Close the other end as well, so that only the parent holds it. */
	dup2(channel, 3);
	channel = 3;
	close_range(4, ~0U, 0);

	(void)store;
	(void)verbose;
	if (getppid() != parent)
		_exit(1);
	do {
		send(channel, &counts, sizeof(counts), 0);
		if (recv(channel, &told, sizeof(told), 0) <= 0)
			_exit(1);
		if (!told.pid)
			counts.without++;
		else if (!strcmp(told.name, "done"))
			counts.state = KEEP_DONE;
		else
			counts.nr += told.end - told.start;
		counts.pending = hangups;
	} while (strcmp(told.name, "end") && strcmp(told.name, "unused"));
	_exit(!strcmp(told.name, "end"));
}

static struct keepers keepers;

static void say(pid_t pid, const char *name)
{
	keepers_tell(&keepers, pid, 4, 5, name);
}

/* Waits for some seconds at most. */
#define EVENTUALLY(condition)						\
do {									\
	int left = 1000;						\
	bool so;							\
									\
	while (!(so = (condition)) && left--) {				\
		keepers_hear(&keepers);					\
		usleep(10000);						\
	}								\
	if (!so)							\
		printf("# line %d: %s\n", __LINE__, #condition);	\
	check_good &= so;						\
} while (0)

/* Waits until the counts of all are as given, for some seconds at most. */
static bool are(enum keep_state state, size_t nr, size_t without)
{
	struct keep_counts sum = { 0 };

	for (int i = 0; i < 1000; i++) {
		keepers_hear(&keepers);
		sum = keepers_sum(&keepers);
		if (sum.state == state && sum.nr == nr && sum.without == without)
			return true;
		usleep(10000);
	}
	printf("# state %d, %zu, %zu\n", sum.state, sum.nr, sum.without);
	return false;
}

static void root_is_the_first(void)
{
	add(&keepers, 0);
	say(2000, "file");
	keepers_hear(&keepers);
	CHECK(find(&keepers, 0)->pid && !find(&keepers, 2)->pid);
	CHECK(keepers_sum(&keepers).state == KEEP_BUSY);
	say(1, "done");
	CHECK(are(KEEP_DONE, 0, 0));
	EVENTUALLY(find(&keepers, 2)->pid);
}

static void each_has_what_is_its_owners(void)
{
	say(1, "file");
	say(2000, "file");
	say(2001, "file");
	say(3000, "file");
	CHECK(are(KEEP_DONE, 3, 0));
	CHECK(find(&keepers, 0)->counts.nr == 1 && find(&keepers, 2)->counts.nr == 2);
	CHECK(!find(&keepers, 3));
}

/* A stopped process reads nothing. */
static void stop(pid_t pid)
{
	kill(pid, SIGSTOP);
	CHECK(!waitid(P_PID, pid, NULL, WSTOPPED));
}

/* More messages than fit into the queue, while nobody reads it. */
static void what_one_misses_it_looks_for(void)
{
	struct keeper *keeper = find(&keepers, 2);

	stop(keeper->pid);
	for (int i = 0; i < 100000 && !keeper->missed; i++)
		say(2000, "file");
	CHECK(keeper->missed);
	keepers_hear(&keepers);
	CHECK(keeper->missed);
	kill(keeper->pid, SIGCONT);
	EVENTUALLY(!keeper->missed && keeper->counts.without == 1);
}

static void one_that_has_gone_comes_again(void)
{
	struct keeper *keeper = find(&keepers, 2);
	pid_t pid = keeper->pid;

	again = 1;
	say(2000, "end");
	EVENTUALLY(!keeper->pid);
	CHECK(!keeper->nr_hung && are(KEEP_DONE, 1, 0));
	EVENTUALLY(keeper->pid && keeper->pid != pid);
}

static void one_that_hangs_is_given_up(void)
{
	struct keeper *keeper = find(&keepers, 2);
	pid_t pid = keeper->pid;

	EVENTUALLY(keeper->counts.state == KEEP_DONE);
	stop(pid);
	keeper->heard -= patience;
	keepers_hear(&keepers);
	CHECK(!keeper->pid && keeper->nr_hung == 1 && keeper->hung[0] == pid);
	EVENTUALLY(keeper->pid && keeper->pid != pid && keeper->counts.state == KEEP_DONE);
	CHECK(keeper->nr_hung == 1 && !keeper->counts.pending);
	/* When the hung process ends, the other one is told to scan for its files. */
	kill(pid, SIGCONT);
	EVENTUALLY(!keeper->nr_hung);
	say(2000, "file");
	EVENTUALLY(keeper->counts.pending == 1);
}

/* A keeper that says that it is busy is believed only for some time. */
static void nobody_waits_for_one_that_hangs(void)
{
	struct keeper *keeper = find(&keepers, 2);

	keeper->counts.state = KEEP_BUSY;
	CHECK(keepers_sum(&keepers).state == KEEP_BUSY);
	keeper->heard -= BELIEVED;
	CHECK(keepers_sum(&keepers).state == KEEP_ANYBODYS);
	keeper->counts.state = KEEP_DONE;
}

static void only_so_many_may_hang(void)
{
	struct keeper *keeper = find(&keepers, 2);
	pid_t children[KEEPERS_HUNG];

	again = 1000;
	kill(keeper->pid, SIGKILL);
	EVENTUALLY(!keeper->pid);
	again = 0;
	for (size_t i = 0; i < KEEPERS_HUNG; i++) {
		children[i] = fork();
		if (!children[i])
			for (;;)
				pause();
		keeper->hung[keeper->nr_hung++] = children[i];
	}
	CHECK(!may_start(&keepers, keeper));
	kill(children[1], SIGKILL);
	EVENTUALLY(keeper->nr_hung == KEEPERS_HUNG - 1);
	EVENTUALLY(keeper->pid);
	kill(children[0], SIGKILL);
	kill(children[2], SIGKILL);
	EVENTUALLY(!keeper->nr_hung);
}

static void all_are_told_to_look(void)
{
	size_t others = find(&keepers, 2)->counts.without;

	all_of_5 = true;
	CHECK(keepers_look(&keepers) && find(&keepers, 5));
	all_of_5 = false;
	EVENTUALLY(find(&keepers, 2)->counts.without == others + 1);
	EVENTUALLY(find(&keepers, 5)->pid);
}

static void one_that_is_not_used_goes(void)
{
	size_t nr = keepers.nr;

	say(2000, "unused");
	EVENTUALLY(keepers.nr == nr - 1);
	CHECK(!find(&keepers, 2) && find(&keepers, 0) == keepers.keeper && find(&keepers, 5));
	say(2000, "file");
	EVENTUALLY(find(&keepers, 2) && find(&keepers, 2)->pid);
}

/* A message to a keeper whose end is not known yet, and one that it ended without reading. */
static void what_it_has_missed_is_looked_for(void)
{
	struct keeper *keeper = find(&keepers, 2);
	pid_t pid = keeper->pid;

	say(2000, "unused");
	CHECK(!waitid(P_PID, pid, NULL, WEXITED | WNOWAIT));
	say(2000, "file");
	EVENTUALLY(keeper->pid && keeper->pid != pid);
	pid = keeper->pid;
	stop(pid);
	say(2000, "unused");
	say(2000, "file");
	kill(pid, SIGCONT);
	EVENTUALLY(keeper->pid && keeper->pid != pid);
	CHECK(find(&keepers, 2) == keeper);
}

static void all_end_when_they_are_to(void)
{
	struct keeper *keeper = find(&keepers, 0);
	pid_t pid = keeper->pid;

	keepers_end(&keepers);
	CHECK(!keeper->pid && kill(pid, 0) && errno == ESRCH);
}

int main(void)
{
	/* As in the real parent: an early SIGHUP must not end a keeper. */
	signal(SIGHUP, count_hangup);
	RUN(root_is_the_first);
	RUN(each_has_what_is_its_owners);
	RUN(what_one_misses_it_looks_for);
	RUN(one_that_has_gone_comes_again);
	RUN(one_that_hangs_is_given_up);
	RUN(nobody_waits_for_one_that_hangs);
	RUN(only_so_many_may_hang);
	RUN(all_are_told_to_look);
	RUN(one_that_is_not_used_goes);
	RUN(what_it_has_missed_is_looked_for);
	RUN(all_end_when_they_are_to);
	free(keepers.keeper);
	return check_end();
}
