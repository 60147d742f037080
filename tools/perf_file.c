// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perf_file.h"
#include "process.h"

/* Starts are in ticks of 10 ms, and times of files may be as coarse. */
#define COARSE_NS	20000000ULL

/* Its user and group here, and its PID in the innermost container. */
static bool read_status(pid_t pid, struct perf_file *file, long *number)
{
	char path[64], line[256];
	unsigned int seen = 0;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status)) {
		if (sscanf(line, "Uid: %*u %u", &file->uid) == 1 ||
		    sscanf(line, "Gid: %*u %u", &file->gid) == 1)
			seen++;
		else if (!strncmp(line, "NSpid:", 6))
			seen += !!(*number = atol(strrchr(line, '\t')));
	}
	if (status)
		fclose(status);
	return seen == 3;
}

void perf_file_note(struct perf_file *file, pid_t pid)
{
	int root = plain_root(pid);
	long number = pid;

	file->pid = pid;
	file->start = process_start(pid);

	file->ours = root < 0 || !read_status(pid, file, &number);
	if (file->ours) {
		number = pid;
		if (root >= 0)
			close(root);
		root = plain_root(0);
	}
	file->dir = plain_directory(root, "/tmp");
	close(root);
	snprintf(file->name, sizeof(file->name), "perf-%ld.map", number);
}

void perf_file_close(struct perf_file *file)
{
	if (file->dir >= 0)
		close(file->dir);
}

uint64_t perf_file_ended(const struct perf_file *file)
{
	const uint64_t start = process_start(file->pid);

	return start && start != file->start ? process_start_time(start) : 0;
}

bool perf_file_is_own(const struct perf_file *file, int map, uint64_t ended)
{
	struct stat stat;
	uint64_t written;

	if (fstat(map, &stat))
		return false;
	written = stat.st_mtim.tv_sec * 1000000000ULL + stat.st_mtim.tv_nsec;
	if (ended && written >= ended)
		return false;
	return !file->start || written + COARSE_NS >= process_start_time(file->start);
}

/* Anyone can make a file in /tmp. */
static bool is_believable(const struct perf_file *file, const struct plain *map)
{
	return !map->uid || map->uid == geteuid() || (!file->ours && map->uid == file->uid);
}

/*
 * Without root nothing changes.  A change of user resets the signal that ends a process
 * with its parent, which may have ended by then.
 */
static void act_as(uid_t user, gid_t group, int signal, pid_t parent)
{
	setfsgid(group);
	setfsuid(user);
	if (signal && (prctl(PR_SET_PDEATHSIG, signal) || getppid() != parent))
		raise(signal);
}

bool perf_file_open(const struct perf_file *file, struct plain *map)
{
	uid_t user = geteuid();
	gid_t group = getegid();
	pid_t parent = getppid();
	int signal = 0;
	bool good;

	map->fd = -1;
	if (file->dir < 0)
		return false;
	prctl(PR_GET_PDEATHSIG, &signal);
	if (!file->ours)
		act_as(file->uid, file->gid, signal, parent);
	good = plain_open_entry(map, file->dir, file->name);
	act_as(user, group, signal, parent);
	if (good && is_believable(file, map))
		return true;
	if (good)
		close(map->fd);
	map->fd = -1;
	return false;
}
