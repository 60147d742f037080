// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "looker.h"
#include "owner.h"
#include "tool.h"

/* No user. */
#define OURS	UINT64_MAX

/* Not the owner of /proc/PID, which is root if the process may not be dumped. */
bool owner_effective(pid_t pid, uid_t *uid)
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

/* Stores OURS for this namespace. */
static bool find_maker(pid_t pid, uint64_t *answer)
{
	char *path = format("/proc/%d/ns/user", pid);
	int ns = open(path, O_RDONLY | O_CLOEXEC);
	uid_t uid;

	free(path);
	if (ns < 0)
		return false;
	if (is_ours(ns)) {
		close(ns);
		*answer = OURS;
		return true;
	}
	if (!maker(ns, &uid))
		return false;
	*answer = uid;
	return true;
}

/*
 * Do all users have the same ids in its namespace as here?  Only somebody with all rights
 * can make one like that.
 */
static bool has_all_users(pid_t pid)
{
	char *path = format("/proc/%d/uid_map", pid);
	FILE *map = fopen(path, "re");
	unsigned int first, here, nr;
	bool good;

	free(path);
	if (!map)
		return false;
	good = fscanf(map, "%u %u %u", &first, &here, &nr) == 3 && !first && !here &&
	       nr == UINT32_MAX;
	fclose(map);
	return good;
}

bool owner_of(pid_t pid, uid_t *uid)
{
	uint64_t maker;

	if (!owner_effective(pid, uid))
		return false;
	/* These need no lock of the process, which it could hold for ever. */
	if (has_all_users(pid) && has_all_users(getpid()))
		return true;
	if (!looker_ask(find_maker, pid, *uid, &maker))
		return false;
	/* In one that root has made, as for a container, users are who they are here. */
	if (maker && maker != OURS)
		*uid = maker;
	return true;
}
