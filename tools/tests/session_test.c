// SPDX-License-Identifier: MIT
/* Which threads of a process are followed, with a stand-in for the kernel's list of them. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define tracefs_instance_file_append	add_to_list
#define tracefs_instance_file_read	read_list
#define tracefs_option_enable		set_option
#include "session.c"

#include "check.h"

volatile sig_atomic_t interrupted;

static pid_t process, last;
static unsigned int nr_added;

void guard_start(const char *const *paths, const struct guard_setting *set,
		 const struct guard_line *line)
{
	(void)paths;
	(void)set;
	(void)line;
}

bool guard_end(void)
{
	return true;
}

int set_option(struct tracefs_instance *instance, enum tracefs_option_id option)
{
	(void)instance;
	(void)option;
	return 0;
}

int add_to_list(struct tracefs_instance *instance, const char *file, const char *text)
{
	(void)instance;
	(void)file;
	last = atoi(text);
	nr_added++;
	return strlen(text);
}

/* Once a thread is followed, the kernel adds those that it starts. */
char *read_list(struct tracefs_instance *instance, const char *file, int *size)
{
	struct tids tids = { 0 };
	char *text;
	size_t len;
	FILE *to = need(open_memstream(&text, &len));

	(void)instance;
	(void)file;
	(void)size;
	if (nr_added)
		tids = threads_of(process);
	if (tids.nr)
		qsort(tids.tid, tids.nr, sizeof(*tids.tid), by_tid);
	for (size_t i = 0; i < tids.nr; i++)
		fprintf(to, "%d\n", tids.tid[i]);
	fclose(to);
	free(tids.tid);
	return text;
}

static void *wait_shortly(void *unused)
{
	usleep(2000);
	return unused;
}

static __attribute__((noreturn)) void start_threads(void)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (!pthread_create(&thread, NULL, wait_shortly, NULL))
			pthread_detach(thread);
		usleep(500);
	}
}

static void end(void)
{
	kill(process, SIGKILL);
	waitpid(process, NULL, 0);
}

/* Each time that they are listed there are others. */
static void threads_that_come_and_go(void)
{
	struct session session = { 0 };

	process = fork();
	if (!process)
		start_threads();
	usleep(50000);
	nr_added = 0;
	alarm(60);
	session_follow_process(&session, process);
	alarm(0);
	CHECK(nr_added > 0 && nr_added < 1000);
	end();
}

static void a_thread_is_followed_once(void)
{
	struct session session = { 0 };

	process = start_process();
	nr_added = 0;
	session_follow_process(&session, process);
	CHECK(nr_added == 1 && last == process);
	end();
}

int main(void)
{
	RUN(a_thread_is_followed_once);
	RUN(threads_that_come_and_go);
	return check_end();
}
