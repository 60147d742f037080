// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "owner.h"
#include "tool.h"

/* Not the owner of /proc/PID, which is root if the process may not be dumped. */
static bool effective_user(pid_t pid, uid_t *uid)
{
	char *path = format("/proc/%d/status", pid), line[128];
	FILE *status = fopen(path, "re");
	bool good = false;

	free(path);
	while (status && !good && fgets(line, sizeof(line), status))
		good = sscanf(line, "Uid: %*u %u", uid) == 1;
	if (status)
		fclose(status);
	return good;
}

static bool is_ours(int ns)
{
	struct stat theirs, ours;

	return !fstat(ns, &theirs) && !stat("/proc/self/ns/user", &ours) &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

/* The maker of the ancestor of @ns, which is closed, that is directly below ours. */
static bool maker(int ns, uid_t *uid)
{
	int parent = ioctl(ns, NS_GET_PARENT);
	bool good;

	while (parent >= 0 && !is_ours(parent)) {
		close(ns);
		ns = parent;
		parent = ioctl(ns, NS_GET_PARENT);
	}
	/* It is above ours, or a sibling. */
	if (parent < 0 && errno == EPERM) {
		*uid = OWNER_UNKNOWN;
		good = true;
	} else {
		good = parent >= 0 && !ioctl(ns, NS_GET_OWNER_UID, uid);
	}
	if (parent >= 0)
		close(parent);
	close(ns);
	return good;
}

bool owner_of(pid_t pid, uid_t *uid)
{
	char *path = format("/proc/%d/ns/user", pid);
	int ns = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	if (ns < 0)
		return false;
	if (is_ours(ns))
		close(ns);
	else if (!maker(ns, uid))
		return false;
	else if (*uid)
		return true;
	/* In one that root has made, as for a container, users are who they are here. */
	return effective_user(pid, uid);
}
