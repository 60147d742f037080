// SPDX-License-Identifier: MIT
/*
 * The user event for names, for ftrace and perf.
 *
 * The kernel sets CODECTL_NAMES_ASKED in the word whenever it registers a tracer of the
 * event, and clears it with the last one.  Here it is taken as a message, and cleared
 * when it is answered: so each tracer that comes is noticed, even if others are there
 * already, and so is one that was away in between.  CODECTL_NAMES_EVENT is set from
 * then on until a name finds no tracer.
 *
 * perf opens an event, which sets the bit, and listens only after it has looked at all
 * processes.  CODECTL_NAMES_AGAIN is set until everything is reported once more.
 *
 * All of this is under the lock.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "internal.h"

#define DATA_FILE	"user_events_data"
#define STATUS_FILE	"user_events_status"
#define NAME		"codectl_name"
#define EVENT		NAME " u64 copy; u64 id; u64 start; u64 len; "	\
			"u32 pid; u32 action; __rel_loc char[] name"

/* Seconds until perf listens. */
#define PERF_DELAY	2

/* --- the kernel's <linux/user_events.h>, which not all systems have */

struct user_reg {
	uint32_t size;
	uint8_t enable_bit;
	uint8_t enable_size;
	uint16_t flags;
	uint64_t enable_addr;
	uint64_t name_args;
	uint32_t write_index;
} __attribute__((__packed__));

struct user_unreg {
	uint32_t size;
	uint8_t disable_bit;
	uint8_t __reserved;
	uint16_t __reserved2;
	uint64_t disable_addr;
} __attribute__((__packed__));

#define DIAG_IOCSREG	_IOWR('*', 0, struct user_reg *)
#define DIAG_IOCSDEL	_IOW('*', 1, char *)
#define DIAG_IOCSUNREG	_IOW('*', 2, struct user_unreg *)

#define ENABLE_BIT	31
_Static_assert(1U << ENABLE_BIT == CODECTL_NAMES_ASKED, "the kernel's bit");

/* --- records */

/**
 * struct payload - a record, before its name
 * @copy: number of the reporting copy of the library
 * @id: number of the name; of the replay, where one begins or ends
 * @start: first byte of the function
 * @len: its length; where a replay ends, number of names that were reported
 * @pid: the process, as it sees itself
 * @action: CODECTL_NAME_*
 * @name_loc: the name follows: its length, with the 0, in the upper half
 */
struct payload {
	uint64_t copy;
	uint64_t id;
	uint64_t start;
	uint64_t len;
	uint32_t pid;
	uint32_t action;
	uint32_t name_loc;
} __attribute__((__packed__));

/**
 * struct name_event - the event
 * @on: whether it is registered
 * @forked: whether a parent of this process has registered it
 * @fd: file of user events; the program may have closed all files it does not know
 * @dev: device of that file
 * @ino: its inode
 * @index: what the event is called there
 * @pid: the process
 * @copy: number of this copy of the library; 0 until it is needed
 * @replays: number of replays so far
 * @told: names reported in this replay
 * @again: when to report everything once more
 * @tracefs: where the file is
 */
struct name_event {
	bool on;
	bool forked;
	int fd;
	dev_t dev;
	ino_t ino;
	uint32_t index;
	pid_t pid;
	uint64_t copy;
	uint64_t replays;
	uint64_t told;
	struct timespec again;
	char tracefs[PATH_MAX];
};

static struct name_event event;

static bool is_open(void)
{
	struct stat st;

	return !fstat(event.fd, &st) && st.st_dev == event.dev &&
	       st.st_ino == event.ino;
}

/* -EBADF: there is no tracer, or the file was just closed. */
static int put(const struct payload *payload, const char *name)
{
	struct iovec parts[] = {
		{ &event.index, sizeof(event.index) },
		{ (void *)payload, sizeof(*payload) },
		{ (void *)name, payload->name_loc >> 16 },
	};
	unsigned int tries = 4;
	ssize_t done;

	/* The kernel may be moving the memory just when it is to be read. */
	do {
		done = writev(event.fd, parts, 3);
	} while (done < 0 && (errno == EINTR || errno == EFAULT) && --tries);

	return done < 0 ? -errno : 0;
}

static int put_name(uint32_t action, const struct codectl_name *name)
{
	size_t len = strlen(name->text) + 1;
	struct payload payload = {
		.copy = event.copy,
		.id = name->id,
		.start = name->start,
		.len = name->len,
		.pid = event.pid,
		.action = action,
		.name_loc = len << 16,
	};
	int ret = put(&payload, name->text);

	if (ret)
		codectl_names_clear(CODECTL_NAMES_EVENT |
				    CODECTL_NAMES_AGAIN);

	return ret;
}

static int put_replayed(const struct codectl_name *name)
{
	event.told++;

	return put_name(CODECTL_NAME_ADD, name);
}

static void replay(void)
{
	struct codectl_name mark = { .id = ++event.replays, .text = "" };

	/* A function that is published now finds one bit or the other. */
	codectl_names_set(CODECTL_NAMES_EVENT);
	codectl_names_clear(CODECTL_NAMES_ASKED | CODECTL_NAMES_AGAIN);
	event.told = 0;
	if (put_name(CODECTL_NAME_BEGIN, &mark) ||
	    codectl_names_replay(CODECTL_EVENT, put_replayed))
		return;
	mark.len = event.told;
	put_name(CODECTL_NAME_END, &mark);
}

/* Whether perf has the event, as far as can be found out. */
static bool perf_has_it(void)
{
	char path[sizeof(event.tracefs) + sizeof(STATUS_FILE)], line[256];
	bool perf = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s" STATUS_FILE, event.tracefs);
	file = fopen(path, "re");
	if (!file)
		return true;
	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, NAME " ", sizeof(NAME)))
			perf = strstr(line, " perf");
	}
	fclose(file);

	return perf;
}

static void answer(void)
{
	/*
	 * The bit is set before the tracer gets anything.  Deleting an event, here one
	 * that does not exist, waits until the kernel is done.
	 */
	ioctl(event.fd, DIAG_IOCSDEL, "");
	replay();
	if (!(codectl_names_bits() & CODECTL_NAMES_EVENT) || !perf_has_it())
		return;
	clock_gettime(CLOCK_MONOTONIC, &event.again);
	event.again.tv_sec += PERF_DELAY;
	codectl_names_set(CODECTL_NAMES_AGAIN);
}

static bool is_due(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);

	return now.tv_sec > event.again.tv_sec ||
	       (now.tv_sec == event.again.tv_sec &&
		now.tv_nsec >= event.again.tv_nsec);
}

/* --- the file */

/* In the directory @dir, which ends with a slash. */
static int open_in(const char *dir)
{
	char path[sizeof(event.tracefs) + sizeof(DATA_FILE)];
	int fd;

	snprintf(event.tracefs, sizeof(event.tracefs), "%s", dir);
	snprintf(path, sizeof(path), "%s" DATA_FILE, event.tracefs);
	fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* If tracefs is not at its usual place. */
static int open_mounted(void)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	char dir[PATH_MAX], strings[PATH_MAX];
	struct mntent entry;
	int fd = -ENOENT;

	if (!mounts)
		return -ENOENT;
	while (fd == -ENOENT &&
	       getmntent_r(mounts, &entry, strings, sizeof(strings))) {
		if (strcmp(entry.mnt_type, "tracefs"))
			continue;
		snprintf(dir, sizeof(dir), "%s/", entry.mnt_dir);
		fd = open_in(dir);
	}
	endmntent(mounts);

	return fd;
}

static int open_data(void)
{
	int fd = open_in("/sys/kernel/tracing/");

	return fd == -ENOENT ? open_mounted() : fd;
}

/* The kernel sets or clears the bit, depending on whether there is a tracer. */
static int register_word(void)
{
	struct user_reg reg = {
		.size = sizeof(reg),
		.enable_bit = ENABLE_BIT,
		.enable_size = sizeof(codectl_names.word),
		.enable_addr = (uintptr_t)&codectl_names.word,
		.name_args = (uintptr_t)EVENT,
	};

	if (ioctl(event.fd, DIAG_IOCSREG, &reg))
		return -errno;
	event.index = reg.write_index;

	return 0;
}

static void unregister_word(void)
{
	struct user_unreg unreg = {
		.size = sizeof(unreg),
		.disable_bit = ENABLE_BIT,
		.disable_addr = (uintptr_t)&codectl_names.word,
	};

	ioctl(event.fd, DIAG_IOCSUNREG, &unreg);
}

/* Unlike any other, in this process or elsewhere. */
static int number_copy(void)
{
	if (event.copy || getrandom(&event.copy, sizeof(event.copy),
				    GRND_INSECURE) > 0)
		return 0;

	return -errno;
}

/* What was registered stays for a moment if the kernel is working on it. */
static int register_again(void)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	unsigned int tries = 20;
	int ret;

	unregister_word();
	while ((ret = register_word()) == -EADDRINUSE && --tries)
		nanosleep(&moment, NULL);

	return ret;
}

static int attach(void)
{
	struct stat st;
	int fd, ret;

	event.on = false;
	ret = number_copy();
	if (ret)
		return ret;
	fd = open_data();
	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		ret = -errno;
		close(fd);
		return ret;
	}
	event.fd = fd;
	event.dev = st.st_dev;
	event.ino = st.st_ino;
	event.pid = getpid();
	event.forked = false;
	ret = register_again();
	event.on = !ret;
	if (ret)
		close(fd);

	return ret;
}

static void detach(void)
{
	if (is_open()) {
		unregister_word();
		close(event.fd);
	}
	event.on = false;
	codectl_names_clear(CODECTL_NAMES_ASKED | CODECTL_NAMES_EVENT |
			    CODECTL_NAMES_AGAIN);
}

/*
 * A child may have what its parent registered, or not: threads may not have it.  A
 * tracer that came while the process was copied may have been missed; so the bit stays
 * set, unless the kernel says that there is none.
 */
static int attach_child(void)
{
	int ret = number_copy() ?: register_word();

	event.forked = false;
	event.pid = getpid();

	return ret == -EADDRINUSE ? 0 : ret;
}

/* The program may have closed the file, and may be a child. */
static bool is_attached(void)
{
	if (!event.on)
		return false;
	if (!is_open())
		attach();
	else if (event.forked && attach_child())
		detach();

	return event.on;
}

/* --- for others */

void codectl_event_forked(void)
{
	event.copy = 0;
	if (!event.on)
		return;
	event.forked = true;
	codectl_names_set(CODECTL_NAMES_ASKED);
}

/* Answers those who ask. */
void codectl_event_check(void)
{
	const uint32_t bits = CODECTL_NAMES_ASKED | CODECTL_NAMES_EVENT |
			      CODECTL_NAMES_AGAIN;

	if (!(codectl_names_bits() & bits))
		return;
	if (!is_attached())
		codectl_names_clear(bits);
	else if (codectl_names_bits() & CODECTL_NAMES_ASKED)
		answer();
	else if ((codectl_names_bits() & CODECTL_NAMES_AGAIN) && is_due())
		replay();
}

void codectl_event_add(const struct codectl_name *name)
{
	put_name(CODECTL_NAME_ADD, name);
}

void codectl_event_retire(uint64_t start, uint64_t len)
{
	struct codectl_name name = { .start = start, .len = len, .text = "" };

	codectl_event_check();
	if (codectl_names_bits() & CODECTL_NAMES_EVENT)
		put_name(CODECTL_NAME_RETIRE, &name);
}

int codectl_names_event(int on)
{
	int ret = 0;

	codectl_lock();
	if (!on && event.on)
		detach();
	else if (on && !is_attached())
		ret = attach();
	codectl_event_check();
	codectl_unlock();

	return ret;
}

/* The kernel must not write to the word once it is unmapped. */
__attribute__((__destructor__)) static void end(void)
{
	if (!codectl_trylock())
		return;
	if (event.on)
		detach();
	codectl_unlock();
}
