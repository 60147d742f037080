// SPDX-License-Identifier: GPL-2.0
/* Ids of files in the trace: what they stand for, and when they end. */
#include <sys/vfs.h>

#include "trace_file_fixture.h"

TEST_F(trace, unchanged)
{
	struct trace_file a, b;
	struct stat st;

	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, file_create(NAME, 1));
	ASK();
	RUN(NAME, &a);
	RUN(NAME, &b);
	EXPECT_EQ(a.id, b.id);
	EXPECT_TRUE(is_version(&a, 1));
	EXPECT_STREQ(NAME, a.n.path);
	EXPECT_EQ(1, nr_maps(&self->log, a.id));
	ASSERT_EQ(0, stat(NAME, &st));
	EXPECT_EQ(st.st_ino, a.n.inode);
	unlink(NAME);
}

TEST_F(trace, written_to)
{
	struct trace_file a, b;
	int fd;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASK();
	RUN(NAME, &a);
	fd = open(NAME, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(0, elf_write(fd, 2));
	close(fd);
	RUN(NAME, &b);
	EXPECT_NE(a.id, b.id);
	EXPECT_EQ(a.n.inode, b.n.inode);
	EXPECT_TRUE(is_version(&a, 1));
	EXPECT_TRUE(is_version(&b, 2));
	unlink(NAME);
}

TEST_F(trace, truncated)
{
	struct trace_file a, b;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASK();
	RUN(NAME, &a);
	ASSERT_EQ(0, truncate(NAME, 3 * PAGE));
	RUN(NAME, &b);
	EXPECT_NE(a.id, b.id);
	unlink(NAME);
}

TEST_F(trace, renamed)
{
	struct trace_file a, b;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASK();
	RUN(NAME, &a);
	ASSERT_EQ(0, rename(NAME, OTHER));
	RUN(OTHER, &b);
	EXPECT_NE(a.id, b.id);
	EXPECT_EQ(a.n.inode, b.n.inode);
	EXPECT_STREQ(NAME, a.n.path);
	EXPECT_STREQ(OTHER, b.n.path);
	unlink(OTHER);
}

TEST_F(trace, replaced_by_rename)
{
	struct trace_file a, b;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASSERT_EQ(0, file_create(OTHER, 2));
	ASK();
	RUN(NAME, &a);
	ASSERT_EQ(0, rename(OTHER, NAME));
	RUN(NAME, &b);
	EXPECT_NE(a.id, b.id);
	EXPECT_STREQ(NAME, b.n.path);
	EXPECT_TRUE(is_version(&a, 1));
	EXPECT_TRUE(is_version(&b, 2));
	unlink(NAME);
}

/* Many times, so that an inode may reuse the memory of another one. */
TEST_F(trace, replaced_by_another)
{
	struct trace_file a, b;

	ASSERT_EQ(0, file_create(NAME, 0));
	ASK();
	RUN(NAME, &a);
	for (int i = 1; i < 30; i++) {
		ASSERT_EQ(0, file_create(NAME, i));
		RUN(NAME, &b);
		EXPECT_LT(a.id, b.id);
		EXPECT_TRUE(is_version(&b, i));
		a = b;
	}
	unlink(NAME);
}

/* A mapping that stays continues under another id. */
TEST_F(trace, written_to_while_it_runs)
{
	const struct trace_entry *e = NULL;
	struct trace_file f[2];
	struct stub stub;
	int fd;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASSERT_EQ(0, stub_map(&stub, 1));
	fd = open(NAME, O_RDWR | O_CLOEXEC);
	ASSERT_EQ(stub.text, mmap(stub.text, PAGE, PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_FIXED, fd, PAGE));
	ASK();
	stub_run(&stub, NULL);
	ASSERT_EQ(0, elf_write(fd, 2));
	stub_run(&stub, NULL);
	READ_LOG();
	for (int i = 0; i < 2; i++) {
		e = trace_find(&self->log, e, "sys_enter: ");
		ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, e),
					&self->stack));
		ASSERT_TRUE(trace_find_file(&self->log, self->stack.first,
					    self->stack.frame[0].id, &f[i]));
		EXPECT_TRUE(is_version(&f[i], 1 + i));
	}
	EXPECT_NE(f[0].id, f[1].id);
	close(fd);
	unlink(NAME);
}

/* Two processes, and two instances, know a file by the same id. */
TEST_F(trace, same_id_for_all)
{
	struct tracefs other;
	struct trace_file a, b;
	pid_t pid;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASK();
	RUN(NAME, &a);
	ASSERT_EQ(0, tracefs_open(&other, "codectl_test_other"));
	pid = fork();
	if (!pid) {
		self->t = other;
		ASSERT_EQ(0, ask_for_stacks(&self->t, false));
		RUN(NAME, &b);
		_exit(a.id == b.id ? 0 : 1);
	}
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_EQ(0, tracefs_close(&other));
	unlink(NAME);
}

/* No id holds a file system. */
TEST_F(trace, umount)
{
	const char dir[] = "/tmp/trace_file_mount";
	struct trace_file a, b;
	char path[64];

	snprintf(path, sizeof(path), "%s/file", dir);
	mkdir(dir, 0755);
	ASK();
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, mount("tmpfs", dir, "tmpfs", 0, NULL));
		ASSERT_EQ(0, file_create(path, i));
		RUN(path, i ? &b : &a);
		EXPECT_EQ(0, umount(dir));
	}
	EXPECT_NE(a.id, b.id);
	EXPECT_TRUE(is_version(&b, 1));
	rmdir(dir);
}

/* Nor does an id keep a file in memory that nobody else uses. */
TEST_F(trace, deleted)
{
	const char dir[] = "/tmp/trace_file_mount";
	struct statfs before, after;
	struct trace_file a;
	char path[64];

	snprintf(path, sizeof(path), "%s/file", dir);
	mkdir(dir, 0755);
	ASK();
	ASSERT_EQ(0, mount("tmpfs", dir, "tmpfs", 0, NULL));
	ASSERT_EQ(0, statfs(dir, &before));
	ASSERT_EQ(0, file_create(path, 1));
	RUN(path, &a);
	ASSERT_EQ(0, statfs(dir, &after));
	EXPECT_EQ(before.f_ffree - 1, after.f_ffree);
	ASSERT_EQ(0, unlink(path));
	ASSERT_EQ(0, statfs(dir, &after));
	EXPECT_EQ(before.f_ffree, after.f_ffree);
	EXPECT_EQ(before.f_bfree, after.f_bfree);
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

/* The inodes of overlayfs can go from memory while their files are there. */
static int mount_overlay(const char *dir)
{
	char lower[64], merged[64], options[256];

	if (mount("tmpfs", dir, "tmpfs", 0, NULL))
		return -1;
	snprintf(merged, sizeof(merged), "%s/merged", dir);
	mkdir(merged, 0755);
	for (char c = 'a'; c <= 'b'; c++) {
		snprintf(lower, sizeof(lower), "%s/%c", dir, c);
		mkdir(lower, 0755);
	}
	snprintf(lower, sizeof(lower), "%s/a/file", dir);
	snprintf(options, sizeof(options), "lowerdir=%s/a:%s/b", dir, dir);
	return file_create(lower, 1) ?:
	       mount("overlay", merged, "overlay", 0, options);
}

/* An id does not keep its inode in memory, nor outlive it. */
TEST_F(trace, evicted)
{
	const char dir[] = "/tmp/trace_file_mount";
	struct trace_file a, b;
	char path[64];

	snprintf(path, sizeof(path), "%s/merged/file", dir);
	mkdir(dir, 0755);
	ASSERT_EQ(0, mount_overlay(dir));
	ASK();
	RUN(path, &a);
	RUN(path, &b);
	EXPECT_EQ(a.id, b.id);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, sysctl_write("vm/drop_caches", 2));
	RUN(path, &b);
	EXPECT_LT(a.id, b.id);
	EXPECT_TRUE(is_version(&b, 1));
	*strrchr(path, '/') = '\0';
	EXPECT_EQ(0, umount(path));
	EXPECT_EQ(0, umount(dir));
	rmdir(dir);
}

/* Escaped as claims are. */
TEST_F(trace, odd_name)
{
	struct trace_file a;

	ASSERT_EQ(0, file_create("/tmp/trace\nfile\t\\ \303\274", 1));
	ASK();
	RUN("/tmp/trace\nfile\t\\ \303\274", &a);
	EXPECT_STREQ("/tmp/trace\\012file\\011\\134 \303\274", a.n.path);
	unlink("/tmp/trace\nfile\t\\ \303\274");
}

/* A directory with a path of 201 bytes for each level. */
static const char *long_dir(void)
{
	static char name[201];

	memset(name, 'd', sizeof(name) - 1);
	return name;
}

static int enter_long_dir(unsigned int levels)
{
	const char *name = long_dir();

	if (chdir("/tmp"))
		return -1;
	while (levels--) {
		if ((mkdir(name, 0755) && errno != EEXIST) || chdir(name))
			return -1;
	}
	return 0;
}

static int leave_long_dir(unsigned int levels)
{
	const char *name = long_dir();

	while (levels--) {
		if (chdir("..") || rmdir(name))
			return -1;
	}
	return 0;
}

/* A path of 3,000 bytes is cut. */
TEST_F(trace, long_name)
{
	struct trace_file a;
	char cwd[512];
	size_t len;

	ASSERT_NE(NULL, getcwd(cwd, sizeof(cwd)));
	ASSERT_EQ(0, enter_long_dir(15));
	ASSERT_EQ(0, file_create("file", 1));
	ASK();
	RUN("file", &a);
	len = strlen(a.n.path);
	EXPECT_LT(2000, len);
	EXPECT_GT(2048, len);
	EXPECT_STREQ("...", a.n.path + len - 3);
	EXPECT_EQ(0, strncmp(a.n.path, "/tmp/ddd", 8));
	unlink("file");
	EXPECT_EQ(0, leave_long_dir(15));
	ASSERT_EQ(0, chdir(cwd));
}

/* Each name has an id, but not forever: after so many, all ids are new. */
TEST_F(trace, many_names)
{
	struct trace_file first, a, last;
	char path[64];

	ASSERT_EQ(0, file_create(NAME, 1));
	for (int i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), OTHER "%d", i);
		unlink(path);
		ASSERT_EQ(0, link(NAME, path));
	}
	ASK();
	RUN(NAME, &first);
	last = first;
	for (int i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), OTHER "%d", i);
		RUN(path, &a);
		EXPECT_LT(last.id, a.id);
		EXPECT_STREQ(path, a.n.path);
		EXPECT_TRUE(is_version(&a, 1));
		last = a;
		RUN(NAME, &a);
		EXPECT_EQ(i < 15, a.id == first.id);
	}
	for (int i = 0; i < 16; i++) {
		snprintf(path, sizeof(path), OTHER "%d", i);
		unlink(path);
	}
	unlink(NAME);
}

/* At read time, while the file is in memory; else its id. */
TEST_F(trace, sym_userobj)
{
	char line[640], build_id[48];
	struct trace_file a;
	struct trace_map m;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASK();
	RUN(NAME, &a);
	ASSERT_EQ(0, tracefs_write(&self->t, "options/sym-userobj", "1"));
	READ_LOG();
	snprintf(line, sizeof(line), "> : path=%s build_id=%s", NAME,
		 a.n.build_id);
	EXPECT_NE(NULL, strstr(trace_find(&self->log, NULL,
					  "<user stack unwind>")->text, line));
	ASSERT_EQ(0, tracefs_clear(&self->t));
	leaf();
	READ_LOG();
	ASSERT_TRUE(trace_map_of(addr_of(file_run), &m));
	ASSERT_EQ(0, loaded_build_id(file_run, build_id));
	snprintf(line, sizeof(line), "> : path=%s build_id=%s", m.path,
		 build_id);
	EXPECT_NE(NULL, strstr(trace_find(&self->log, NULL,
					  "<user stack unwind>")->text, line));
	unlink(NAME);
}

TEST_F(trace, sym_userobj_of_a_file_that_is_gone)
{
	const unsigned int seconds = scaled_seconds(10);
	double start = now();
	struct trace_file a;
	bool gone = false;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASK();
	RUN(NAME, &a);
	ASSERT_EQ(0, tracefs_write(&self->t, "options/sym-userobj", "1"));
	READ_LOG();
	ASSERT_FALSE(is_nameless(&self->log, a.id));
	/* Its id goes with its inode, some time later. */
	unlink(NAME);
	while (!gone && now() < start + seconds) {
		READ_LOG();
		gone = is_nameless(&self->log, a.id);
	}
	EXPECT_TRUE(gone);
}

static unsigned int count(const char *text, const char *what)
{
	unsigned int nr = 0;

	while ((text = strstr(text, what))) {
		text++;
		nr++;
	}
	return nr;
}

#define DEPTH 12
static struct stub deep_stub;
static unsigned int deep;

static void run_deeper(void)
{
	stub_run(&deep_stub, ++deep < DEPTH ? run_deeper : NULL);
}

/* Without room for a path there is the id; no frame is lost. */
TEST_F(trace, sym_userobj_without_room)
{
	struct stub *stub = &deep_stub;
	const char *text;
	char cwd[512];
	int fd;

	ASSERT_NE(NULL, getcwd(cwd, sizeof(cwd)));
	ASSERT_EQ(0, enter_long_dir(9));
	ASSERT_EQ(0, file_create("file", 1));
	fd = open("file", O_RDONLY | O_CLOEXEC);
	ASSERT_EQ(0, stub_map(stub, 1));
	stub_table(stub);
	ASSERT_EQ(stub->text, mmap(stub->text, PAGE, PROT_READ | PROT_EXEC,
				   MAP_PRIVATE | MAP_FIXED, fd, PAGE));
	ASSERT_EQ(0, stub_register(stub));
	close(fd);
	ASK();
	run_deeper();
	READ_LOG();
	ASSERT_TRUE(trace_stack(&self->log,
				cookie_of(&self->log,
					  trace_find(&self->log, NULL,
						     "sys_enter: ")),
				&self->stack));
	EXPECT_LT(3 * DEPTH, self->stack.nr);
	ASSERT_EQ(0, tracefs_write(&self->t, "options/sym-userobj", "1"));
	READ_LOG();
	text = trace_find(&self->log, NULL, "<user stack unwind>")->text;
	EXPECT_EQ(self->stack.nr, count(text, " =>  <"));
	EXPECT_LT(1, count(text, "> : path=/tmp/ddd"));
	EXPECT_GT(DEPTH, count(text, "> : path=/tmp/ddd"));
	EXPECT_LT(0, count(text, "> : 0x"));
	unlink("file");
	EXPECT_EQ(0, leave_long_dir(9));
	ASSERT_EQ(0, chdir(cwd));
}

static const struct {
	const char *what;
	const char *file;
	const char *value;
} emptied_by[] = {
	{ "echo > trace", NULL, NULL },
	{ "another clock", "trace_clock", "global" },
	{ "another size of its pages", "buffer_subbuf_size_kb", "8" },
};

/* What was explained is explained again, as nobody can read it any more. */
TEST_F(trace, emptied)
{
	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASK();
	for (size_t i = 0; i < ARRAY_SIZE(emptied_by); i++) {
		leaf();
		if (emptied_by[i].file) {
			ASSERT_EQ(0, tracefs_write(&self->t, emptied_by[i].file,
						   emptied_by[i].value));
		} else {
			ASSERT_EQ(0, tracefs_clear(&self->t));
		}
		READ_LOG();
		EXPECT_EQ(0, self->log.nr);
		leaf();
		READ_LOG();
		EXPECT_EQ(2, trace_count(&self->log, "file_map: ")) {
			TH_LOG("emptied by %s", emptied_by[i].what);
		}
		if (!i)
			EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL,
							"sys_enter: "));
	}
}

TEST_HARNESS_MAIN
