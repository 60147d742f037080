// SPDX-License-Identifier: GPL-2.0
/* /proc/PID/codectl: its lines, how it is read, and of whom. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"

#define DEBUG_LINK "a b\\c\x7f.debug"

/* One registration of each kind, in six pages; the path has 4,095 bytes. */
FIXTURE(proc)
{
	uint8_t *mem;
	uint64_t elf;
	uint64_t jit;
	struct stub stub;
	char path[PATH_MAX];
	uint8_t build_id[20];
	char *all;
	size_t len;
	int fd;
};

static int register_elf_claims(FIXTURE_DATA(proc) * self)
{
	return register_elf(&(struct code_elf_info) {
		.elf_start = self->elf - PAGE,
		.elf_end = self->elf + 2 * PAGE,
		.text_start = self->elf,
		.text_end = self->elf + 5,
		.pathname = addr_of(self->path),
		.build_id = addr_of(self->build_id),
		.build_id_len = 20,
		.debug_link_pathname = addr_of(DEBUG_LINK),
		.debug_link_crc = 0x89abcdef,
	});
}

static int register_jit_all(FIXTURE_DATA(proc) * self)
{
	return register_jit(&(struct code_jit_info) {
		.text_start = self->jit,
		.text_end = self->jit + PAGE,
		.unwind_head = self->jit + 16,
		.jit_flags = CODE_JIT_DEFAULT_RULE | CODE_JIT_DESCENDING,
		.seq = self->jit + 4,
		.cfa_off = 16,
		.ra_off = -8,
		.fp_off = INT32_MIN,
		.info = CODE_FRE_FP_SAVED,
	});
}

FIXTURE_SETUP(proc)
{
	REQUIRE_CODECTL();
	self->mem = map_pages(6, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->elf = addr_of(self->mem) + PAGE;
	self->jit = self->elf + 2 * PAGE;
	memset(self->path, '\n', PATH_MAX - 1);
	self->path[0] = '/';
	elf_build_id(3, self->build_id);
	ASSERT_EQ(0, register_elf_claims(self));
	ASSERT_EQ(0, register_jit_all(self));
	ASSERT_EQ(0, stub_map(&self->stub, 1));
	stub_table(&self->stub);
	ASSERT_EQ(0, stub_register(&self->stub));
	self->fd = proc_open(0);
	ASSERT_LE(0, self->fd);
	self->all = proc_read(self->fd, &self->len);
	ASSERT_NE(NULL, self->all);
}

FIXTURE_TEARDOWN(proc)
{
	free(self->all);
	close(self->fd);
	stub_unmap(&self->stub);
	munmap(self->mem, 6 * PAGE);
}

/* Whether @want is one of the lines, byte by byte. */
static bool has_line(const char *all, const char *want)
{
	const char *at = strstr(all, want);
	size_t len = strlen(want);

	return at && (at == all || at[-1] == '\n') && at[len] == '\n';
}

TEST_F(proc, line_of_an_object)
{
	char want[5 * PATH_MAX], id[41];
	struct proc_line l;
	int len;

	ASSERT_TRUE(proc_find(self->all, self->elf, &l));
	for (int i = 0; i < 20; i++)
		sprintf(id + 2 * i, "%02x", self->build_id[i]);
	len = sprintf(want, "%08lx-%08lx elf format=0 elf=%lx-%lx sframe=0-0 ",
		      self->elf, self->elf + 5, self->elf - PAGE,
		      self->elf + 2 * PAGE);
	len += sprintf(want + len, "id=0x%llx file=0x0 dev=00:00 inode=0 ",
		       l.q.id);
	len += sprintf(want + len, "offset=0x0 names=claimed build_id=%s ", id);
	len += sprintf(want + len, "debug_link=a\\040b\\134c\\177.debug ");
	len += sprintf(want + len, "debug_link_crc=0x89abcdef path=/");
	for (int i = 1; i < PATH_MAX - 1; i++)
		len += sprintf(want + len, "\\012");
	EXPECT_TRUE(has_line(self->all, want));
}

TEST_F(proc, line_of_compiled_code)
{
	struct proc_line l;
	char want[512];
	int len;

	ASSERT_TRUE(proc_find(self->all, self->jit, &l));
	len = sprintf(want, "%08lx-%08lx jit fre_size=24 flags=0x3 head=%lx ",
		      self->jit, self->jit + PAGE, self->jit + 16);
	len += sprintf(want + len, "seq=%lx rule=16,-8,-2147483648,0x2 ",
		       self->jit + 4);
	len += sprintf(want + len, "id=0x%llx file=0x0 dev=00:00 inode=0 ",
		       l.q.id);
	sprintf(want + len, "offset=0x0 names=none build_id=- path=");
	EXPECT_TRUE(has_line(self->all, want));
}

TEST_F(proc, line_of_a_file)
{
	char exe[PATH_MAX] = "", want[PATH_MAX + 100];
	uint64_t start, end;
	struct proc_line l;
	struct stat st;

	ASSERT_LT(0, readlink("/proc/self/exe", exe, sizeof(exe) - 1));
	ASSERT_EQ(0, stat(exe, &st));
	ASSERT_EQ(0, text_segment_of(has_line, &start, &end));
	ASSERT_TRUE(proc_find(self->all, start, &l));
	EXPECT_EQ(end, l.q.text_end);
	EXPECT_EQ(CODE_NAMES_VERIFIED, l.q.names);
	EXPECT_EQ(st.st_ino, l.q.inode);
	EXPECT_LT(0, l.q.build_id_size);
	EXPECT_STREQ(exe, l.path);
	snprintf(want, sizeof(want), " debug_link=- debug_link_crc=0x0 path=%s\n",
		 exe);
	EXPECT_NE(NULL, strstr(self->all, want));
}

/* An unescaped dash means none. */
TEST_F(proc, line_of_a_debug_link_that_is_a_dash)
{
	struct code_elf_info info = {
		.elf_start = self->elf - PAGE,
		.elf_end = self->elf + 2 * PAGE,
		.text_start = self->elf + 5,
		.text_end = self->elf + 6,
		.debug_link_pathname = addr_of("-"),
	};
	struct proc_line l;

	ASSERT_EQ(0, register_elf(&info));
	ASSERT_TRUE(proc_line_of(info.text_start, &l));
	EXPECT_TRUE(l.has_debug_link);
	EXPECT_STREQ("-", l.debug_link);
	info.text_start++;
	info.text_end++;
	info.debug_link_pathname = 0;
	ASSERT_EQ(0, register_elf(&info));
	ASSERT_TRUE(proc_line_of(info.text_start, &l));
	EXPECT_FALSE(l.has_debug_link);
}

/* Nothing is read from a device, as that may do anything. */
TEST_F(proc, line_of_a_device)
{
	int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	struct proc_line l;
	void *text;

	ASSERT_LE(0, fd);
	text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	ASSERT_NE(MAP_FAILED, text);
	ASSERT_EQ(0, register_elf_text(addr_of(text), addr_of(text) + PAGE));
	ASSERT_TRUE(proc_line_of(addr_of(text), &l));
	EXPECT_EQ(CODE_NAMES_VERIFIED, l.q.names);
	EXPECT_EQ(0, l.q.build_id_size);
	EXPECT_NE(0, l.q.inode);
	EXPECT_STREQ("/dev/zero", l.path);
}

TEST_F(proc, lines_are_all_there_is)
{
	struct proc_line l;

	EXPECT_LE(6, proc_check(self->all));
	ASSERT_TRUE(proc_find(self->all, addr_of(self->stub.text), &l));
	EXPECT_EQ(addr_of(self->stub.table), l.q.sframe_start);
	EXPECT_EQ(addr_of(self->stub.table) + self->stub.table_size,
		  l.q.sframe_end);
}

/* The address that a section was made for, and that it can be registered so again. */
TEST_F(proc, line_of_a_section_made_for_another_place)
{
	uint64_t text = addr_of(self->stub.text), table = addr_of(self->stub.table);
	struct proc_line l, again;

	ASSERT_TRUE(proc_find(self->all, text, &l));
	EXPECT_EQ(0, l.sframe_addr);
	ASSERT_EQ(0, unregister_text(l.q.text_start, l.q.text_end));
	l.sframe_addr = table + 0x123;
	ASSERT_EQ(0, proc_register(&l));
	ASSERT_TRUE(proc_line_of(text, &again));
	EXPECT_EQ(table, again.q.sframe_start);
	EXPECT_EQ(table + 0x123, again.sframe_addr);
	ASSERT_EQ(0, unregister_text(l.q.text_start, l.q.text_end));
	/* That of where it is stands for 0. */
	l.sframe_addr = table;
	ASSERT_EQ(0, proc_register(&l));
	ASSERT_TRUE(proc_line_of(text, &again));
	EXPECT_EQ(0, again.sframe_addr);
}

TEST_F(proc, line_of_a_granule_map)
{
	const uint64_t text = addr_of(self->stub.text);
	struct proc_line l = {
		.q.kind = CODE_REGISTER_JIT,
		.q.text_start = text,
		.q.text_end = text + PAGE,
		.q.jit_flags = CODE_JIT_GRANULES | CODE_JIT_CALLSITE,
		.q.slots = PAGE,
		.q.pool = 3 * PAGE,
		.q.pool_len = 1UL << 40,
		.q.granule_shift = 11,
	}, again;

	ASSERT_EQ(0, stub_unregister(&self->stub));
	ASSERT_EQ(0, proc_register(&l));
	ASSERT_TRUE(proc_line_of(text, &again));
	EXPECT_EQ(CODE_REGISTER_JIT, again.q.kind);
	EXPECT_EQ(l.q.jit_flags, again.q.jit_flags);
	EXPECT_EQ(0, again.q.unwind_head);
	EXPECT_EQ(0, again.q.seq);
	EXPECT_EQ(l.q.slots, again.q.slots);
	EXPECT_EQ(l.q.pool, again.q.pool);
	EXPECT_EQ(l.q.pool_len, again.q.pool_len);
	EXPECT_EQ(l.q.granule_shift, again.q.granule_shift);
	ASSERT_EQ(0, unregister_text(text, text + PAGE));
	ASSERT_EQ(0, proc_register(&again));
}

/* Except for the ids, which are never reused. */
static bool same_but_for_the_id(struct proc_line *a, struct proc_line *b)
{
	a->q.id = 0;
	b->q.id = 0;
	return !memcmp(a, b, sizeof(*a));
}

static int register_all_again(const char *all)
{
	static struct proc_line before, after;
	const char *line = all;
	char *again;
	int fd;

	for (; *line; line = strchr(line, '\n') + 1) {
		uint64_t start = strtoull(line, NULL, 16);

		if (!proc_find(line, start, &before) ||
		    unregister_text(start, before.q.text_end))
			return 1;
	}
	fd = proc_open(0);
	again = proc_read(fd, NULL);
	if (!again || *again)
		return 2;
	for (line = all; *line; line = strchr(line, '\n') + 1) {
		proc_find(line, strtoull(line, NULL, 16), &before);
		if (proc_register(&before))
			return 3;
	}
	lseek(fd, 0, SEEK_SET);
	again = proc_read(fd, NULL);
	if (proc_check(again) != proc_check(all))
		return 4;
	for (line = all; *line; line = strchr(line, '\n') + 1) {
		uint64_t start = strtoull(line, NULL, 16);

		if (!proc_find(all, start, &before) ||
		    !proc_find(again, start, &after) ||
		    !same_but_for_the_id(&before, &after))
			return 5;
	}
	return 0;
}

TEST_F(proc, registered_again_from_its_lines)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(register_all_again(self->all));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, WEXITSTATUS(status));
	EXPECT_TRUE(WIFEXITED(status));
}

TEST_F(proc, read_in_pieces)
{
	const size_t sizes[] = { 1, 2, 7, 127, 4095, 4096, 4097, 65536 };
	char *some = malloc(self->len + 1);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t used = 0;
		ssize_t n;

		ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
		while (used <= self->len &&
		       (n = read(self->fd, some + used,
				 sizes[i] < self->len + 1 - used ? sizes[i] :
				 self->len + 1 - used)) > 0)
			used += n;
		EXPECT_EQ(0, n);
		ASSERT_EQ(self->len, used);
		EXPECT_EQ(0, memcmp(self->all, some, used))
			TH_LOG("in pieces of %zu", sizes[i]);
		EXPECT_EQ(0, read(self->fd, some, 1));
	}
	free(some);
}

TEST_F(proc, seek_and_read)
{
	char c[3];

	for (off_t at = 0; at < self->len; at += 1 + self->len / 997) {
		ASSERT_EQ(at, lseek(self->fd, at, SEEK_SET));
		ASSERT_LE(1, read(self->fd, c, 1));
		EXPECT_EQ(self->all[at], c[0]);
	}
	ASSERT_EQ(5, lseek(self->fd, 5, SEEK_SET));
	ASSERT_EQ(8, lseek(self->fd, 3, SEEK_CUR));
	ASSERT_EQ(1, read(self->fd, c, 1));
	EXPECT_EQ(self->all[8], c[0]);
	ASSERT_EQ(self->len + 10, lseek(self->fd, self->len + 10, SEEK_SET));
	EXPECT_EQ(0, read(self->fd, c, 1));
	EXPECT_EQ(-1, lseek(self->fd, 0, SEEK_END));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(-1, lseek(self->fd, -1, SEEK_SET));
	EXPECT_EQ(EINVAL, errno);
}

TEST_F(proc, pread_at_odd_offsets)
{
	unsigned int seed = 1;
	char some[300];

	for (int i = 0; i < 500; i++) {
		size_t at, want, got;

		seed = seed * 1103515245 + 12345;
		at = (seed >> 8) % self->len;
		want = 1 + (seed >> 4) % (sizeof(some) - 1);
		got = pread(self->fd, some, want, at);
		ASSERT_GE(want, got);
		ASSERT_LE(1, got);
		EXPECT_EQ(0, memcmp(self->all + at, some, got))
			TH_LOG("%zu bytes at %zu", want, at);
	}
	EXPECT_EQ(0, pread(self->fd, some, 10, self->len));
}

/* What comes and goes elsewhere leaves the rest of a pass alone. */
TEST_F(proc, changed_in_the_middle_of_a_pass)
{
	uint64_t at = self->elf + 5;
	char *rest;
	char c;

	ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
	for (size_t i = 0; i < self->len; i++) {
		ASSERT_EQ(1, read(self->fd, &c, 1));
		ASSERT_EQ(self->all[i], c);
		if (i % 64 == 0) {
			ASSERT_EQ(0, register_elf_text(at, at + 1));
			ASSERT_EQ(0, unregister_text(at, at + 1));
		}
	}
	/* Before the position it is no longer seen; after it, it is. */
	ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
	ASSERT_EQ(1, read(self->fd, &c, 1));
	ASSERT_EQ(0, register_elf_text(self->jit + PAGE, self->jit + PAGE + 1));
	lseek(self->fd, 0, SEEK_SET);
	rest = proc_read(self->fd, NULL);
	EXPECT_EQ(proc_check(self->all) + 1, proc_check(rest));
	free(rest);
}

/* What was not there throughout a pass is not shown over what was. */
TEST_F(proc, replaced_in_the_middle_of_a_pass)
{
	char start[20], *rest;
	struct proc_line l;

	snprintf(start, sizeof(start), "%08lx-", self->elf);
	ASSERT_EQ(0, proc_enter_line(self->fd, self->all, start));
	ASSERT_EQ(0, unregister_text(self->elf, self->elf + 5));
	ASSERT_EQ(0, register_elf_text(self->elf, self->elf + 6));

	rest = proc_read(self->fd, NULL);
	EXPECT_FALSE(proc_find(rest, self->elf, &l));
	EXPECT_TRUE(proc_find(rest, self->jit, &l));
	free(rest);
	EXPECT_TRUE(proc_line_of(self->elf, &l));
}

TEST_F(proc, thousands_of_registrations)
{
	const int nr = 5000;
	uint8_t *text = map_pages(2, PROT_READ | PROT_EXEC);
	char *all;

	for (int i = 0; i < nr; i++)
		ASSERT_EQ(0, register_elf_text(addr_of(text) + i,
					       addr_of(text) + i + 1));
	ASSERT_EQ(0, lseek(self->fd, 0, SEEK_SET));
	all = proc_read(self->fd, NULL);
	EXPECT_EQ(proc_check(self->all) + nr, proc_check(all));
	free(all);
	munmap(text, 2 * PAGE);
	lseek(self->fd, 0, SEEK_SET);
	all = proc_read(self->fd, NULL);
	EXPECT_STREQ(self->all, all);
	free(all);
}

TEST_F(proc, of_a_task)
{
	char path[64], *all;
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/codectl", getpid(),
		 gettid());
	fd = open(path, O_RDONLY);
	ASSERT_LE(0, fd);
	all = proc_read(fd, NULL);
	EXPECT_STREQ(self->all, all);
	ASSERT_EQ(0, fstat(fd, &st));
	EXPECT_EQ(S_IFREG | 0444, st.st_mode);
	ASSERT_EQ(0, fstat(self->fd, &st));
	EXPECT_EQ(S_IFREG | 0444, st.st_mode);
	free(all);
	close(fd);
}

TEST_F(proc, is_not_written)
{
	int fd = open("/proc/self/codectl", O_RDWR);

	if (fd >= 0)
		EXPECT_EQ(-1, write(fd, "0", 1));
	close(fd);
}

TEST_F(proc, of_a_kernel_thread)
{
	struct code_query q = { .size = sizeof(q) };
	int fd = proc_open(2);
	char c;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, read(fd, &c, 1));
	EXPECT_EQ(-ESRCH, code_query(fd, &q));
	close(fd);
}

/* A process with both files open from outside, held until a pipe is closed. */
struct held {
	pid_t pid;
	int hold;
	int codectl;
	int maps;
};

static int hold(struct held *h, void (*then)(void))
{
	char path[64], c;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	h->pid = fork();
	if (!h->pid) {
		close(fds[1]);
		while (read(fds[0], &c, 1) > 0)
			;
		then();
		_exit(0);
	}
	close(fds[0]);
	h->hold = fds[1];
	h->codectl = proc_open(h->pid);
	snprintf(path, sizeof(path), "/proc/%d/maps", h->pid);
	h->maps = open(path, O_RDONLY);
	return h->pid < 0 || h->codectl < 0 || h->maps < 0 ? -1 : 0;
}

static void drop(struct held *h)
{
	close(h->codectl);
	close(h->maps);
}

static void leave(void)
{
}

static int read_error(int fd)
{
	char buf[100];
	ssize_t n = pread(fd, buf, sizeof(buf), 0);

	return n < 0 ? -errno : n;
}

TEST_F(proc, of_a_process_that_has_exited)
{
	struct code_query q = { .size = sizeof(q), .query_addr = self->elf };
	struct held h;
	siginfo_t info;
	char c;

	ASSERT_EQ(0, hold(&h, leave));
	EXPECT_EQ(0, code_query(h.codectl, &q));
	EXPECT_EQ(1, read(h.codectl, &c, 1));
	close(h.hold);
	/* It is there, and has no memory any more; then it is not there. */
	ASSERT_EQ(0, waitid(P_PID, h.pid, &info, WEXITED | WNOWAIT));
	EXPECT_EQ(0, read_error(h.maps));
	EXPECT_EQ(0, read_error(h.codectl));
	EXPECT_EQ(-ESRCH, code_query(h.codectl, &q));
	ASSERT_EQ(h.pid, waitpid(h.pid, NULL, 0));
	EXPECT_EQ(-ESRCH, read_error(h.maps));
	EXPECT_EQ(-ESRCH, read_error(h.codectl));
	EXPECT_EQ(-ESRCH, code_query(h.codectl, &q));
	EXPECT_EQ(-ENOENT, proc_open(h.pid));
	drop(&h);
}

static void become_another(void)
{
	execl("/proc/self/exe", "proc_test", "--hold", NULL);
}

TEST_F(proc, of_a_process_that_execs)
{
	struct code_query q = { .size = sizeof(q), .query_addr = self->elf };
	int fds[2], fd, status;
	struct held h;
	char *all, c;

	/* Closed by the exec, and by the end of the process. */
	ASSERT_EQ(0, pipe2(fds, O_CLOEXEC));
	ASSERT_EQ(0, hold(&h, become_another));
	close(fds[1]);
	EXPECT_EQ(0, code_query(h.codectl, &q));
	EXPECT_EQ(1, read(h.codectl, &c, 1));
	close(h.hold);
	ASSERT_EQ(0, read(fds[0], &c, 1));
	EXPECT_EQ(0, read_error(h.maps));
	EXPECT_EQ(0, read_error(h.codectl));
	EXPECT_EQ(-ESRCH, code_query(h.codectl, &q));
	fd = proc_open(h.pid);
	ASSERT_LE(0, fd);
	all = proc_read(fd, NULL);
	EXPECT_LT(0, proc_check(all));
	EXPECT_EQ(NULL, strstr(all, "claimed"));
	EXPECT_EQ(-ENOENT, code_query(fd, &q));
	kill(h.pid, SIGKILL);
	ASSERT_EQ(h.pid, waitpid(h.pid, &status, 0));
	free(all);
	close(fd);
	drop(&h);
}

/* May it be opened by nobody? */
static int open_as_nobody(const char *name, pid_t pid)
{
	char path[64];
	int status;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	if (!fork()) {
		if (setgid(65534) || setuid(65534))
			_exit(99);
		_exit(open(path, O_RDONLY) < 0 ? errno : 0);
	}
	wait(&status);
	return WEXITSTATUS(status);
}

TEST_F(proc, is_for_who_may_trace)
{
	pid_t self_pid = getpid();

	EXPECT_EQ(EACCES, open_as_nobody("maps", self_pid));
	EXPECT_EQ(EACCES, open_as_nobody("codectl", self_pid));
	EXPECT_EQ(0, open_as_nobody("stat", self_pid));
}

/* Decided once, as for maps: a descriptor can be handed on. */
TEST_F(proc, permission_is_that_of_the_opener)
{
	struct code_query q = { .size = sizeof(q), .query_addr = self->elf };
	int status;

	if (!fork()) {
		char *all;

		if (setgid(65534) || setuid(65534))
			_exit(99);
		lseek(self->fd, 0, SEEK_SET);
		all = proc_read(self->fd, NULL);
		_exit(!all || strcmp(all, self->all) ||
		      code_query(self->fd, &q));
	}
	wait(&status);
	EXPECT_EQ(0, status);
}

FIXTURE(off)
{
};

FIXTURE_SETUP(off)
{
	REQUIRE_CODECTL();
}

FIXTURE_TEARDOWN_PARENT(off)
{
	sysctl_write("kernel/codectl", 1);
}

/* What was registered before stays visible. */
TEST_F(off, nothing_changes)
{
	int fd = proc_open(0);
	char *before, *after;

	before = proc_read(fd, NULL);
	ASSERT_EQ(0, sysctl_write("kernel/codectl", 0));
	lseek(fd, 0, SEEK_SET);
	after = proc_read(fd, NULL);
	ASSERT_EQ(0, sysctl_write("kernel/codectl", 1));
	EXPECT_LT(0, proc_check(before));
	EXPECT_STREQ(before, after);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--hold"))
		return pause();
	return test_harness_run(argc, argv);
}
