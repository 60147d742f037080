// SPDX-License-Identifier: GPL-2.0
/*
 * Sources of names in the trace: unchecked claims, and what the kernel has read; and
 * all of it again by code_replay.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "fuse_file.h"
#include "jit_table.h"
#include "trace_fixture.h"
#include "trace_proc.h"

#define LONGEST 4095

/* A registration of the stub that claims to be of a file. */
static int register_claim(const struct stub *stub, const char *path,
			  const uint8_t *build_id, unsigned int len)
{
	const struct code_elf_info info = {
		.elf_start = addr_of(stub->text),
		.elf_end = addr_of(stub->text) + PAGE,
		.text_start = addr_of(stub->text),
		.text_end = addr_of(stub->text) + PAGE,
		.sframe_start = addr_of(stub->table),
		.sframe_end = addr_of(stub->table) + stub->table_size,
		.pathname = addr_of(path),
		.build_id = addr_of(build_id),
		.build_id_len = len,
	};

	return register_elf(&info);
}

static const struct {
	const char *path;
	const char *shown;
} claims[] = {
	{ "/usr/bin/true", "/usr/bin/true" },
	{ "/a\nb", "/a\\012b" },
	{ "/a\tb\r\v\f\b\a", "/a\\011b\\015\\013\\014\\010\\007" },
	{ "/a\\012b", "/a\\134012b" },
	{ "/\033[31m\x7f\x01", "/\\033[31m\\177\\001" },
	{ "/gr\303\274n/\360\237\231\202", "/gr\303\274n/\360\237\231\202" },
	{ "/\xff\x80", "/\xff\x80" },
	{ " names=verified build_id=00 path=/etc/shadow ",
	  " names=verified build_id=00 path=/etc/shadow " },
	{ "/x\n1-1 [000] ..... 1.0: code_register: pid=1 path=",
	  "/x\\0121-1 [000] ..... 1.0: code_register: pid=1 path=" },
	{ "%s%n%p", "%s%n%p" },
	{ "", "" },
	{ NULL, "" },
};

/* Registers, has a stack taken, and compares what both say of it. */
static void check_claim(struct __test_metadata *_metadata,
			FIXTURE_DATA(trace) * self, struct stub *stub,
			const char *path, const char *shown)
{
	const uint8_t build_id[] = { 0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3 };
	struct trace_register r;
	struct trace_file f;

	ASSERT_EQ(0, tracefs_clear(&self->t));
	ASSERT_EQ(0, register_claim(stub, path, build_id, sizeof(build_id)));
	stub_run(stub, NULL);
	ASSERT_EQ(0, stub_unregister(stub));
	READ_LOG();
	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, getpid(),
					    addr_of(stub->text), &r));
	EXPECT_STREQ("claimed", r.n.names);
	EXPECT_STREQ("deadbeef00010203", r.n.build_id);
	EXPECT_STREQ(shown, r.n.path);
	EXPECT_EQ(0, r.file_id | r.n.inode);
	EXPECT_EQ(1, trace_count(&self->log, "code_register: "));

	ASSERT_TRUE(trace_find_file(&self->log, NULL, r.id, &f));
	EXPECT_STREQ("claimed", f.n.names);
	EXPECT_STREQ("object", f.unit);
	EXPECT_STREQ("deadbeef00010203", f.n.build_id);
	EXPECT_STREQ(shown, f.n.path);
	EXPECT_EQ(0, f.n.inode | f.n.dev_major | f.n.dev_minor);
}

#define WITH_STUB() struct stub stub; do {				\
	ASSERT_EQ(0, stub_map(&stub, 1));				\
	stub_table(&stub);						\
} while (0)

TEST_F(trace, claims)
{
	WITH_STUB();
	/* Nothing else is to be registered meanwhile. */
	stub_rules_kept = true;
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++)
		check_claim(_metadata, self, &stub, claims[i].path,
			    claims[i].shown);
}

/* Frames of a claim: offset in the object, id of the registration. */
TEST_F(trace, frames_of_a_claim)
{
	struct trace_stack *s = &self->stack;
	struct trace_register r;

	WITH_STUB();
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	ASSERT_EQ(0, register_claim(&stub, "/x", NULL, 0));
	stub_run(&stub, NULL);
	READ_LOG();
	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, getpid(),
					    addr_of(stub.text), &r));
	EXPECT_STREQ("", r.n.build_id);
	ASSERT_TRUE(syscall_stack(&self->log, s));
	ASSERT_LT(2, s->nr);
	EXPECT_EQ(stub.marker_off, s->frame[0].offset);
	EXPECT_EQ(r.id, s->frame[0].id);
}

/* Too long for a record: whole characters and escapes, and then dots. */
TEST_F(trace, longest_claims)
{
	const char fill[] = { 'x', '\n', '\\', '\377' };
	static char path[LONGEST + 1];
	static struct trace_register r;
	size_t len;

	WITH_STUB();
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	for (size_t i = 0; i < ARRAY_SIZE(fill); i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		memset(path, fill[i], LONGEST);
		ASSERT_EQ(0, register_claim(&stub, path, NULL, 0));
		ASSERT_EQ(0, stub_unregister(&stub));
		READ_LOG();
		ASSERT_NE(NULL, trace_find_register(&self->log, NULL, getpid(),
						    addr_of(stub.text), &r));
		EXPECT_STREQ("claimed", r.n.names);
		EXPECT_EQ(1, self->log.nr);
		len = strlen(r.n.path);
		EXPECT_LT(2000, len);
		EXPECT_GT(2048, len);
		ASSERT_STREQ("...", r.n.path + len - 3);
		r.n.path[len - 3] = '\0';
		if (fill[i] == '\n' || fill[i] == '\\') {
			EXPECT_EQ(0, (len - 3) % 4);
			for (size_t at = 0; at < len - 3; at += 4)
				ASSERT_EQ(0, strncmp(r.n.path + at,
						     fill[i] == '\n' ? "\\012" :
								       "\\134",
						     4));
		} else {
			EXPECT_EQ(0, strncmp(r.n.path, path, len - 3));
		}
	}
}

/* If there is a file, claims are ignored. */
TEST_F(trace, claims_about_a_file)
{
	static const char lie[] = "/claimed/by/the/registrant";
	const uint8_t build_id[20] = { 0xba, 0xdb, 0xad };
	struct trace_register r;
	uint8_t *text;
	struct stub stub;
	char hex[48] = "";
	uint8_t real[20];
	int fd;

	fd = elf_create("/tmp/trace_names_elf", 7);
	ASSERT_LE(0, fd);
	text = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	ASSERT_NE(MAP_FAILED, text);
	elf_build_id(7, real);
	for (int i = 0; i < 20; i++)
		sprintf(hex + 2 * i, "%02x", real[i]);
	stub = (struct stub) { .text = text };
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASSERT_EQ(0, register_elf(&(struct code_elf_info) {
		.elf_start = addr_of(stub.text),
		.elf_end = addr_of(stub.text) + 2 * PAGE,
		.text_start = addr_of(stub.text) + PAGE,
		.text_end = addr_of(stub.text) + 2 * PAGE,
		.pathname = addr_of(lie),
		.build_id = addr_of(build_id),
		.build_id_len = sizeof(build_id),
	}));
	unlink("/tmp/trace_names_elf");
	close(fd);
	READ_LOG();
	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, getpid(),
					    addr_of(text) + PAGE, &r));
	EXPECT_STREQ("verified", r.n.names);
	EXPECT_STREQ(hex, r.n.build_id);
	EXPECT_STREQ("/tmp/trace_names_elf", r.n.path);
	EXPECT_NE(0, r.file_id);
	EXPECT_EQ(NULL, strstr(self->log.buf, "claimed"));
	EXPECT_EQ(NULL, strstr(self->log.buf, "badbad"));
}

#define OBJECT "/tmp/trace_names_elf"

/* The object, with the stub in the second page of its text, in file and memory. */
static uint8_t *map_object_with(struct stub *stub)
{
	int fd = object_create(OBJECT, 3);
	uint8_t *object = NULL;

	if (fd >= 0 && !stub_map(stub, 1) &&
	    pwrite(fd, stub->text, PAGE, OBJECT_OFFSET + PAGE) == PAGE)
		object = object_map(fd);
	close(fd);
	if (!object)
		return NULL;
	munmap(stub->text, PAGE);
	stub->text = object + OBJECT_TEXT + PAGE;
	stub_table(stub);
	return object;
}

static int register_object_with(const struct stub *stub, const uint8_t *object)
{
	return register_elf(&(struct code_elf_info) {
		.elf_start = addr_of(object),
		.elf_end = addr_of(object) + OBJECT_PAGES * PAGE,
		.text_start = addr_of(object) + OBJECT_TEXT,
		.text_end = addr_of(object) + OBJECT_TEXT + 3 * PAGE,
		.sframe_start = addr_of(stub->table),
		.sframe_end = addr_of(stub->table) + stub->table_size,
	});
}

/* Runs the stub; what its frame says is in @f and in the stack. */
static void run_in_object(struct __test_metadata *_metadata,
			  FIXTURE_DATA(trace) * self, const struct stub *stub,
			  struct trace_file *f)
{
	struct trace_stack *s = &self->stack;

	ASSERT_EQ(0, tracefs_clear(&self->t));
	stub_run(stub, NULL);
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_EQ(truth.nr, s->nr);
	ASSERT_TRUE(trace_find_file(&self->log, s->first, s->frame[0].id, f));
	EXPECT_STREQ(OBJECT, f->n.path);
}

/* Anybody's code in the middle of an object has neither its id nor its offset. */
TEST_F(trace, text_without_a_file_in_an_object_of_one)
{
	struct trace_register r;
	struct trace_file f;
	struct proc_line l;
	struct stub stub;
	uint8_t *object;

	object = map_object_with(&stub);
	ASSERT_NE(NULL, object);
	ASSERT_EQ(0, object_move_text(object, 0, 3));
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASSERT_EQ(0, register_object_with(&stub, object));
	READ_LOG();
	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, getpid(),
					    addr_of(object) + OBJECT_TEXT, &r));
	ASSERT_TRUE(proc_line_of(addr_of(object) + OBJECT_TEXT, &l));
	EXPECT_TRUE(trace_same_as_proc(&r, &l));
	EXPECT_STREQ("claimed", r.n.names);
	EXPECT_STREQ(OBJECT, r.n.path);
	EXPECT_EQ(0, r.file_id | r.n.inode);

	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	run_in_object(_metadata, self, &stub, &f);
	EXPECT_EQ(r.id, f.id);
	EXPECT_STREQ("claimed", f.n.names);
	EXPECT_STREQ("object", f.unit);
	EXPECT_EQ(0, f.n.inode);
	EXPECT_EQ(OBJECT_TEXT + PAGE + stub.marker_off,
		  self->stack.frame[0].offset);
	unlink(OBJECT);
}

static const struct {
	size_t first;
	size_t nr;
} moved[] = { { 1, 1 }, { 0, 3 } };

/* Text that is moved to huge pages: the middle first, and then all of it. */
TEST_F(trace, moved_text)
{
	uint64_t offset = OBJECT_OFFSET + PAGE;
	struct trace_file was, f;
	struct proc_line l;
	struct stub stub;
	uint8_t *object;

	object = map_object_with(&stub);
	ASSERT_NE(NULL, object);
	offset += stub.marker_off;
	ASSERT_EQ(0, register_object_with(&stub, object));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	run_in_object(_metadata, self, &stub, &was);
	EXPECT_STREQ("verified", was.n.names);
	EXPECT_STREQ("file", was.unit);
	EXPECT_EQ(offset, self->stack.frame[0].offset);
	for (size_t i = 0; i < ARRAY_SIZE(moved); i++) {
		ASSERT_EQ(0, object_move_text(object, moved[i].first,
					      moved[i].nr));
		run_in_object(_metadata, self, &stub, &f);
		ASSERT_TRUE(proc_line_of(addr_of(object) + OBJECT_TEXT, &l));
		EXPECT_EQ(l.q.id, f.id);
		EXPECT_NE(was.id, f.id);
		EXPECT_STREQ("claimed", f.n.names);
		EXPECT_STREQ("file", f.unit);
		EXPECT_EQ(offset, self->stack.frame[0].offset);
		EXPECT_EQ(was.n.inode, f.n.inode);
		EXPECT_STREQ(was.n.build_id, f.n.build_id);
	}
	unlink(OBJECT);
}

static int replay(const struct tracefs *t, const char *text)
{
	return tracefs_write(t, "code_replay", text);
}

TEST_F(trace, replay)
{
	struct trace_register r[2];
	const struct trace_entry *e;
	struct trace_peer p;
	struct stub jit;

	WITH_STUB();
	ASSERT_EQ(0, stub_map(&jit, 1));
	stub_jit_table(&jit);
	ASSERT_EQ(0, register_claim(&stub, "/claimed", NULL, 0));
	ASSERT_EQ(0, stub_register_jit(&jit));
	if (!peer_fork(&p)) {
		peer_hear(p.to);
		_exit(0);
	}
	ASSERT_LT(0, p.pid);
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASSERT_EQ(0, replay(&self->t, "1"));
	READ_LOG();
	EXPECT_EQ(0, trace_not_told(&self->log, getpid()));
	EXPECT_EQ(0, trace_not_told(&self->log, p.pid));
	e = trace_find_register(&self->log, NULL, getpid(), addr_of(stub.text),
				&r[0]);
	ASSERT_NE(NULL, e);
	EXPECT_STREQ("/claimed", r[0].n.path);
	EXPECT_EQ(NULL, trace_find_register(&self->log, e, getpid(),
					    addr_of(stub.text), &r[1]));
	/* The copy that fork() made is the same registration. */
	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, p.pid,
					    addr_of(stub.text), &r[1]));
	EXPECT_EQ(r[0].id, r[1].id);

	/* Once more: everything once more, and with the same ids. */
	ASSERT_EQ(0, replay(&self->t, "1\n"));
	READ_LOG();
	e = trace_find_register(&self->log, NULL, getpid(), addr_of(jit.text),
				&r[0]);
	ASSERT_NE(NULL, e);
	e = trace_find_register(&self->log, e, getpid(), addr_of(jit.text),
				&r[1]);
	ASSERT_NE(NULL, e);
	EXPECT_EQ(0, memcmp(&r[0], &r[1], sizeof(r[0])));
	EXPECT_EQ(NULL, trace_find_register(&self->log, e, getpid(),
					    addr_of(jit.text), &r[1]));
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
}

static void *hear(void *pipe_end)
{
	peer_hear(pipe_end);
	_exit(0);
}

/* A process of which the first thread has exited has not gone. */
TEST_F(trace, replay_without_the_first_thread)
{
	struct trace_register r;
	struct trace_peer p;
	pthread_t thread;
	uint64_t start, end;

	if (!peer_fork(&p)) {
		if (pthread_create(&thread, NULL, hear, p.to))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	ASSERT_LT(0, p.pid);
	usleep(100000);
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASSERT_EQ(0, replay(&self->t, "1"));
	READ_LOG();
	ASSERT_EQ(0, text_segment_of(hear, &start, &end));
	EXPECT_NE(NULL, trace_find_register(&self->log, NULL, p.pid, start,
					    &r));
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
}

/* Ids of files are explained again, where stacks are taken. */
TEST_F(trace, replay_explains_files)
{
	struct trace_file f;
	struct trace_map m;
	const struct trace_entry *e = NULL;
	unsigned int nr = 0;

	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	marker();
	ASSERT_EQ(0, tracefs_clear(&self->t));
	ASSERT_TRUE(trace_map_of(addr_of(replay), &m));
	ASSERT_EQ(0, replay(&self->t, "1"));
	READ_LOG();
	while ((e = trace_find(&self->log, e, "file_map: "))) {
		ASSERT_TRUE(trace_parse_file(e, &f));
		if (f.n.inode == m.inode && !strcmp(f.n.path, m.path))
			nr++;
	}
	EXPECT_EQ(1, nr);
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "0"));
	ASSERT_EQ(0, tracefs_clear(&self->t));
	ASSERT_EQ(0, replay(&self->t, "1"));
	READ_LOG();
	EXPECT_EQ(0, trace_count(&self->log, "file_map: "));
}

/* The file that is mapped there is not the code's, but frames in it have an id. */
TEST_F(trace, replay_explains_registrations)
{
	struct stub jit, in_file;
	struct trace_file f;
	struct proc_line l;

	WITH_STUB();
	ASSERT_EQ(0, stub_map(&jit, 1));
	stub_jit_table(&jit);
	ASSERT_EQ(0, stub_map(&in_file, 1));
	ASSERT_EQ(0, stub_text_in_file(&in_file));
	stub_jit_table(&in_file);
	ASSERT_EQ(0, register_claim(&stub, "/claimed", NULL, 0));
	ASSERT_EQ(0, stub_register_jit(&jit));
	ASSERT_EQ(0, stub_register_jit(&in_file));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	ASSERT_EQ(0, replay(&self->t, "1"));
	READ_LOG();
	ASSERT_TRUE(proc_line_of(addr_of(stub.text), &l));
	ASSERT_TRUE(trace_find_file(&self->log, NULL, l.q.id, &f));
	EXPECT_STREQ("/claimed", f.n.path);
	EXPECT_STREQ("claimed", f.n.names);
	EXPECT_STREQ("object", f.unit);
	ASSERT_TRUE(proc_line_of(addr_of(jit.text), &l));
	ASSERT_TRUE(trace_find_file(&self->log, NULL, l.q.id, &f));
	EXPECT_STREQ("[jit]", f.n.path);
	EXPECT_STREQ("address", f.unit);
	ASSERT_TRUE(proc_line_of(addr_of(in_file.text), &l));
	ASSERT_TRUE(trace_find_file(&self->log, NULL, l.q.id, &f));
	EXPECT_STREQ("[jit]", f.n.path);
	EXPECT_STREQ("address", f.unit);
	EXPECT_EQ(0, trace_count(&self->log, "code_register: "));
}

/* Other tracers of the same have requested nothing. */
TEST_F(trace, replay_into_one_instance)
{
	struct trace_log log = {};
	struct tracefs other;

	ASSERT_EQ(0, tracefs_open(&other, "codectl_test_other"));
	ASSERT_EQ(0, tracefs_enable(&other, "codectl/code_register"));
	ASSERT_EQ(0, tracefs_write(&other, USER_STACKS, "1"));
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASSERT_EQ(0, ask_for_stacks(&self->t, false));
	ASSERT_EQ(0, tracefs_clear(&other));
	ASSERT_EQ(0, replay(&self->t, "1"));
	ASSERT_EQ(0, trace_log_read(&log, &other));
	EXPECT_EQ(0, trace_count(&log, "code_register: "));
	EXPECT_EQ(0, trace_count(&log, "file_map: "));
	trace_log_free(&log);
	READ_LOG();
	EXPECT_EQ(0, trace_not_told(&self->log, getpid()));
	EXPECT_EQ(0, tracefs_close(&other));
}

/* Registers what cannot be read, and replays it when told to. */
static void replay_for_ever(const struct tracefs *t,
			    const struct trace_peer *p, const char *path)
{
	int fd = open(path, O_RDONLY);
	uint8_t *text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
			     fd, 0);

	if (text == MAP_FAILED ||
	    register_elf_text(addr_of(text), addr_of(text) + PAGE))
		_exit(1);
	peer_say(p->from);
	peer_hear(p->to);
	replay(t, "1");
	_exit(2);
}

/* A process whose own file never answers is not waited for after its end. */
TEST_F(trace, replay_that_is_killed)
{
	static const uint8_t contents[PAGE];
	struct fuse_file fuse;
	struct trace_peer p;
	int status;

	ASSERT_EQ(0, fuse_file_serve(&fuse, contents, PAGE, 0));
	if (!peer_fork(&p))
		replay_for_ever(&self->t, &p, fuse.path);
	ASSERT_LT(0, p.pid);
	ASSERT_TRUE(peer_hear(p.from));
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	peer_say(p.to);
	usleep(500000);
	EXPECT_EQ(0, waitpid(p.pid, &status, WNOHANG));
	ASSERT_EQ(0, kill(p.pid, SIGKILL));
	ASSERT_EQ(p.pid, waitpid(p.pid, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	fuse_file_stop(&fuse);
	EXPECT_EQ(0, replay(&self->t, "1"));
}

TEST_F(trace, replay_of_nonsense)
{
	const char *const texts[] = { "0", "", "\n", "2", "no", "garbage",
				      "off", "-1" };

	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (!*texts[i])
			continue;
		EXPECT_EQ(-EINVAL, replay(&self->t, texts[i])) {
			TH_LOG("%s", texts[i]);
		}
	}
	READ_LOG();
	EXPECT_EQ(0, self->log.nr);
}

TEST_F(trace, replay_is_for_root)
{
	pid_t pid = fork();

	if (!pid) {
		if (setresuid(65534, 65534, 65534))
			_exit(1);
		_exit(replay(&self->t, "1") == -EACCES ? 0 : 2);
	}
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, exit_status(pid));
}

TEST_HARNESS_MAIN
