// SPDX-License-Identifier: GPL-2.0
/* code_register, code_unregister and code_replay in the trace. */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include "jit_table.h"
#include "trace_fixture.h"
#include "trace_proc.h"
#include "unwind_plugin.h"

#define WAIT_ENV "TRACE_TEST_WAIT"

/* What a test executes: says that it is there, and waits. */
static __attribute__((constructor)) void wait_in_new_program(void)
{
	char c = 0;

	if (!getenv(WAIT_ENV))
		return;
	if (write(1, &c, 1) != 1 || read(0, &c, 1) < 0)
		_exit(98);
	_exit(0);
}

static void exec_and_wait(const struct trace_peer *p)
{
	char *const argv[] = { "trace_event_test", NULL };

	dup2(p->to[0], 0);
	dup2(p->from[1], 1);
	setenv(WAIT_ENV, "1", 1);
	execv("/proc/self/exe", argv);
	_exit(97);
}

static int enable_events(const struct tracefs *t)
{
	return tracefs_enable(t, "codectl/code_register") ?:
	       tracefs_enable(t, "codectl/code_unregister");
}

#define ENABLE() ASSERT_EQ(0, enable_events(&self->t))

static int pages_register(uint64_t start, bool jit)
{
	return jit ? register_jit_text(start, start + PAGE) :
		     register_elf_text(start, start + PAGE);
}

/* What the plugin needs of a program. */
void plugin_event(enum plugin_event event)
{
}

int lazy_target(int x)
{
	return x;
}

TEST_F(trace, elf_by_call)
{
	struct trace_unregister u;
	struct trace_register r;
	struct proc_line l;
	struct stub stub;
	uint64_t text;
	int fd;

	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_table(&stub);
	text = addr_of(stub.text);
	ENABLE();
	ASSERT_EQ(0, stub_register(&stub));
	fd = proc_open(0);
	ASSERT_EQ(0, code_query_all(fd, text, &l));
	close(fd);
	ASSERT_EQ(0, stub_unregister(&stub));
	READ_LOG();

	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, getpid(), text,
					    &r));
	EXPECT_STREQ("elf", r.kind);
	EXPECT_EQ(text + PAGE, r.text_end);
	EXPECT_EQ(text, r.elf_start);
	EXPECT_EQ(text + PAGE, r.elf_end);
	EXPECT_EQ(addr_of(stub.table), r.table);
	EXPECT_EQ(addr_of(stub.table) + stub.table_size, r.table_end);
	EXPECT_EQ(0, r.flags);
	EXPECT_NE(0, r.id);
	EXPECT_EQ(0, r.file_id);
	EXPECT_EQ(0, r.n.dev_major | r.n.dev_minor | r.n.inode);
	EXPECT_STREQ("none", r.n.names);
	EXPECT_STREQ("", r.n.build_id);
	EXPECT_STREQ("", r.n.path);
	EXPECT_TRUE(trace_same_as_proc(&r, &l));

	ASSERT_NE(NULL, trace_find_unregister(&self->log, getpid(), text, &u));
	EXPECT_EQ(r.id, u.id);
	EXPECT_EQ(r.text_end, u.text_end);
	EXPECT_STREQ("call", u.reason);
	EXPECT_EQ(1, trace_count(&self->log, "code_register: "));
	EXPECT_EQ(1, trace_count(&self->log, "code_unregister: "));
}

/* Each tells of the registration that was there then. */
TEST_F(trace, in_the_order_of_a_batch)
{
	uint64_t text = addr_of(map_pages(1, PROT_READ | PROT_EXEC));
	const struct trace_entry *at = NULL;
	struct trace_unregister u = {};
	struct trace_register r = {};
	struct code_elf_info elf = {
		.elf_start = text,
		.elf_end = text + PAGE,
		.text_start = text,
		.text_end = text + PAGE,
	};
	struct code_unregister_info old = { text, text + PAGE };
	struct code_batch_entry entry[9];
	struct code_batch batch = { addr_of(entry), ARRAY_SIZE(entry) };

	for (size_t i = 0; i < ARRAY_SIZE(entry); i++)
		entry[i] = i % 2 ? (struct code_batch_entry) {
			CODE_UNREGISTER, sizeof(old), addr_of(&old),
		} : (struct code_batch_entry) {
			CODE_REGISTER_ELF, sizeof(elf), addr_of(&elf),
		};
	ENABLE();
	ASSERT_EQ(9, sys_codectl(CODE_BATCH, &batch, sizeof(batch), 0));
	READ_LOG();

	for (int i = 0; i < 5; i++) {
		at = trace_find_register(&self->log, at, getpid(), text, &r);
		ASSERT_NE(NULL, at);
		EXPECT_NE(u.id, r.id);
		if (i == 4)
			break;
		at = trace_find(&self->log, at, "code_");
		ASSERT_NE(NULL, at);
		ASSERT_TRUE(trace_parse_unregister(at, &u));
		EXPECT_EQ(r.id, u.id);
	}
	EXPECT_EQ(5, trace_count(&self->log, "code_register: "));
	EXPECT_EQ(4, trace_count(&self->log, "code_unregister: "));
}

TEST_F(trace, jit_by_call)
{
	struct trace_unregister u;
	struct trace_register r;
	struct code_jit_info info;
	struct proc_line l;
	struct stub stub;

	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_jit_table(&stub);
	info = stub_jit_info(&stub);
	info.jit_flags = CODE_JIT_DEFAULT_RULE | CODE_JIT_DESCENDING;
	info.info = CODE_FRE_OUTERMOST;
	ENABLE();
	ASSERT_EQ(0, register_jit(&info));
	ASSERT_TRUE(proc_line_of(info.text_start, &l));
	ASSERT_EQ(0, stub_unregister(&stub));
	READ_LOG();

	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, getpid(),
					    info.text_start, &r));
	EXPECT_STREQ("jit", r.kind);
	EXPECT_EQ(info.text_end, r.text_end);
	EXPECT_EQ(0, r.elf_start | r.elf_end | r.table_end | r.file_id);
	EXPECT_EQ(info.unwind_head, r.table);
	EXPECT_EQ(info.jit_flags, r.flags);
	EXPECT_EQ(l.q.id, r.id);
	EXPECT_STREQ("none", r.n.names);
	ASSERT_NE(NULL, trace_find_unregister(&self->log, getpid(),
					      info.text_start, &u));
	EXPECT_EQ(r.id, u.id);
	EXPECT_STREQ("call", u.reason);
}

TEST_F(trace, what_fails_is_not_told)
{
	uint8_t *mem = map_pages(3, PROT_READ | PROT_EXEC);
	uint64_t text = addr_of(mem);

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, munmap(mem + 2 * PAGE, PAGE));
	ASSERT_EQ(0, pages_register(text, false));
	ENABLE();
	for (int jit = 0; jit < 2; jit++) {
		EXPECT_EQ(-EEXIST, pages_register(text, jit));
		EXPECT_EQ(-EINVAL, pages_register(text + 2 * PAGE, jit));
	}
	EXPECT_EQ(-EFAULT, register_text(text + PAGE, text + 2 * PAGE,
					 mem + 2 * PAGE, 64));
	EXPECT_EQ(-EINVAL, register_text(text + PAGE, text + 2 * PAGE, mem,
					 64));
	EXPECT_EQ(-ENOENT, unregister_text(text + PAGE, text + 2 * PAGE));
	EXPECT_EQ(-ENOENT, unregister_text(text, text + 2 * PAGE));
	READ_LOG();
	EXPECT_EQ(0, self->log.nr);
}

TEST_F(trace, exec_and_its_linker)
{
	char self_path[256] = "", build_id[48], ld_build_id[48] = "";
	struct trace_register r;
	struct trace_peer p;
	const struct trace_entry *e = NULL;
	bool exe = false, ld = false;
	struct trace_map m;

	ASSERT_LT(0, readlink("/proc/self/exe", self_path,
			      sizeof(self_path) - 1));
	ASSERT_EQ(0, loaded_build_id(exec_and_wait, build_id));
	ASSERT_EQ(0, loaded_build_id((void *)getauxval(AT_BASE),
				     ld_build_id));
	ASSERT_TRUE(trace_map_of(getauxval(AT_BASE), &m));
	ENABLE();
	if (!peer_fork(&p))
		exec_and_wait(&p);
	ASSERT_LT(0, p.pid);
	ASSERT_TRUE(peer_hear(p.from));
	READ_LOG();
	EXPECT_EQ(0, trace_not_told(&self->log, p.pid));
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));

	/* Nothing else can have told of these two before the first library. */
	for (int i = 0; i < 2; i++) {
		e = trace_find(&self->log, e, "code_register: ");
		ASSERT_NE(NULL, e);
		ASSERT_TRUE(trace_parse_register(e, &r));
		EXPECT_EQ(p.pid, r.pid);
		EXPECT_STREQ("verified", r.n.names);
		EXPECT_LT(0, r.file_id);
		if (!strcmp(r.n.path, self_path)) {
			exe = true;
			EXPECT_STREQ(build_id, r.n.build_id);
		} else if (!strcmp(r.n.path, m.path)) {
			ld = true;
			EXPECT_STREQ(ld_build_id, r.n.build_id);
			EXPECT_EQ(m.inode, r.n.inode);
		}
	}
	EXPECT_TRUE(exe);
	EXPECT_TRUE(ld);
}

TEST_F(trace, dlopen_and_dlclose)
{
	struct trace_unregister u;
	struct trace_register r;
	const struct trace_entry *e;
	void *plugin;

	ENABLE();
	plugin = dlopen("./unwind_plugin.so", RTLD_NOW | RTLD_LOCAL);
	ASSERT_NE(NULL, plugin) {
		TH_LOG("%s", dlerror());
	}
	READ_LOG();
	e = trace_find(&self->log, NULL, "code_register: ");
	ASSERT_NE(NULL, e);
	ASSERT_TRUE(trace_parse_register(e, &r));
	EXPECT_EQ(getpid(), r.pid);
	EXPECT_STREQ("verified", r.n.names);
	EXPECT_NE(NULL, strstr(r.n.path, "/unwind_plugin.so"));
	ASSERT_EQ(0, tracefs_clear(&self->t));
	dlclose(plugin);
	READ_LOG();
	ASSERT_NE(NULL, trace_find_unregister(&self->log, getpid(),
					      r.text_start, &u));
	EXPECT_EQ(r.id, u.id);
}

FIXTURE(drop)
{
	struct tracefs t;
	struct trace_log log;
	uint8_t *mem;
	uint64_t id;
};

FIXTURE_VARIANT(drop)
{
	bool jit;
};

FIXTURE_VARIANT_ADD(drop, elf) { .jit = false };
FIXTURE_VARIANT_ADD(drop, jit) { .jit = true };

/* The second of three pages is registered. */
#define TEXT addr_of(self->mem + PAGE)

FIXTURE_SETUP(drop)
{
	struct proc_line l;

	REQUIRE_CODECTL();
	ASSERT_EQ(0, tracefs_open(&self->t, "codectl_test_drop"));
	self->mem = map_pages(3, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, pages_register(TEXT, variant->jit));
	ASSERT_TRUE(proc_line_of(TEXT, &l));
	self->id = l.q.id;
	ENABLE();
}

FIXTURE_TEARDOWN(drop)
{
	if (_metadata->exit_code == KSFT_FAIL)
		trace_log_print(&self->log);
	trace_log_free(&self->log);
	EXPECT_EQ(0, tracefs_close(&self->t));
}

/* The registration went once, of that process and for that reason. */
static void expect_drop(struct __test_metadata *_metadata,
			FIXTURE_DATA(drop) * self, pid_t pid,
			const char *reason)
{
	const struct trace_entry *e = NULL;
	struct trace_unregister u;
	unsigned int nr = 0;

	READ_LOG();
	while ((e = trace_find(&self->log, e, "code_unregister: "))) {
		ASSERT_TRUE(trace_parse_unregister(e, &u)) {
			TH_LOG("%s", e->text);
		}
		if (u.text_start != TEXT)
			continue;
		nr++;
		EXPECT_EQ(pid, u.pid);
		EXPECT_EQ(TEXT + PAGE, u.text_end);
		EXPECT_EQ(self->id, u.id);
		EXPECT_STREQ(reason, u.reason);
	}
	EXPECT_EQ(*reason ? 1 : 0, nr);
}

#define EXPECT_DROP(pid, reason) expect_drop(_metadata, self, pid, reason)
#define EXPECT_NO_DROP() expect_drop(_metadata, self, 0, "")

TEST_F(drop, munmap)
{
	ASSERT_EQ(0, munmap(self->mem, 3 * PAGE));
	EXPECT_DROP(getpid(), "unmapped");
}

TEST_F(drop, munmap_beside_it)
{
	ASSERT_EQ(0, munmap(self->mem, PAGE));
	ASSERT_EQ(0, munmap(self->mem + 2 * PAGE, PAGE));
	EXPECT_NO_DROP();
}

/* As the dynamic linker does, whose registration is that of the new text. */
TEST_F(drop, mapped_over)
{
	ASSERT_EQ(self->mem + PAGE,
		  mmap(self->mem + PAGE, PAGE, PROT_READ,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_NO_DROP();
}

/* An object in the place of another. */
TEST_F(drop, replaced)
{
	ASSERT_EQ(self->mem + PAGE,
		  mmap(self->mem + PAGE, PAGE, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	EXPECT_EQ(variant->jit ? -EEXIST : 0, pages_register(TEXT, false));
	if (variant->jit)
		EXPECT_NO_DROP();
	else
		EXPECT_DROP(getpid(), "replaced");
}

TEST_F(drop, mremap)
{
	ASSERT_NE(MAP_FAILED, mremap(self->mem + PAGE, PAGE, 4 * PAGE,
				     MREMAP_MAYMOVE));
	EXPECT_DROP(getpid(), "unmapped");
}

static void *unmap(void *mem)
{
	munmap(mem, 3 * PAGE);
	return NULL;
}

TEST_F(drop, in_a_thread)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, unmap, self->mem));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_DROP(getpid(), "unmapped");
}

TEST_F(drop, in_a_child)
{
	pid_t pid = fork();

	if (!pid) {
		munmap(self->mem, 3 * PAGE);
		_exit(0);
	}
	ASSERT_EQ(0, exit_status(pid));
	EXPECT_DROP(pid, "unmapped");
}

/* The parent still has it, and so it is not told of as the parent's. */
TEST_F(drop, dontfork)
{
	const struct trace_entry *e = NULL;
	struct trace_unregister u;
	pid_t pid;

	ASSERT_EQ(0, madvise(self->mem, 3 * PAGE, MADV_DONTFORK));
	pid = fork();
	if (!pid)
		_exit(text_is_registered(TEXT));
	ASSERT_EQ(0, exit_status(pid));
	EXPECT_EQ(0, unregister_text(TEXT, TEXT + PAGE));
	READ_LOG();
	while ((e = trace_find(&self->log, e, "code_unregister: "))) {
		ASSERT_TRUE(trace_parse_unregister(e, &u));
		if (u.id == self->id && u.pid == getpid())
			EXPECT_STREQ("call", u.reason);
	}
}

TEST_F(drop, exec)
{
	struct trace_unregister u;
	struct trace_peer p;

	if (!peer_fork(&p))
		exec_and_wait(&p);
	ASSERT_LT(0, p.pid);
	ASSERT_TRUE(peer_hear(p.from));
	EXPECT_DROP(p.pid, "exec");
	/* All the rest of the old program as well. */
	ASSERT_NE(NULL, trace_find(&self->log, NULL, "code_unregister: "));
	ASSERT_TRUE(trace_parse_unregister(trace_find(&self->log, NULL,
						      "code_unregister: "),
					   &u));
	EXPECT_LT(2, trace_count(&self->log, "code_unregister: "));
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
}

TEST_F(drop, exit)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ASSERT_EQ(0, exit_status(pid));
	EXPECT_DROP(pid, "exit");
}

TEST_F(drop, killed)
{
	struct trace_peer p;
	int status;

	if (!peer_fork(&p)) {
		peer_hear(p.to);
		_exit(1);
	}
	ASSERT_LT(0, p.pid);
	ASSERT_EQ(0, kill(p.pid, SIGKILL));
	ASSERT_EQ(p.pid, waitpid(p.pid, &status, 0));
	EXPECT_DROP(p.pid, "exit");
}

static void *exit_last(void *pipe_end)
{
	const int *to = pipe_end;

	peer_hear(to);
	return NULL;
}

/* The thread that was there first goes first. */
TEST_F(drop, exit_of_the_last_thread)
{
	struct trace_peer p;
	pthread_t thread;

	if (!peer_fork(&p)) {
		if (pthread_create(&thread, NULL, exit_last, p.to))
			_exit(1);
		syscall(SYS_exit, 0);
	}
	ASSERT_LT(0, p.pid);
	usleep(100000);
	EXPECT_NO_DROP();
	peer_say(p.to);
	ASSERT_EQ(0, exit_status(p.pid));
	EXPECT_DROP(p.pid, "exit");
}

static int exit_at_once(void *)
{
	return 0;
}

TEST_F(drop, sharer_that_exits_first)
{
	uint8_t *stack = map_pages(16, PROT_READ | PROT_WRITE);
	pid_t pid;

	ASSERT_NE(NULL, stack);
	pid = clone(exit_at_once, stack + 16 * PAGE, CLONE_VM | SIGCHLD, NULL);
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, exit_status(pid));
	EXPECT_NO_DROP();
	EXPECT_EQ(0, unregister_text(TEXT, TEXT + PAGE));
	EXPECT_DROP(getpid(), "call");
}

static int wait_and_exit(void *arg)
{
	char c;

	return read(((int *)arg)[0], &c, 1) == 1 ? 0 : 1;
}

/* The process that outlives the one that shares with it has it to the end. */
TEST_F(drop, sharer_that_exits_last)
{
	uint8_t *stack = map_pages(16, PROT_READ | PROT_WRITE);
	struct trace_peer p;
	pid_t sharer = -1;

	ASSERT_NE(NULL, stack);
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
	if (!peer_fork(&p)) {
		sharer = clone(wait_and_exit, stack + 16 * PAGE,
			       CLONE_VM | SIGCHLD, p.to);
		_exit(write(p.from[1], &sharer, sizeof(sharer)) !=
		      sizeof(sharer));
	}
	ASSERT_LT(0, p.pid);
	ASSERT_EQ(sizeof(sharer), read(p.from[0], &sharer, sizeof(sharer)));
	ASSERT_EQ(0, exit_status(p.pid));
	EXPECT_NO_DROP();
	peer_say(p.to);
	ASSERT_EQ(0, exit_status(sharer));
	EXPECT_DROP(sharer, "exit");
}

/* Says when another process has come to the page, and waits. */
static void make_wait_for(const struct trace_peer *p, uint8_t *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { addr_of(page), PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC);
	struct uffd_msg msg;

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &reg))
		_exit(1);
	peer_say(p->from);
	if (read(fd, &msg, sizeof(msg)) != sizeof(msg))
		_exit(2);
	peer_say(p->from);
	pause();
	_exit(3);
}

static int read_page_of(pid_t pid, uint8_t *page)
{
	char c;
	struct iovec here = { &c, 1 }, there = { page, 1 };

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == 1 ? 0 : 1;
}

/* Whose address space it was is not known to who is the last to look into it. */
TEST_F(drop, not_of_one_that_looks_into_it)
{
	uint8_t *page = map_pages(1, PROT_READ | PROT_WRITE);
	struct trace_peer p;
	pid_t reader;
	int status;

	ASSERT_NE(NULL, page);
	ASSERT_EQ(0, madvise(page, PAGE, MADV_DONTNEED));
	if (!peer_fork(&p))
		make_wait_for(&p, page);
	ASSERT_LT(0, p.pid);
	ASSERT_TRUE(peer_hear(p.from));
	reader = fork();
	if (!reader)
		_exit(read_page_of(p.pid, page));
	ASSERT_LT(0, reader);
	ASSERT_TRUE(peer_hear(p.from));
	ASSERT_EQ(0, kill(p.pid, SIGKILL));
	ASSERT_EQ(p.pid, waitpid(p.pid, &status, 0));
	ASSERT_EQ(0, exit_status(reader));
	EXPECT_DROP(reader, "exit");
}

TEST_HARNESS_MAIN
