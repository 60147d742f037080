// SPDX-License-Identifier: GPL-2.0
/* CODE_ATTACH_FILE: what it takes and refuses, whom it serves, and for how long. */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "attach_fixture.h"
#include "proc_file.h"

#define ATTACHED_KB "kernel/codectl_attached_kb"

TEST_F(attach, covers_what_is_mapped)
{
	int fd;

	EXPECT_TRUE(walks_through(self));
	ASSERT_EQ(0, unregister_object(self));
	EXPECT_FALSE(walks_through(self));
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(walks_through(self)) {
		print_stack(&self->stack, &truth);
	}
	close(fd);
	EXPECT_FALSE(walks_through(self));
}

/* The second page of the text is then a mapping of its own, with another offset. */
TEST_F(attach, covers_what_is_split)
{
	const struct link_map *map = self->object;
	char *text = (char *)map->l_addr + self->args.segments[0].vaddr;
	int fd;

	ASSERT_LE(PAGE, (char *)self->call - text);
	ASSERT_EQ(0, unregister_object(self));
	ASSERT_EQ(0, mprotect(text, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(walks_through(self)) {
		print_stack(&self->stack, &truth);
	}
	close(fd);
}

/* The text may end right after the call. */
TEST_F(attach, text_that_ends_with_a_call)
{
	const struct link_map *map = self->object;
	struct code_file_segment *s = &self->args.segments[0];
	uint64_t text = map->l_addr + s->vaddr;
	unsigned int i = 0;
	int fd;

	ASSERT_TRUE(walks_through(self));
	while (i < self->stack.nr && self->stack.ip[i] - text >= s->len)
		i++;
	ASSERT_LT(i, self->stack.nr);
	ASSERT_EQ(0, unregister_object(self));
	s->len = self->stack.ip[i] - text;
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(walks_through(self)) {
		print_stack(&self->stack, &truth);
	}
	close(fd);
}

/* Nor does the process see anything of it. */
TEST_F(attach, comes_before_what_is_registered)
{
	const struct link_map *map = self->object;
	uint64_t text = map->l_addr + self->args.segments[0].vaddr;
	struct proc_line l;
	int fd;

	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(walks_through(self));
	EXPECT_TRUE(proc_line_of(text, &l));
	EXPECT_EQ(0, unregister_object(self));
	EXPECT_EQ(-ENOENT, unregister_object(self));
	EXPECT_FALSE(proc_line_of(text, &l));
	EXPECT_TRUE(walks_through(self));
	/* Without a table, which would end the walk. */
	EXPECT_EQ(0, register_elf_text(text, text + self->args.segments[0].len));
	EXPECT_TRUE(walks_through(self));
	close(fd);
}

/* The line of /proc/self/codectl for the text's table, to be freed; or NULL. */
static char *attached_line(FIXTURE_DATA(attach) * self)
{
	const struct link_map *map = self->object;
	uint64_t text = map->l_addr + self->args.segments[0].vaddr;
	char want[80], *all, *line = NULL;
	int fd = proc_open(0);

	snprintf(want, sizeof(want), "%08lx-%08llx attached ", text,
		 text + self->args.segments[0].len);
	all = proc_read(fd, NULL);
	close(fd);
	if (all)
		line = strstr(all, want);
	if (line)
		line = strndup(line, strchrnul(line, '\n') - line);
	free(all);
	return line;
}

/* Two mappings that are merged after the line of the first has been read. */
TEST_F(attach, merged_in_the_middle_of_a_pass)
{
	const struct link_map *map = self->object;
	uint64_t start = map->l_addr + self->args.segments[0].vaddr;
	char *text = (char *)start, first[40], *all, *rest;
	int fd = attach_file(&self->args.info), list = proc_open(0);

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, madvise(text, PAGE, MADV_DONTDUMP));
	snprintf(first, sizeof(first), "%08lx-%08lx attached ", start, start + PAGE);
	all = proc_read(list, NULL);
	ASSERT_EQ(0, proc_enter_line(list, all, first));
	ASSERT_EQ(0, madvise(text, PAGE, MADV_DODUMP));

	rest = proc_read(list, NULL);
	ASSERT_NE(NULL, rest);
	*strchr(first, '-') = '\0';
	EXPECT_EQ(NULL, strstr(rest, first));
	free(rest);
	/* It must be one now, or this shows nothing. */
	rest = attached_line(self);
	EXPECT_NE(NULL, rest);
	free(rest);
	free(all);
	close(list);
	close(fd);
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	return syscall(SYS_capset, &header, none);
}

/* After everything that is registered, which is all that others see. */
TEST_F(attach, shows_in_proc)
{
	int fd, status;
	char *line;
	pid_t pid;

	EXPECT_EQ(NULL, attached_line(self));
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	line = attached_line(self);
	ASSERT_NE(NULL, line);
	EXPECT_TRUE(ends_in(line, self->path));
	EXPECT_NE(NULL, strstr(line, " names=verified "));
	free(line);
	pid = fork();
	if (!pid)
		_exit(drop_capabilities() || attached_line(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	close(fd);
	EXPECT_EQ(NULL, attached_line(self));
}

TEST_F(attach, closes_on_exec)
{
	int fd = attach_file(&self->args.info);

	ASSERT_LE(0, fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	close(fd);
}

TEST_F(attach, once_for_a_file)
{
	int fd = attach_file(&self->args.info);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EEXIST, attach_file(&self->args.info));
	close(fd);
	fd = attach_file(&self->args.info);
	EXPECT_LE(0, fd);
	close(fd);
}

/* The last descriptor counts, wherever it is. */
TEST_F(attach, outlives_its_maker)
{
	int fds[2], fd, status;
	pid_t pid;
	char c;

	ASSERT_EQ(0, unregister_object(self));
	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	fd = attach_file(&self->args.info);
	ASSERT_LE(0, fd);
	pid = fork();
	if (!pid) {
		close(fds[1]);
		_exit(read(fds[0], &c, 1) != 0);
	}
	close(fd);
	EXPECT_TRUE(walks_through(self));
	close(fds[1]);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_FALSE(walks_through(self));
}

/* ------------------------------------------------------------------ refusals */

static int without_privilege(FIXTURE_DATA(attach) * self, bool in_namespace)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (in_namespace ? unshare(CLONE_NEWUSER) : setresuid(1, 1, 1))
			_exit(1);
		_exit(-attach_file(&self->args.info));
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST_F(attach, needs_privilege)
{
	EXPECT_EQ(EPERM, without_privilege(self, false));
	EXPECT_EQ(EPERM, without_privilege(self, true));
}

/* The list has the paths of everybody's files. */
TEST_F(attach, list_needs_privilege)
{
	int fd = open("/proc/codectl_files", O_RDONLY | O_CLOEXEC), status;
	pid_t pid;

	EXPECT_LE(0, fd);
	close(fd);
	pid = fork();
	if (!pid) {
		if (drop_capabilities())
			_exit(0);
		_exit(open("/proc/codectl_files", O_RDONLY | O_CLOEXEC) < 0 ? errno : 0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(EPERM, WEXITSTATUS(status));
}

#define EXPECT_REFUSED(error, change) do {				\
	struct attach_args a = self->args;				\
									\
	a.info.segments = addr_of(a.segments);				\
	change;								\
	EXPECT_EQ(error, attach_file(&a.info)) {			\
		TH_LOG("%s", #change);					\
	}								\
} while (0)

TEST_F(attach, bad_arguments)
{
	EXPECT_REFUSED(-EOPNOTSUPP, a.info.unwind_format = 1);
	EXPECT_REFUSED(-EINVAL, a.info.__reserved = 1);
	EXPECT_REFUSED(-EINVAL, a.info.nr_segments = 0);
	EXPECT_REFUSED(-EINVAL, a.info.nr_segments = CODE_FILE_MAX_SEGMENTS + 1);
	EXPECT_REFUSED(-EFAULT, a.info.segments = 8);
	EXPECT_REFUSED(-EINVAL, a.segments[0].len = 0);
	EXPECT_REFUSED(-EINVAL, a.segments[0].offset = -8ULL);
	EXPECT_REFUSED(-EINVAL, a.segments[0].len = USER_END);
	EXPECT_REFUSED(-EINVAL, a.segments[0].vaddr = USER_END);
	EXPECT_REFUSED(-EINVAL, a.info.table_len = 0);
	EXPECT_REFUSED(-EINVAL, a.info.table_len = 8);
	EXPECT_REFUSED(-EINVAL, a.info.table_len = USER_END);
	EXPECT_REFUSED(-EINVAL, a.info.table = KERNEL_ADDR);
	EXPECT_REFUSED(-EFAULT, a.info.table = PAGE);
	EXPECT_REFUSED(-EINVAL, a.info.table_addr = USER_END);
}

TEST_F(attach, bad_files)
{
	int fds[] = {
		-1, open(self->path, O_WRONLY | O_CLOEXEC),
		open(self->path, O_PATH | O_CLOEXEC),
		open("/tmp", O_RDONLY | O_CLOEXEC),
		open("/dev/zero", O_RDONLY | O_CLOEXEC),
	};
	const int errors[] = { -EBADF, -EBADF, -EBADF, -EINVAL, -EINVAL };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		EXPECT_REFUSED(errors[i], a.info.fd = fds[i]);
		close(fds[i]);
	}
}

/* A write to a mapped page that was written to before is reported to nobody. */
TEST_F(attach, file_that_is_mapped_for_writing)
{
	int fd = open(self->path, O_RDWR | O_CLOEXEC), attached;
	volatile char *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
				fd, 0);

	ASSERT_NE(MAP_FAILED, (void *)p);
	p[15] = 0;
	EXPECT_EQ(-ETXTBSY, attach_file(&self->args.info));
	munmap((void *)p, PAGE);
	attached = attach_file(&self->args.info);
	EXPECT_LE(0, attached);
	close(attached);
	close(fd);
}

TEST_F(attach, sizes)
{
	char args[PAGE + 8] = { 0 };

	memcpy(args, &self->args.info, sizeof(self->args.info));
	EXPECT_EQ(-EINVAL, sys_codectl(CODE_ATTACH_FILE, args,
				       CODE_FILE_INFO_SIZE_VER0 - 1, 0));
	EXPECT_EQ(-E2BIG, sys_codectl(CODE_ATTACH_FILE, args, PAGE + 1, 0));
	args[CODE_FILE_INFO_SIZE_VER0] = 1;
	EXPECT_EQ(-E2BIG, sys_codectl(CODE_ATTACH_FILE, args,
				      CODE_FILE_INFO_SIZE_VER0 + 8, 0));
	EXPECT_EQ(-EINVAL, sys_codectl(CODE_ATTACH_FILE, args,
				       CODE_FILE_INFO_SIZE_VER0, 1));
	EXPECT_EQ(-EFAULT, sys_codectl(CODE_ATTACH_FILE, (void *)8,
				       CODE_FILE_INFO_SIZE_VER0, 0));
}

/* Nor does a batch: what it returns is not a descriptor. */
TEST_F(attach, not_in_a_batch)
{
	struct code_batch_entry entry = {
		.option = CODE_ATTACH_FILE,
		.info = addr_of(&self->args.info),
		.info_size = sizeof(self->args.info),
	};
	struct code_batch batch = { .entries = addr_of(&entry), .nr = 1 };

	EXPECT_EQ(-EINVAL, sys_codectl(CODE_BATCH, &batch, sizeof(batch), 0));
}

/* A copy of the section, which a test may change. */
static uint8_t *copy_table(FIXTURE_DATA(attach) * self, struct attach_args *args)
{
	uint8_t *copy = malloc(args->info.table_len);

	if (copy)
		memcpy(copy, (void *)args->info.table, args->info.table_len);
	return copy;
}

/* Changes each byte of the section; whatever is accepted can be used for walks. */
TEST_F(attach, damaged_tables)
{
	uint8_t *copy = copy_table(self, &self->args);
	unsigned int taken = 0, refused = 0;
	int fd;

	ASSERT_NE(NULL, copy);
	self->args.info.table = addr_of(copy);
	for (uint64_t i = 0; i < self->args.info.table_len; i++) {
		copy[i] ^= 0x81;
		fd = attach_file(&self->args.info);
		if (fd < 0) {
			EXPECT_TRUE(fd == -EINVAL || fd == -EOPNOTSUPP ||
				    fd == -ENODATA || fd == -E2BIG)
				TH_LOG("byte %lu: %d", i, fd);
			refused++;
		} else {
			walks_through(self);
			close(fd);
			taken++;
		}
		copy[i] ^= 0x81;
	}
	TH_LOG("%u taken, %u refused", taken, refused);
	EXPECT_LT(0, taken);
	EXPECT_LT(0, refused);
	free(copy);
}

TEST_F(attach, no_room)
{
	long kb = sysctl_read(ATTACHED_KB);
	int fd;

	ASSERT_LT(0, kb);
	ASSERT_EQ(0, sysctl_write(ATTACHED_KB, 0));
	EXPECT_EQ(-ENOSPC, attach_file(&self->args.info));
	ASSERT_EQ(0, sysctl_write(ATTACHED_KB, kb));
	fd = attach_file(&self->args.info);
	EXPECT_LE(0, fd);
	close(fd);
}

struct late_table {
	int uffd;
	uint64_t from;
	uint64_t to;
};

/* Takes all room while the table is read, and only then supplies its second page. */
static void *take_room(void *late_table)
{
	struct late_table *late = late_table;
	struct uffdio_copy copy = { .dst = late->to, .src = late->from, .len = PAGE };
	struct uffd_msg msg;

	if (read(late->uffd, &msg, sizeof(msg)) != sizeof(msg) ||
	    sysctl_write(ATTACHED_KB, 0) || ioctl(late->uffd, UFFDIO_COPY, &copy))
		return NULL;
	return late;
}

/* Others may take the room after the check that follows the header. */
TEST_F(attach, no_room_any_more)
{
	struct late_table late;
	uint8_t *pages = map_pages(4, PROT_READ | PROT_WRITE);
	long kb = sysctl_read(ATTACHED_KB);
	pthread_t thread;
	void *taken;

	ASSERT_NE(NULL, pages);
	ASSERT_LT(0, kb);
	ASSERT_GE(PAGE, self->args.info.table_len);
	late.from = addr_of(pages) + PAGE;
	late.to = late.from + 2 * PAGE;
	memcpy((void *)(late.from - 64), (void *)self->args.info.table,
	       self->args.info.table_len);
	memcpy(pages + 2 * PAGE, pages, PAGE);
	self->args.info.table = late.to - 64;
	late.uffd = watch_page(pages + 3 * PAGE);
	ASSERT_LE(0, late.uffd);
	ASSERT_EQ(0, pthread_create(&thread, NULL, take_room, &late));
	EXPECT_EQ(-ENOSPC, attach_file(&self->args.info));
	ASSERT_EQ(0, pthread_join(thread, &taken));
	EXPECT_EQ(&late, taken);
	ASSERT_EQ(0, sysctl_write(ATTACHED_KB, kb));
	close(late.uffd);
	munmap(pages, 4 * PAGE);
}

TEST_HARNESS_MAIN
