// SPDX-License-Identifier: GPL-2.0
/*
 * What is reported about text that is not, no longer, or not throughout, mapped from
 * the file of its object.
 */
#include <fcntl.h>

#include "kselftest_harness.h"
#include "query_names.h"

/* No file has anything that only the kernel can know. */
static bool is_of_no_file(const struct proc_line *l)
{
	return !l->q.file_id && !l->q.inode && !l->q.dev_major &&
	       !l->q.dev_minor && !l->q.file_offset;
}

FIXTURE(object)
{
	uint8_t *start;		/* of AT("lib"), not registered */
	uint8_t *text;
	int proc;
	int fd;
};

FIXTURE_SETUP(object)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, make_dir());
	self->proc = proc_open(0);
	ASSERT_LE(0, self->proc);
	self->fd = object_create(AT("lib"), 1);
	ASSERT_LE(0, self->fd);
	self->start = object_map(self->fd);
	ASSERT_NE(NULL, self->start);
	self->text = self->start + OBJECT_TEXT;
}

FIXTURE_TEARDOWN_PARENT(object)
{
	remove_dir();
}

static int register_object(FIXTURE_DATA(object) * self, const char *claim)
{
	return register_elf(&(struct code_elf_info) {
		.elf_start = addr_of(self->start),
		.elf_end = addr_of(self->start) + OBJECT_PAGES * PAGE,
		.text_start = addr_of(self->text),
		.text_end = addr_of(self->text) + 3 * PAGE,
		.pathname = addr_of(claim),
	});
}

/* Foreign text in the middle of an object that is mapped from a file. */
TEST_F(object, text_without_a_file)
{
	struct proc_line l;

	ASSERT_EQ(self->text, mmap(self->text, 3 * PAGE, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
				   0));
	ASSERT_EQ(0, register_object(self, NULL));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_NAMES(l, CODE_NAMES_CLAIMED, AT("lib"), 1);
	EXPECT_TRUE(is_of_no_file(&l));
	ASSERT_EQ(0, unregister_text(addr_of(self->text),
				     addr_of(self->text) + 3 * PAGE));
	ASSERT_EQ(0, register_object(self, "/a/claim"));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_EQ(CODE_NAMES_CLAIMED, l.q.names);
	EXPECT_STREQ("/a/claim", l.path);
	EXPECT_TRUE(is_of_no_file(&l));
}

/* One page without a file, anywhere, is enough for a claim to stay. */
TEST_F(object, text_partly_without_a_file)
{
	uint64_t start = addr_of(self->text);
	struct proc_line l;

	for (int page = 0; page < 3; page++) {
		ASSERT_EQ(self->text, mmap(self->text, 3 * PAGE,
					   PROT_READ | PROT_EXEC,
					   MAP_PRIVATE | MAP_FIXED,
					   self->fd, OBJECT_OFFSET));
		ASSERT_EQ(0, object_move_text(self->start, page, 1));
		ASSERT_EQ(0, register_object(self, "/a/claim"));
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_EQ(CODE_NAMES_CLAIMED, l.q.names);
		EXPECT_STREQ("/a/claim", l.path);
		EXPECT_TRUE(is_of_no_file(&l));
		ASSERT_EQ(0, unregister_text(start, start + 3 * PAGE));
		ASSERT_EQ(0, register_object(self, NULL));
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_NAMES(l, CODE_NAMES_CLAIMED, AT("lib"), 1);
		EXPECT_TRUE(is_of_no_file(&l));
		ASSERT_EQ(0, unregister_text(start, start + 3 * PAGE));
	}
}

static const struct {
	const char *what;
	const char *file;
	off_t offset;
	bool verified;
} last_pages[] = {
	{ "in its place", AT("lib"), OBJECT_OFFSET + 2 * PAGE, true },
	{ "twice", AT("lib"), OBJECT_OFFSET + PAGE, false },
	{ "of another file", AT("other"), OBJECT_OFFSET + 2 * PAGE, false },
};

/* Even if all pages are from one file, they need not be its text. */
TEST_F(object, text_in_pieces)
{
	uint64_t start = addr_of(self->text);
	struct proc_line l;

	close(object_create(AT("other"), 2));
	for (size_t i = 0; i < ARRAY_SIZE(last_pages); i++) {
		uint8_t *last = self->text + 2 * PAGE;
		int fd = open(last_pages[i].file, O_RDONLY | O_CLOEXEC);

		ASSERT_EQ(last, mmap(last, PAGE, PROT_EXEC,
				     MAP_PRIVATE | MAP_FIXED, fd,
				     last_pages[i].offset));
		close(fd);
		ASSERT_EQ(0, register_object(self, NULL));
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_NAMES(l, last_pages[i].verified ? CODE_NAMES_VERIFIED :
							 CODE_NAMES_CLAIMED,
			     AT("lib"), 1);
		EXPECT_EQ(last_pages[i].verified ? OBJECT_OFFSET : 0,
			  l.q.file_offset);
		EXPECT_EQ(last_pages[i].verified, l.q.file_id != 0)
			TH_LOG("%s", last_pages[i].what);
		ASSERT_EQ(0, unregister_text(start, start + 3 * PAGE));
	}
}

/* The middle, and then all. */
static const struct {
	size_t first;
	size_t nr;
} moved[] = { { 1, 1 }, { 0, 3 } };

/* Offset, inode and names stay, but the code is no longer verified. */
TEST_F(object, text_moved_to_huge_pages)
{
	struct proc_line was, l;

	ASSERT_EQ(0, register_object(self, "/a/claim"));
	ASSERT_TRUE(ask(self->proc, self->text, &was));
	EXPECT_NAMES(was, CODE_NAMES_VERIFIED, AT("lib"), 1);
	EXPECT_EQ(OBJECT_OFFSET, was.q.file_offset);
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		ASSERT_EQ(0, object_move_text(self->start, moved[i].first,
					      moved[i].nr));
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_NAMES(l, CODE_NAMES_CLAIMED, AT("lib"), 1);
		EXPECT_EQ(was.q.id, l.q.id);
		EXPECT_EQ(OBJECT_OFFSET, l.q.file_offset);
		EXPECT_EQ(was.q.inode, l.q.inode);
		EXPECT_EQ(was.q.dev_major, l.q.dev_major);
		EXPECT_EQ(was.q.dev_minor, l.q.dev_minor);
		EXPECT_EQ(0, l.q.file_id);
	}
}

/* Then there is no file left that it could be from. */
TEST_F(object, moved_with_its_headers)
{
	int other = object_create(AT("other"), 2);
	struct proc_line l;

	ASSERT_EQ(0, register_object(self, NULL));
	ASSERT_EQ(0, object_move_text(self->start, 0, 3));
	ASSERT_EQ(self->start, mmap(self->start, PAGE, PROT_READ,
				    MAP_PRIVATE | MAP_FIXED, other, 0));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_EQ(CODE_NAMES_NONE, l.q.names);
	EXPECT_STREQ("", l.path);
	EXPECT_EQ(0, l.q.build_id_size);
	EXPECT_TRUE(is_of_no_file(&l));
}

TEST_HARNESS_MAIN
