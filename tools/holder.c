// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debuginfod.h"
#include "holder.h"
#include "perf_file.h"
#include "perf_map.h"
#include "reader.h"
#include "sandbox.h"
#include "tool.h"

/*
 * What a reader may take, unless that is more than half of the memory: debugging
 * information of a gigabyte, decompressed.
 */
#define READER_MEMORY	(8UL << 30)
#define READER_SECONDS	20
/* Longest wait for a file server that does not answer, in real time. */
#define READER_PATIENCE_MS	30000

struct held {
	enum holder_verb verb;	/* HOLDER_FILE or HOLDER_MAP */
	struct reader_job job;
	struct plain image[NR_IMAGES];	/* fd -1: there is none */
	bool complete;		/* no other image is needed */
	bool failed;		/* its reader was killed: it had more to say */
	struct perf_file map;	/* with HOLDER_MAP */
};

/* The state of the one holder that this process is. */
static struct held *held;
static size_t nr_held;

/* -------------------------------------------------------------------- opening */

/* The path with its \ooo escapes turned back into bytes. */
static void unescape(const char *text, char *path)
{
	while (*text) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
		    text[2] >= '0' && text[2] <= '7' &&
		    text[3] >= '0' && text[3] <= '7') {
			*path++ = (text[1] - '0') << 6 | (text[2] - '0') << 3 |
				  (text[3] - '0');
			text += 4;
		} else {
			*path++ = *text++;
		}
	}
	*path = '\0';
}

/* The section headers come last. */
static size_t vdso_size(const Elf64_Ehdr *header)
{
	return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

/* The vDSO of this kernel. */
static bool open_vdso(struct plain *file)
{
	const Elf64_Ehdr *vdso = (void *)getauxval(AT_SYSINFO_EHDR);

	file->fd = vdso ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	file->size = file->fd >= 0 ? vdso_size(vdso) : 0;
	if (file->fd < 0)
		return false;
	if (write(file->fd, vdso, file->size) == (ssize_t)file->size)
		return true;
	close(file->fd);
	file->fd = -1;
	return false;
}

static bool open_path(struct plain *file, pid_t pid, const struct file_record *record)
{
	char path[sizeof(record->path)];
	int root = plain_root(pid);
	bool good;

	if (root < 0)
		root = plain_root(0);
	unescape(record->path, path);
	good = plain_open(file, root, path);
	close(root);
	/* A file without a build-id is identified by the inode alone. */
	if (!good || record->build_id_len || file->inode == record->inode)
		return good;
	close(file->fd);
	file->fd = -1;
	return false;
}

static void open_file(struct held *to, const struct holder_request *request)
{
	const struct file_record *record = &request->record;
	struct plain *file = &to->image[IMAGE_FILE];

	to->job = (struct reader_job){
		.kind = READER_ELF, .unit = record->unit,
		.build_id_len = record->build_id_len,
	};
	memcpy(to->job.build_id, record->build_id, sizeof(to->job.build_id));
	if (!strcmp(record->path, "[vdso]"))
		open_vdso(file);
	else if (!plain_open_mapped(file, request->pid, record->dev_major,
				    record->dev_minor, record->inode))
		open_path(file, request->pid, record);
}

static void open_map(struct held *to, const struct holder_request *request)
{
	to->job = (struct reader_job){ .kind = READER_MAP };
	to->complete = true;
	perf_file_note(&to->map, request->pid);
	perf_file_open(&to->map, &to->image[IMAGE_FILE]);
}

/* NULL without memory. */
static struct held *get_held(uint32_t number)
{
	struct held *more;

	if (number < nr_held)
		return &held[number];
	more = reallocarray(held, number + 1, sizeof(*held));
	if (!more)
		return NULL;
	held = more;
	for (; nr_held <= number; nr_held++) {
		held[nr_held] = (struct held){ .complete = true };
		for (size_t i = 0; i < NR_IMAGES; i++)
			held[nr_held].image[i].fd = -1;
	}
	return &held[number];
}

static void hold(const struct holder_request *request)
{
	struct held *to = get_held(request->file);

	if (!to)
		return;
	to->verb = request->verb;
	to->complete = false;
	if (request->verb == HOLDER_FILE)
		open_file(to, request);
	else
		open_map(to, request);
}

/* -------------------------------------------------------------------- reading */

static size_t reader_memory(void)
{
	size_t half = (size_t)sysconf(_SC_PHYS_PAGES) / 2 * getpagesize();

	return half < READER_MEMORY ? half : READER_MEMORY;
}

/* Runs it to completion.  False if it had nothing to say, and was asked for @wanted. */
static bool read_file(struct held *of, sandbox_work work, const int *given,
		      struct elf_wanted *wanted)
{
	int keep[READER_DESCRIPTORS] = { given[READER_OFFSETS], given[READER_ANSWERS] };
	struct sandbox sandbox;
	bool own, good = true;

	for (size_t i = 0; i < NR_IMAGES; i++) {
		const struct plain *image = &of->image[i];

		keep[READER_IMAGES + i] = image->fd >= 0 ? image->fd : given[READER_OFFSETS];
		of->job.sizes[i] = image->fd >= 0 ? image->size : 0;
	}
	if (sandbox_start_with(&sandbox, work, &of->job, keep, READER_DESCRIPTORS,
			       reader_memory(), READER_SECONDS))
		return false;
	sandbox.patience_ms = READER_PATIENCE_MS;
	if (wanted)
		good = sandbox_read(&sandbox, wanted, sizeof(*wanted));
	of->failed |= !!sandbox_end(&sandbox, &own);
	return good;
}

static bool say(const int *given, char what)
{
	return write(given[READER_ANSWERS], &what, 1) == 1;
}

/* What the reader wants is what a file may say: any build-id, and any name. */
static bool find_image(struct held *of, struct elf_wanted *wanted, const int *given)
{
	struct plain *image;

	if (wanted->image >= NR_IMAGES || wanted->build_id_len > NAMES_MAX_BUILD_ID)
		return false;
	wanted->name[sizeof(wanted->name) - 1] = '\0';
	image = &of->image[wanted->image];
	if (image->fd >= 0)
		return false;
	return plain_open_debug(image, wanted->build_id, wanted->build_id_len) ||
	       (wanted->image == IMAGE_SHARED && plain_open_shared(image, wanted->name)) ||
	       debuginfod_find(image, wanted->build_id, wanted->build_id_len,
			       given[READER_ANSWERS]);
}

/* What could not be read once is not read again. */
static void complete(struct held *of, const int *given)
{
	struct plain *file = &of->image[IMAGE_FILE];
	struct elf_wanted wanted;

	while (!of->complete && say(given, HOLDER_ALIVE)) {
		if (!read_file(of, reader_want, given, &wanted)) {
			close(file->fd);
			file->fd = -1;
			of->complete = true;
		} else {
			of->complete = !find_image(of, &wanted, given);
		}
	}
}

/*
 * As it is now, if the process has not removed it.  If others have its number now, the
 * path is theirs, and the file may be.
 */
static void renew_map(struct held *of, uint64_t ended)
{
	struct plain *map = &of->image[IMAGE_FILE], now;
	struct stat stat;

	if (!ended)
		ended = perf_file_ended(&of->map);
	if (!ended && perf_file_open(&of->map, &now)) {
		if (map->fd >= 0)
			close(map->fd);
		*map = now;
	} else if (map->fd >= 0 && !fstat(map->fd, &stat)) {
		map->size = stat.st_size;
	}
	if (map->fd >= 0 && !perf_file_is_own(&of->map, map->fd, ended)) {
		close(map->fd);
		map->fd = -1;
	}
	if (map->size > PERF_MAP_MAX_BYTES)
		map->size = PERF_MAP_MAX_BYTES;
}

/* If a reader was killed, answers begin, but are incomplete. */
static void answer(const struct holder_request *request, const int *given)
{
	struct held *of = request->file < nr_held ? &held[request->file] : NULL;
	const struct plain *file;

	if (!say(given, HOLDER_ALIVE) || !of)
		return;
	if (of->verb == HOLDER_MAP)
		renew_map(of, request->ended);
	file = &of->image[IMAGE_FILE];
	if (file->fd >= 0 && file->size)
		complete(of, given);
	of->job.nr = request->nr;
	if (((file->fd >= 0 && file->size) || of->failed) && say(given, HOLDER_ANSWERS) &&
	    file->fd >= 0)
		read_file(of, reader_answer, given, NULL);
}

/* ------------------------------------------------------------------- messages */

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(2 * sizeof(int))];
};

/*
 * The caller closes the descriptors that came with it; -1 if there are none.  A message
 * ends with its path.
 */
static bool receive(int channel, struct holder_request *request, int given[2])
{
	struct iovec data = { request, sizeof(*request) };
	union control control;
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header;
	ssize_t got;

	given[0] = -1;
	given[1] = -1;
	do {
		got = recvmsg(channel, &message, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	header = CMSG_FIRSTHDR(&message);
	if (got > 0 && header && header->cmsg_len == CMSG_LEN(2 * sizeof(int)))
		memcpy(given, CMSG_DATA(header), 2 * sizeof(int));
	return got > 0;
}

/* No terminal's signals, no inherited files, as many open files as possible. */
static void settle(int channel)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	int null = open("/dev/null", O_RDWR);
	struct rlimit limit;

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
		signal(ignored[i], SIG_IGN);
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	dup2(channel, 3);
	close_range(4, ~0U, 0);
	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	/* Files of others must not be opened with the rights of root's groups. */
	if (!geteuid())
		setgroups(0, NULL);
}

void holder_run(int channel)
{
	struct holder_request request;
	int given[2];

	settle(channel);
	while (receive(3, &request, given)) {
		if (request.verb != HOLDER_FIND)
			hold(&request);
		else if (given[0] >= 0)
			answer(&request, given);
		for (size_t i = 0; i < ARRAY_SIZE(given); i++)
			if (given[i] >= 0)
				close(given[i]);
	}
	_exit(0);
}
