// SPDX-License-Identifier: MIT
/* The notifications to a service manager. */
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "../attach/ready.h"
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

int main(void)
{
	RUN(by_a_path);
	RUN(by_an_abstract_name);
	RUN(nobody_who_listens);
	return check_end();
}
