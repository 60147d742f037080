// SPDX-License-Identifier: GPL-2.0
/* /proc/PID/codectl: its lines, and how it is read. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "proc_fixture.h"

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

TEST_HARNESS_MAIN
