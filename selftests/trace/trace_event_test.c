// SPDX-License-Identifier: GPL-2.0
/* code_register and code_unregister in the trace. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/auxv.h>

#include "jit_table.h"
#include "trace_drop_fixture.h"
#include "trace_proc.h"
#include "unwind_plugin.h"

#define WAIT_ENV "TRACE_TEST_WAIT"

/* The program that a test executes: reports that it is there, and waits. */
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

/* The plugin calls this in its program. */
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

/* Each reports the registration that there was at that time. */
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

	/* Nothing else can have reported these two before the first library. */
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

/* An object in place of another. */
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

/* The parent still has it, so its end is not reported for the parent. */
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
	/* So does all the rest of the old program. */
	ASSERT_NE(NULL, trace_find(&self->log, NULL, "code_unregister: "));
	ASSERT_TRUE(trace_parse_unregister(trace_find(&self->log, NULL,
						      "code_unregister: "),
					   &u));
	EXPECT_LT(2, trace_count(&self->log, "code_unregister: "));
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
}

TEST_HARNESS_MAIN
