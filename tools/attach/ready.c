// SPDX-License-Identifier: MIT
/* sd_notify(3) without its library: a datagram to a socket that the environment names. */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "ready.h"

static const char message[] = "READY=1";

static bool send_to(const char *path)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = strlen(path);
	ssize_t sent;
	int fd;

	if (len >= sizeof(to.sun_path)) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(to.sun_path, path, len);
	/* An abstract socket, in no file system. */
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	sent = sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&to,
		      offsetof(struct sockaddr_un, sun_path) + len);
	close(fd);
	return sent == (ssize_t)strlen(message);
}

void ready_tell(void)
{
	const char *path = getenv("NOTIFY_SOCKET");

	if (path && !send_to(path))
		fprintf(stderr, "codectl: cannot tell %s that it is ready: %s\n", path,
			strerror(errno));
}
