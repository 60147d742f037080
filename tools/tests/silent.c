// SPDX-License-Identifier: MIT
/*
 * usage: silent UID DIRECTORY [execve]
 *
 * Becomes that user.  In a user namespace, as any user can, mounts a FUSE file system and an
 * overlay on it in the empty DIRECTORY, maps a file of the overlay for execution, and prints
 * "mapped".  From then on, requests for the file are never answered.
 *
 * With "execve" it then calls getppid() some times, prints its id and that of the file's server,
 * and hangs in that call, with the lock that the kernel takes for questions about a process:
 * another process with the same memory hangs as it maps the file.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILE_INO	2
#define FILE_SIZE	4096

#define CALLS		1000

/* How long nothing must be mapped to be sure, in ms. */
#define STILL_MS	1000

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	close(fd);
}

static void become(unsigned int uid)
{
	char map[32];

	snprintf(map, sizeof(map), "0 %u 1", uid);
	need(!setgid(uid) && !setuid(uid), "setuid");
	/* Make the files in /proc/self belong to this user. */
	need(!prctl(PR_SET_DUMPABLE, 1), "prctl");
	need(!unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare");
	put("/proc/self/setgroups", "deny");
	put("/proc/self/uid_map", map);
	put("/proc/self/gid_map", map);
}

static void answer(int fuse, const struct fuse_in_header *in, const void *data, size_t len)
{
	struct fuse_out_header out = { .len = sizeof(out) + len, .unique = in->unique };
	struct iovec iov[] = { { &out, sizeof(out) }, { (void *)data, len } };

	writev(fuse, iov, 2);
}

static struct fuse_attr attr_of(uint64_t ino)
{
	return (struct fuse_attr){
		.ino = ino, .nlink = 1, .blksize = 4096,
		.mode = ino == FILE_INO ? S_IFREG | 0555 : S_IFDIR | 0755,
		.size = ino == FILE_INO ? FILE_SIZE : 0,
	};
}

static void answer_one(int fuse, const struct fuse_in_header *in)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = FUSE_KERNEL_MINOR_VERSION,
				      .max_write = 4096 };
	struct fuse_entry_out entry = { .nodeid = FILE_INO, .entry_valid = 3600,
					.attr_valid = 3600, .attr = attr_of(FILE_INO) };
	struct fuse_attr_out attr = { .attr_valid = 3600, .attr = attr_of(in->nodeid) };
	static const char file[FILE_SIZE];
	struct fuse_open_out opened = { 0 };

	switch (in->opcode) {
	case FUSE_INIT:
		return answer(fuse, in, &init, sizeof(init));
	case FUSE_LOOKUP:
		return answer(fuse, in, &entry, sizeof(entry));
	case FUSE_GETATTR:
		return answer(fuse, in, &attr, sizeof(attr));
	case FUSE_OPEN:
		/* Whoever maps the file by that descriptor first waits for its pages. */
		if (((const struct fuse_open_in *)(in + 1))->flags & O_NONBLOCK)
			opened.open_flags = FOPEN_DIRECT_IO;
		return answer(fuse, in, &opened, sizeof(opened));
	case FUSE_OPENDIR:
		return answer(fuse, in, &opened, sizeof(opened));
	case FUSE_READ:
		return answer(fuse, in, file, FILE_SIZE);
	case FUSE_STATFS:
		return answer(fuse, in, &(struct fuse_statfs_out){ 0 },
			      sizeof(struct fuse_statfs_out));
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		return answer(fuse, in, NULL, 0);
	}
}

/* Serves while @mapped is open elsewhere; then reads requests without answering. */
static void serve(int fuse, int mapped)
{
	static union {
		struct fuse_in_header in;
		char bytes[FUSE_MIN_READ_BUFFER + 4096];
	} request;
	struct pollfd polls[] = { { .fd = fuse, .events = POLLIN }, { .fd = mapped } };
	char said = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (poll(polls, 2, -1) > 0) {
		if (polls[1].revents && !said) {
			said = 1;
			polls[1].fd = -1;
			puts("mapped");
			fflush(stdout);
		}
		if (polls[0].revents && read(fuse, &request, sizeof(request)) <= 0)
			break;
		if (polls[0].revents && !said)
			answer_one(fuse, &request.in);
	}
	exit(0);
}

static volatile unsigned long nr_mapped;

/* Until the page that is being read is the one to wait for. */
static __attribute__((noreturn)) int map_for_ever(void *direct)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		void *map = mmap(NULL, FILE_SIZE, PROT_READ, MAP_PRIVATE, *(int *)direct, 0);

		need(map != MAP_FAILED && !munmap(map, FILE_SIZE), "mmap");
		nr_mapped++;
	}
}

/* From clone() on, it must not allocate memory. */
static void hang_in_execve(int mapped, pid_t server)
{
	static char stack[1 << 16];
	char text[32];
	int fd = open("fuse/file", O_RDONLY);
	int direct = open("fuse/file", O_RDONLY | O_NONBLOCK);
	unsigned long before;
	int len = snprintf(text, sizeof(text), "%d %d\n", getpid(), server);
	char byte;

	need(fd >= 0 && direct >= 0, "fuse/file");
	close(mapped);
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		exit(read(fd, &byte, 1) != 1);
	}
	/* Pages that the other processes share would be copied, which hangs, too. */
	need(!mlockall(MCL_CURRENT), "mlockall");
	need(clone(map_for_ever, stack + sizeof(stack), CLONE_VM, &direct) > 0, "clone");
	do {
		before = nr_mapped;
		usleep(STILL_MS * 1000);
	} while (nr_mapped != before);
	for (int i = 0; i < CALLS; i++)
		getppid();
	write(STDOUT_FILENO, text, len);
	execl("/proc/self/exe", "silent", NULL);
}

int main(int argc, char **argv)
{
	char options[128];
	int fuse, fd, mapped[2];
	pid_t server;

	need(argc >= 3 && !chdir(argv[2]), "usage: silent UID DIRECTORY [execve]");
	become(strtoul(argv[1], NULL, 10));
	need(!mount("tmpfs", ".", "tmpfs", 0, NULL) && !chdir(argv[2]), "tmpfs");
	need(!mkdir("fuse", 0755) && !mkdir("empty", 0755) && !mkdir("over", 0755), "mkdir");
	fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	need(fuse >= 0, "/dev/fuse");
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fuse);
	need(!mount("silent", "fuse", "fuse", MS_NOSUID | MS_NODEV, options), "fuse");
	need(!pipe(mapped), "pipe");
	server = fork();
	if (!server) {
		close(mapped[1]);
		serve(fuse, mapped[0]);
	}
	/* Only the server may hold this: else the flush at exit would wait until it is closed. */
	close(fuse);
	if (argc > 3)
		hang_in_execve(mapped[1], server);
	need(!mount("overlay", "over", "overlay", 0, "lowerdir=fuse:empty"), "overlay");
	fd = open("over/file", O_RDONLY);
	need(fd >= 0, "over/file");
	need(mmap(NULL, FILE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) != MAP_FAILED,
	     "mmap");
	close(mapped[1]);
	for (;;)
		pause();
}
