// SPDX-License-Identifier: GPL-2.0
/*
 * Who names the code: files that are deleted, renamed, replaced and written to,
 * on several file systems; memory without a file; and false claims.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "query_names.h"
#include "stub.h"

FIXTURE(file)
{
	int proc;
	int fd;		/* of AT("lib"), which has build-id 1 */
	uint8_t *text;	/* of that, as registered */
	struct proc_line was;
};

FIXTURE_VARIANT(file)
{
	const char *make[3];
	bool reuses_inodes;
};

FIXTURE_VARIANT_ADD(file, tmpfs)
{
	.make = { "mount -t tmpfs none dir" },
};

FIXTURE_VARIANT_ADD(file, ext2)
{
	.make = {
		"truncate -s 1M image",
		"mke2fs -F image > /dev/null",
		"mount -t ext2 -o loop image dir",
	},
	.reuses_inodes = true,
};

#define MOUNT_OVERLAY							\
	"mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none dir"

FIXTURE_VARIANT_ADD(file, overlayfs)
{
	.make = { "mkdir lower upper work", MOUNT_OVERLAY },
};

static int run(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), "cd " DIR " && %s", command);
	return system(line);
}

FIXTURE_SETUP(file)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, make_dir());
	for (int i = 0; i < 3 && variant->make[i]; i++)
		ASSERT_EQ(0, run(variant->make[i]));
	self->proc = proc_open(0);
	ASSERT_LE(0, self->proc);
	self->fd = elf_create(AT("lib"), 1);
	ASSERT_LE(0, self->fd);
	self->text = elf_map_path(AT("lib"));
	ASSERT_NE(NULL, self->text);
	ASSERT_EQ(0, code_query_all(self->proc, addr_of(self->text), &self->was));
}

/* Even when the test died in between. */
FIXTURE_TEARDOWN_PARENT(file)
{
	remove_dir();
}

/* Device, inode and path, as the line of /proc/self/maps has them. */
static bool as_in_maps(const struct proc_line *l)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[2 * PATH_MAX], path[2 * PATH_MAX];
	unsigned long start, offset, inode;
	unsigned int major, minor;
	bool same = false;

	while (!same && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%*x %*s %lx %x:%x %lu %[^\n]", &start,
			   &offset, &major, &minor, &inode, path) == 6)
			same = start == l->q.text_start &&
			       offset == l->q.file_offset &&
			       major == l->q.dev_major &&
			       minor == l->q.dev_minor &&
			       inode == l->q.inode && !strcmp(path, l->path);
	}
	fclose(maps);
	return same;
}

TEST_F(file, is_what_the_kernel_sees)
{
	struct proc_line l;
	struct stat st;

	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, AT("lib"), 1);
	EXPECT_EQ(PAGE, l.q.file_offset);
	EXPECT_LT(0, l.q.file_id);
	EXPECT_EQ(self->was.q.file_id, l.q.file_id);
	EXPECT_NE(l.q.id, l.q.file_id);
	EXPECT_TRUE(as_in_maps(&l));
	ASSERT_EQ(0, stat(AT("lib"), &st));
	EXPECT_EQ(st.st_ino, l.q.inode);
	EXPECT_EQ(st.st_dev, makedev(l.q.dev_major, l.q.dev_minor));
}

TEST_F(file, mapped_again)
{
	uint8_t *again = elf_map_path(AT("lib"));
	struct proc_line l;

	ASSERT_NE(NULL, again);
	ASSERT_TRUE(ask(self->proc, again, &l));
	EXPECT_EQ(self->was.q.file_id, l.q.file_id);
	EXPECT_NE(self->was.q.id, l.q.id);
	ASSERT_EQ(0, munmap(again, PAGE));
	EXPECT_EQ(-ENOENT, code_query_all(self->proc, addr_of(again), &l));
}

/* An id is explained by one path: each of them has its own. */
TEST_F(file, hard_link)
{
	struct proc_line l, link_line;
	uint8_t *linked;

	ASSERT_EQ(0, link(AT("lib"), AT("link")));
	linked = elf_map_path(AT("link"));
	ASSERT_NE(NULL, linked);
	ASSERT_TRUE(ask(self->proc, linked, &link_line));
	EXPECT_NAMES(link_line, CODE_NAMES_VERIFIED, AT("link"), 1);
	EXPECT_EQ(self->was.q.inode, link_line.q.inode);
	ASSERT_TRUE(ask(self->proc, self->text, &self->was));
	EXPECT_NAMES(self->was, CODE_NAMES_VERIFIED, AT("lib"), 1);
	EXPECT_NE(self->was.q.file_id, link_line.q.file_id);
	for (int i = 0; i < 3; i++) {
		ASSERT_TRUE(ask(self->proc, linked, &l));
		EXPECT_EQ(link_line.q.file_id, l.q.file_id);
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_EQ(self->was.q.file_id, l.q.file_id);
	}
}

TEST_F(file, deleted)
{
	struct proc_line l;

	ASSERT_EQ(0, unlink(AT("lib")));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, AT("lib (deleted)"), 1);
	EXPECT_TRUE(as_in_maps(&l));
}

TEST_F(file, renamed)
{
	struct proc_line l;

	ASSERT_EQ(0, rename(AT("lib"), AT("other")));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, AT("other"), 1);
	EXPECT_LT(self->was.q.file_id, l.q.file_id);
	EXPECT_EQ(self->was.q.inode, l.q.inode);
	EXPECT_EQ(self->was.q.id, l.q.id);
}

TEST_F(file, replaced_under_the_same_path)
{
	struct proc_line old, new;
	uint8_t *text;

	close(elf_create(AT("new"), 2));
	ASSERT_EQ(0, rename(AT("new"), AT("lib")));
	text = elf_map_path(AT("lib"));
	ASSERT_NE(NULL, text);
	ASSERT_TRUE(ask(self->proc, text, &new));
	EXPECT_NAMES(new, CODE_NAMES_VERIFIED, AT("lib"), 2);
	ASSERT_TRUE(ask(self->proc, self->text, &old));
	EXPECT_NAMES(old, CODE_NAMES_VERIFIED, AT("lib (deleted)"), 1);
	EXPECT_NE(self->was.q.file_id, new.q.file_id);
	EXPECT_NE(old.q.file_id, new.q.file_id);
}

/* Unlinked and made anew, until the number of the inode is the same. */
TEST_F(file, inode_number_used_again)
{
	struct proc_line l;
	bool same = false;

	for (int i = 0; i < 20 && !same; i++) {
		uint64_t id = self->was.q.file_id;

		munmap(self->text, PAGE);
		close(self->fd);
		ASSERT_EQ(0, unlink(AT("lib")));
		self->fd = elf_create(AT("lib"), 2 + i);
		ASSERT_LE(0, self->fd);
		self->text = elf_map_path(AT("lib"));
		ASSERT_NE(NULL, self->text);
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_NAMES(l, CODE_NAMES_VERIFIED, AT("lib"), 2 + i);
		EXPECT_LT(id, l.q.file_id);
		same = self->was.q.inode == l.q.inode;
		self->was = l;
	}
	EXPECT_EQ(variant->reuses_inodes, same);
}

TEST_F(file, overwritten_in_place)
{
	uint64_t id = self->was.q.file_id;
	struct proc_line l;

	for (int version = 2; version < 5; version++) {
		ASSERT_EQ(0, elf_write(self->fd, version));
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_NAMES(l, CODE_NAMES_VERIFIED, AT("lib"), version);
		EXPECT_LT(id, l.q.file_id);
		EXPECT_EQ(self->was.q.inode, l.q.inode);
		id = l.q.file_id;
	}
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_EQ(id, l.q.file_id);
}

/* Its times do not show this until their clock ticks. */
TEST_F(file, written_to_at_once)
{
	uint64_t id = self->was.q.file_id;
	struct proc_line l;

	for (unsigned int i = 0; i < 100; i++) {
		ASSERT_EQ(1, pwrite(self->fd, "", 1, PAGE / 2));
		ASSERT_EQ(0, code_query_all(self->proc, addr_of(self->text), &l));
		EXPECT_LT(id, l.q.file_id);
		id = l.q.file_id;
	}
}

/* Only its times show this, and they may be in whole seconds. */
TEST_F(file, written_to_through_a_mapping)
{
	struct proc_line l;
	uint8_t *p;

	usleep(1100000);
	p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
	ASSERT_NE(MAP_FAILED, (void *)p);
	((volatile uint8_t *)p)[PAGE / 2] = 1;
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_LT(self->was.q.file_id, l.q.file_id);
	munmap(p, PAGE);
}

TEST_F(file, truncated)
{
	struct proc_line l;

	ASSERT_EQ(0, ftruncate(self->fd, 0));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_EQ(CODE_NAMES_VERIFIED, l.q.names);
	EXPECT_EQ(0, l.q.build_id_size);
	EXPECT_LT(self->was.q.file_id, l.q.file_id);
}

/* It is named after what is mapped there now. */
TEST_F(file, something_mapped_over_it)
{
	int other = elf_create(AT("other"), 2);
	struct proc_line l;

	ASSERT_EQ(self->text, mmap(self->text, PAGE, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED, other, 0));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_EQ(self->was.q.id, l.q.id);
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, AT("other"), 2);
	EXPECT_EQ(0, l.q.file_offset);
	ASSERT_EQ(self->text, mmap(self->text, PAGE, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS,
				   -1, 0));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_EQ(self->was.q.id, l.q.id);
	EXPECT_EQ(CODE_NAMES_NONE, l.q.names);
	EXPECT_EQ(0, l.q.file_id);
	EXPECT_EQ(0, l.q.inode);
	EXPECT_EQ(0, l.q.path_size);
	EXPECT_EQ(0, l.q.build_id_size);
}

static uint8_t *map_without_registering(int fd)
{
	uint8_t *text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			     PAGE);

	return text == MAP_FAILED ? NULL : text;
}

/* Nothing is reported about a text that is only partly from a file. */
TEST_F(file, goes_on_where_there_is_none)
{
	uint8_t *text = map_pages(2, PROT_READ | PROT_EXEC);
	struct proc_line l;

	ASSERT_NE(NULL, text);
	ASSERT_EQ(text, mmap(text, PAGE, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_FIXED, self->fd, PAGE));
	ASSERT_EQ(0, register_elf_text(addr_of(text), addr_of(text) + 2 * PAGE));
	ASSERT_TRUE(ask(self->proc, text, &l));
	EXPECT_NE(CODE_NAMES_VERIFIED, l.q.names);
}

static int register_claims(uint64_t start, const char *path,
			   const char *debug_link, const uint8_t id[20])
{
	const struct code_elf_info info = {
		.elf_start = start,
		.elf_end = start + PAGE,
		.text_start = start,
		.text_end = start + PAGE,
		.pathname = addr_of(path),
		.build_id = addr_of(id),
		.build_id_len = id ? 20 : 0,
		.debug_link_pathname = addr_of(debug_link),
		.debug_link_crc = debug_link ? 0x12345678 : 0,
	};

	return register_elf(&info);
}

static const char *const false_paths[] = {
	"", "-", " ", "/usr/lib/libc.so.6", "/no/such/file", AT("lib"),
	"x\ny", "\n7f0000000000-7f0000001000 elf format=0 elf=0-1 sframe=0-0",
	"/a\r\t\v\f\b\a\033[2Jb", "\\", "\\012", "\177", " names=verified path=/a",
	"/\001\002\003\004\005\006\007\010\011\012\013\014\015\016\017\020\021"
	"\022\023\024\025\026\027\030\031\032\033\034\035\036\037\177\\",
	"/\xc3\xa4\xff\x80", "%s%n%s",
};

/* If there is a file, claims about it are ignored. */
TEST_F(file, false_claims_of_a_file)
{
	uint8_t *text = map_without_registering(self->fd), id[20];
	uint64_t start = addr_of(text);
	struct proc_line l;

	ASSERT_NE(NULL, text);
	elf_build_id(99, id);
	for (size_t i = 0; i < ARRAY_SIZE(false_paths); i++) {
		ASSERT_EQ(0, register_claims(start, false_paths[i],
					     false_paths[i], id));
		ASSERT_TRUE(ask(self->proc, text, &l));
		EXPECT_NAMES(l, CODE_NAMES_VERIFIED, AT("lib"), 1);
		EXPECT_FALSE(l.has_debug_link);
		EXPECT_EQ(0, l.q.debug_link_crc);
		ASSERT_EQ(0, unregister_text(start, start + PAGE));
	}
}

/* A claim that was kept is dropped once a file can be seen. */
TEST_F(file, mapped_over_a_claim)
{
	uint8_t *text = map_pages(1, PROT_READ | PROT_EXEC), id[20];
	struct proc_line l;

	elf_build_id(99, id);
	ASSERT_EQ(0, register_claims(addr_of(text), "/a/claim", "a.debug", id));
	ASSERT_TRUE(ask(self->proc, text, &l));
	EXPECT_NAMES(l, CODE_NAMES_CLAIMED, "/a/claim", 99);
	ASSERT_EQ(text, mmap(text, PAGE, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_FIXED, self->fd, PAGE));
	ASSERT_TRUE(ask(self->proc, text, &l));
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, AT("lib"), 1);
	EXPECT_FALSE(l.has_debug_link);
	EXPECT_EQ(0, l.q.debug_link_crc);
}

TEST_F(file, odd_name)
{
	static const char name[] = AT("a\nb \\012\177\033[2J\\");
	struct proc_line l;

	ASSERT_EQ(0, rename(AT("lib"), name));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, name, 1);
}

/* The file has all of a path that no buffer of the query takes. */
TEST_F(file, path_beyond_path_max)
{
	char name[201], path[2 * PATH_MAX];
	struct proc_line l;
	uint8_t *text;

	memset(name, 'd', 200);
	name[200] = '\0';
	ASSERT_EQ(0, chdir(DIR "/dir"));
	for (int i = 0; i < 25; i++) {
		ASSERT_EQ(0, mkdir(name, 0755));
		ASSERT_EQ(0, chdir(name));
	}
	close(elf_create("lib", 3));
	text = elf_map_path("lib");
	ASSERT_NE(NULL, text);
	ASSERT_EQ(-ENAMETOOLONG, code_query_all(self->proc, addr_of(text), &l));
	ASSERT_TRUE(proc_line_of(addr_of(text), &l));
	snprintf(path, sizeof(path), DIR "/dir");
	for (int i = 0; i < 25; i++)
		snprintf(path + strlen(path), 202, "/%s", name);
	strcat(path, "/lib");
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, path, 3);
}

/* As in maps, a path is what the reader would open. */
TEST_F(file, path_for_the_root_of_the_reader)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		static struct proc_line l;
		char *all;

		if (chroot(DIR "/dir") ||
		    code_query_all(self->proc, addr_of(self->text), &l) ||
		    strcmp(l.path, "/lib"))
			_exit(1);
		all = proc_read(self->proc, NULL);
		_exit(!all || !proc_find(all, addr_of(self->text), &l) ||
		      strcmp(l.path, "/lib"));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* Earlier mappings still map the lower file. */
TEST(copied_up)
{
	static struct proc_line old, new;
	uint8_t *lower, *upper;
	int proc, fd;

	REQUIRE_CODECTL();
	ASSERT_EQ(0, make_dir());
	ASSERT_EQ(0, mkdir(DIR "/lower", 0755));
	close(elf_create(DIR "/lower/lib", 1));
	ASSERT_EQ(0, run("mkdir upper work"));
	ASSERT_EQ(0, run(MOUNT_OVERLAY));
	proc = proc_open(0);
	lower = elf_map_path(AT("lib"));
	ASSERT_NE(NULL, lower);
	fd = elf_create(AT("lib"), 2);
	upper = elf_map(fd);
	ASSERT_NE(NULL, upper);
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, code_query_all(proc, addr_of(lower), &old));
		EXPECT_NAMES(old, CODE_NAMES_VERIFIED, AT("lib"), 1);
		ASSERT_EQ(0, code_query_all(proc, addr_of(upper), &new));
		EXPECT_NAMES(new, CODE_NAMES_VERIFIED, AT("lib"), 2);
		EXPECT_NE(old.q.file_id, new.q.file_id);
	}
	remove_dir();
}

FIXTURE(memory)
{
	uint8_t *text;
	uint64_t start;
	int proc;
};

FIXTURE_SETUP(memory)
{
	REQUIRE_CODECTL();
	self->proc = proc_open(0);
	ASSERT_LE(0, self->proc);
	self->text = map_pages(1, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->text);
	self->start = addr_of(self->text);
}

FIXTURE_TEARDOWN(memory)
{
}

TEST_F(memory, memfd)
{
	int fd = memfd_create("code\nof ours", MFD_CLOEXEC);
	struct proc_line l;
	uint64_t id;

	ASSERT_EQ(0, elf_write(fd, 5));
	self->text = elf_map(fd);
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, "/memfd:code\nof ours (deleted)", 5);
	EXPECT_LT(0, l.q.file_id);
	EXPECT_LT(0, l.q.inode);
	EXPECT_EQ(PAGE, l.q.file_offset);
	id = l.q.file_id;
	ASSERT_EQ(0, elf_write(fd, 6));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_NAMES(l, CODE_NAMES_VERIFIED, "/memfd:code\nof ours (deleted)", 6);
	EXPECT_LT(id, l.q.file_id);
}

TEST_F(memory, shared)
{
	struct proc_line l;

	self->text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	self->start = addr_of(self->text);
	ASSERT_EQ(0, register_claims(self->start, "/a/claim", NULL, NULL));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_EQ(CODE_NAMES_VERIFIED, l.q.names);
	EXPECT_EQ(0, l.q.build_id_size);
	EXPECT_TRUE(as_in_maps(&l));
}

/* Reported as what it is: a claim. */
TEST_F(memory, false_claims)
{
	struct proc_line l;
	uint8_t id[20];

	elf_build_id(98, id);
	for (size_t i = 0; i < ARRAY_SIZE(false_paths); i++) {
		ASSERT_EQ(0, register_claims(self->start, false_paths[i],
					     false_paths[i], id));
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_NAMES(l, CODE_NAMES_CLAIMED, false_paths[i], 98);
		EXPECT_TRUE(l.has_debug_link);
		EXPECT_STREQ(false_paths[i], l.debug_link);
		EXPECT_EQ(0x12345678, l.q.debug_link_crc);
		EXPECT_EQ(0, l.q.file_id);
		ASSERT_EQ(0, unregister_text(self->start, self->start + PAGE));
	}
}

TEST_F(memory, claims_of_4096_bytes)
{
	const char fill[] = { 'a', ' ', '\n', '\\', '\377' };
	char path[PATH_MAX];
	struct proc_line l;
	uint8_t id[20];

	elf_build_id(98, id);
	for (size_t i = 0; i < ARRAY_SIZE(fill); i++) {
		memset(path, fill[i], PATH_MAX);
		path[PATH_MAX - 1] = '\0';
		ASSERT_EQ(0, register_claims(self->start, path, path, id));
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_NAMES(l, CODE_NAMES_CLAIMED, path, 98);
		EXPECT_STREQ(path, l.debug_link);
		ASSERT_EQ(0, unregister_text(self->start, self->start + PAGE));
	}
}

TEST_F(memory, parts_of_a_claim)
{
	uint8_t id[20] = { 1 };
	struct proc_line l;

	for (int i = 0; i < 8; i++) {
		ASSERT_EQ(0, register_claims(self->start, i & 1 ? "/p" : NULL,
					     i & 2 ? "d" : NULL,
					     i & 4 ? id : NULL));
		ASSERT_TRUE(ask(self->proc, self->text, &l));
		EXPECT_EQ(i ? CODE_NAMES_CLAIMED : CODE_NAMES_NONE, l.q.names);
		EXPECT_STREQ(i & 1 ? "/p" : "", l.path);
		EXPECT_STREQ(i & 2 ? "d" : "", l.debug_link);
		EXPECT_EQ(i & 4 ? 20 : 0, l.q.build_id_size);
		ASSERT_EQ(0, unregister_text(self->start, self->start + PAGE));
	}
}

/* A table in a file makes no name for the text. */
TEST_F(memory, name_of_the_table)
{
	int fd = memfd_create("table", MFD_CLOEXEC);
	struct proc_line l;
	struct stub stub;
	void *table;

	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_table(&stub);
	ASSERT_EQ(stub.table_size, write(fd, stub.table, stub.table_size));
	table = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, table);
	ASSERT_EQ(0, register_text(self->start, self->start + PAGE, table,
				   stub.table_size));
	ASSERT_TRUE(ask(self->proc, self->text, &l));
	EXPECT_EQ(addr_of(table), l.q.sframe_start);
	EXPECT_EQ(CODE_NAMES_NONE, l.q.names);
	EXPECT_EQ(0, l.q.file_id);
}

TEST_HARNESS_MAIN
