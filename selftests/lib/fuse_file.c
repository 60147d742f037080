// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuse_file.h"

#define FILE_INO 2

struct contents {
	const uint8_t *data;
	size_t size;
	size_t silent_from;
};

static int reply(int fd, uint64_t unique, int error, const void *data,
		 size_t len)
{
	struct fuse_out_header out = {
		.len = sizeof(out) + len,
		.error = error,
		.unique = unique,
	};
	struct iovec iov[] = {
		{ &out, sizeof(out) },
		{ (void *)data, len },
	};

	return writev(fd, iov, 2);
}

static void fill_attr(struct fuse_attr *attr, uint64_t ino,
		      const struct contents *c)
{
	memset(attr, 0, sizeof(*attr));
	attr->ino = ino;
	attr->nlink = 1;
	attr->mode = ino == FILE_INO ? S_IFREG | 0444 : S_IFDIR | 0755;
	attr->size = ino == FILE_INO ? c->size : 0;
	attr->blksize = 4096;
}

/*
 * A task that waits for a page can be killed if the page is read ahead of,
 * asynchronously; one page at a time, so that each request is for one page.
 */
static void reply_init(int fd, uint64_t unique)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.flags = FUSE_ASYNC_READ,
		.max_readahead = 4096,
		.max_write = 4096,
	};

	reply(fd, unique, 0, &out, sizeof(out));
}

static void reply_entry(int fd, uint64_t unique, const struct contents *c)
{
	struct fuse_entry_out out = { .nodeid = FILE_INO, .entry_valid = 3600,
				      .attr_valid = 3600 };

	fill_attr(&out.attr, FILE_INO, c);
	reply(fd, unique, 0, &out, sizeof(out));
}

static void reply_attr(int fd, const struct fuse_in_header *in,
		       const struct contents *c)
{
	struct fuse_attr_out out = { .attr_valid = 3600 };

	fill_attr(&out.attr, in->nodeid, c);
	reply(fd, in->unique, 0, &out, sizeof(out));
}

static void reply_read(int fd, uint64_t unique, const struct fuse_read_in *read,
		       const struct contents *c)
{
	size_t len = read->size;

	if (read->offset + len > c->silent_from)
		return;
	reply(fd, unique, 0, c->data + read->offset, len);
}

static void serve_one(int fd, void *request, const struct contents *c)
{
	const struct fuse_in_header *in = request;
	struct fuse_open_out open_out = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		reply_init(fd, in->unique);
		break;
	case FUSE_LOOKUP:
		reply_entry(fd, in->unique, c);
		break;
	case FUSE_GETATTR:
		reply_attr(fd, in, c);
		break;
	case FUSE_OPEN:
		reply(fd, in->unique, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		reply_read(fd, in->unique, (void *)(in + 1), c);
		break;
	case FUSE_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		reply(fd, in->unique, in->opcode == FUSE_RELEASE ||
				      in->opcode == FUSE_FLUSH ? 0 : -ENOSYS,
		      NULL, 0);
	}
}

static void serve(int fd, const struct contents *c)
{
	static char request[FUSE_MIN_READ_BUFFER + 4096];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, request, sizeof(request)) > 0)
		serve_one(fd, request, c);
	_exit(0);
}

int fuse_file_serve(struct fuse_file *f, const uint8_t *contents, size_t size,
		    size_t silent_from)
{
	struct contents c = { contents, size, silent_from };
	char options[128];
	int fd, err = 0;

	strcpy(f->mount, "/tmp/codectl-fuse-XXXXXX");
	if (!mkdtemp(f->mount))
		return -errno;
	snprintf(f->path, sizeof(f->path), "%s/table", f->mount);
	fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (mount("table", f->mount, "fuse", MS_NOSUID | MS_NODEV, options))
		err = -errno;
	f->server = err ? 0 : fork();
	if (!err && !f->server)
		serve(fd, &c);
	/* The server has the last descriptor: it ends, and so does the mount. */
	close(fd);
	return err;
}

void fuse_file_stop(struct fuse_file *f)
{
	if (f->server > 0) {
		kill(f->server, SIGKILL);
		waitpid(f->server, NULL, 0);
	}
	umount2(f->mount, MNT_DETACH);
	rmdir(f->mount);
}
