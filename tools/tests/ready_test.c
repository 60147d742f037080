// SPDX-License-Identifier: MIT
/* The notifications to a service manager, and to a recording, which is included. */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../attach/ready.h"
#include "../attach_child.c"
#include "check.h"

/* A socket like systemd's; its name is in NOTIFY_SOCKET. */
static int listen_at(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	memcpy(at.sun_path, name, strlen(name));
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	if (fd < 0 || bind(fd, (struct sockaddr *)&at,
			   offsetof(struct sockaddr_un, sun_path) + strlen(name)))
		abort();
	setenv("NOTIFY_SOCKET", name, 1);
	return fd;
}

static bool hears_once(int fd)
{
	char said[64];
	bool once = recv(fd, said, sizeof(said), 0) == 7 && !memcmp(said, "READY=1", 7) &&
		    recv(fd, said, sizeof(said), 0) < 0;

	close(fd);
	return once;
}

static void by_a_path(void)
{
	char dir[] = "/tmp/ready-XXXXXX", path[64];
	int fd;

	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/notify", dir);
	fd = listen_at(path);
	ready_tell();
	CHECK(hears_once(fd));
	unlink(path);
	rmdir(dir);
}

static void by_an_abstract_name(void)
{
	char name[64];
	int fd;

	snprintf(name, sizeof(name), "@codectl/ready_test/%d", getpid());
	fd = listen_at(name);
	ready_tell();
	CHECK(hears_once(fd));
}

/* It reports the error and continues. */
static void nobody_who_listens(void)
{
	char longer[256] = "/", heard[1024] = "";
	int said[2], was = dup(STDERR_FILENO);

	CHECK(was >= 0 && !pipe(said) && dup2(said[1], STDERR_FILENO) >= 0);
	unsetenv("NOTIFY_SOCKET");
	ready_tell();
	setenv("NOTIFY_SOCKET", "/nowhere/notify", 1);
	ready_tell();
	memset(longer + 1, 'x', sizeof(longer) - 2);
	setenv("NOTIFY_SOCKET", longer, 1);
	ready_tell();
	dup2(was, STDERR_FILENO);
	close(said[1]);
	CHECK(read(said[0], heard, sizeof(heard) - 1) > 0);
	CHECK(strstr(heard, "cannot tell /nowhere/notify that it is ready: "));
	CHECK(strstr(heard, "cannot tell /xxx"));
}

/* --- the recording that waits for that */

volatile sig_atomic_t interrupted;

static pid_t start_child(void (*function)(void))
{
	pid_t pid = fork();

	if (!pid) {
		function();
		_exit(0);
	}
	return pid;
}

static void end_later(void)
{
	usleep(500000);
}

static void tell_and_stay(void)
{
	ready_tell();
	pause();
}

/* Returns how long it has waited for one that does that, in ms. */
static int64_t await_one(void (*function)(void), bool forged)
{
	char address[sizeof(struct sockaddr_un)];
	struct attach_child child;
	int fd = open_socket(address);
	int64_t before = now_ms();

	setenv("NOTIFY_SOCKET", address, 1);
	if (forged)
		ready_tell();
	child.pid = start_child(function);
	await(&child, fd);
	close(fd);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	return now_ms() - before;
}

static void nobody_else_is_believed(void)
{
	CHECK(await_one(tell_and_stay, false) < READY_MS);
	CHECK(await_one(tell_and_stay, true) < READY_MS);
	CHECK(await_one(end_later, true) >= 500);
}

int main(void)
{
	RUN(by_a_path);
	RUN(by_an_abstract_name);
	RUN(nobody_who_listens);
	RUN(nobody_else_is_believed);
	return check_end();
}
