// SPDX-License-Identifier: GPL-2.0
/* User stacks in the trace: whose they are, and what their frames say. */
#include <signal.h>
#include <sys/auxv.h>
#include <sys/ucontext.h>
#include <time.h>

#include "jit_table.h"
#include "trace_fixture.h"
#include "proc_file.h"

#define ASK() ASSERT_EQ(0, ask_for_stacks(&self->t, false))

TEST_F(trace, each_event_has_one)
{
	const struct trace_entry *enter = NULL, *exit = NULL;
	uint64_t cookie, last = 0;

	ASSERT_EQ(0, ask_for_stacks(&self->t, true));
	/* All from the same place. */
#pragma GCC unroll 1
	for (int i = 0; i < 5; i++)
		leaf();
	READ_LOG();
	for (int i = 0; i < 5; i++) {
		enter = trace_find(&self->log, enter, "sys_enter: NR 111 ");
		exit = trace_find(&self->log, exit, "sys_exit: NR 111 ");
		cookie = cookie_of(&self->log, enter);
		EXPECT_NE(0, cookie);
		EXPECT_NE(last, cookie);
		EXPECT_EQ(cookie, cookie_of(&self->log, exit));
		EXPECT_TRUE_STACK_OF(exit);
		EXPECT_EQ(getpid(), self->stack.pid);
		EXPECT_TRUE(self->stack.first > exit);
		last = cookie;
	}
	EXPECT_EQ(10, trace_count(&self->log, "<user unwind>"));
	EXPECT_EQ(5, trace_count(&self->log, "<user stack unwind>"));
}

TEST_F(trace, files_are_explained_once)
{
	const struct trace_entry *e = NULL;
	char own[48], libc[48];
	struct trace_file f;
	bool found[2] = {};

	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, loaded_build_id(leaf, own));
	ASSERT_EQ(0, loaded_build_id(stdout, libc));
	ASK();
	for (int i = 0; i < 10; i++)
		leaf();
	READ_LOG();
	EXPECT_EQ(2, trace_count(&self->log, "file_map: "));
	EXPECT_LT(trace_find(&self->log, NULL, "file_map: "),
		  trace_find(&self->log, NULL, "<user stack unwind>"));
	while ((e = trace_find(&self->log, e, "file_map: "))) {
		ASSERT_TRUE(trace_parse_file(e, &f));
		found[0] |= !strcmp(f.n.build_id, own);
		found[1] |= !strcmp(f.n.build_id, libc);
	}
	EXPECT_TRUE(found[0]);
	EXPECT_TRUE(found[1]);
}

TEST_F(trace, nobody_asks)
{
	ASK();
	leaf();
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "0"));
	ASSERT_EQ(0, tracefs_clear(&self->t));
	leaf();
	READ_LOG();
	EXPECT_EQ(1, self->log.nr);
	EXPECT_EQ(0, tracefs_number(&self->t, USER_STACKS));
}

/* Compiled code: the address, and the id of the registration. */
TEST_F(trace, compiled_code)
{
	struct trace_stack *s = &self->stack;
	struct trace_file f;
	struct proc_line l;
	struct stub stub;

	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_jit_table(&stub);
	ASSERT_EQ(0, stub_register_jit(&stub));
	ASSERT_TRUE(proc_line_of(addr_of(stub.text), &l));
	ASK();
	stub_run(&stub, stub_callback);
	READ_LOG();
	EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL, "sys_enter: "));
	EXPECT_EQ(addr_of(stub.text) + stub.call_off, s->frame[1].offset);
	EXPECT_EQ(l.q.id, s->frame[1].id);
	ASSERT_TRUE(trace_find_file(&self->log, s->first, l.q.id, &f));
	EXPECT_STREQ("[jit]", f.n.path);
	EXPECT_STREQ("none", f.n.names);
}

/* The same in memory of a file, which does not contain the code. */
TEST_F(trace, compiled_code_in_a_file)
{
	struct trace_stack *s = &self->stack;
	struct proc_line l;
	struct stub stub;

	ASSERT_EQ(0, stub_map(&stub, 1));
	ASSERT_EQ(0, stub_text_in_file(&stub));
	stub_jit_table(&stub);
	ASSERT_EQ(0, stub_register_jit(&stub));
	ASSERT_TRUE(proc_line_of(addr_of(stub.text), &l));
	ASK();
	stub_run(&stub, NULL);
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_EQ(truth.nr, s->nr);
	EXPECT_EQ(addr_of(stub.text) + stub.marker_off, s->frame[0].offset);
	EXPECT_EQ(l.q.id, s->frame[0].id);
}

/* Nobody knows what it is; what is in a file is, registered or not. */
TEST_F(trace, code_that_is_not_registered)
{
	struct trace_stack *s = &self->stack;
	struct trace_file f;
	struct stub stub;
	uint8_t *copy;
	int fd;

	ASSERT_EQ(0, stub_map(&stub, 1));
	fd = elf_create("/tmp/trace_stack_elf", 1);
	ASSERT_LE(0, fd);
	ASSERT_EQ(PAGE, pwrite(fd, stub.text, PAGE, PAGE));
	ASK();
	stub_run(&stub, NULL);
	copy = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, PAGE);
	ASSERT_NE(MAP_FAILED, copy);
	unlink("/tmp/trace_stack_elf");
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_EQ(1, s->nr);
	EXPECT_STREQ("fp-end", s->stop);
	EXPECT_EQ(addr_of(stub.text) + stub.marker_off, s->frame[0].offset);
	EXPECT_EQ(0, s->frame[0].id);

	stub.text = copy;
	ASSERT_EQ(0, tracefs_clear(&self->t));
	stub_run(&stub, NULL);
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_EQ(1, s->nr);
	EXPECT_EQ(PAGE + stub.marker_off, s->frame[0].offset);
	ASSERT_TRUE(trace_find_file(&self->log, s->first, s->frame[0].id, &f));
	EXPECT_STREQ("verified", f.n.names);
	EXPECT_STREQ("/tmp/trace_stack_elf (deleted)", f.n.path);
}

/* What is free ends at a registration, on both sides. */
TEST_F(trace, free_memory_between_registrations)
{
	struct code_jit_info jit = { .jit_flags = CODE_JIT_DEFAULT_RULE,
				     .info = CODE_FRE_OUTERMOST };
	uint8_t *mem = map_pages(3, PROT_READ | PROT_WRITE | PROT_EXEC);
	struct trace_stack *s = &self->stack;
	uint64_t frames[2][2];
	struct proc_line l[3];
	struct stub stub;

	ASSERT_NE(NULL, mem);
	ASSERT_EQ(0, stub_map(&stub, 1));
	memcpy(mem + PAGE, stub.text, PAGE);
	stub.text = mem + PAGE;
	for (int i = 0; i < 3; i += 2) {
		jit.text_start = addr_of(mem) + i * PAGE;
		jit.text_end = jit.text_start + PAGE;
		ASSERT_EQ(0, register_jit(&jit));
		ASSERT_TRUE(proc_line_of(jit.text_start, &l[i]));
	}
	ASK();
	for (int i = 0; i < 3; i += 2) {
		/* The stub has a frame pointer to this. */
		frames[0][0] = 0;
		frames[0][1] = addr_of(mem) + i * PAGE + 8;
		stub_fp = addr_of(frames);
		ASSERT_EQ(0, tracefs_clear(&self->t));
		stub_run(&stub, NULL);
		READ_LOG();
		ASSERT_TRUE(syscall_stack(&self->log, s));
		ASSERT_EQ(2, s->nr);
		EXPECT_STREQ("", s->stop);
		EXPECT_EQ(0, s->frame[0].id);
		EXPECT_EQ(addr_of(stub.text) + stub.marker_off, s->frame[0].offset);
		EXPECT_EQ(l[i].q.id, s->frame[1].id);
		EXPECT_EQ(frames[0][1], s->frame[1].offset);
	}
	stub_fp = 0;
}

/* It has no file, but an id: like an object that is loaded at its first byte. */
TEST_F(trace, vdso)
{
	const uint8_t *base = (void *)getauxval(AT_SYSINFO_EHDR);
	static const uint8_t insn[] = { 0x0f, 0x05 };	/* syscall */
	struct trace_stack *s = &self->stack;
	const struct trace_entry *e;
	struct trace_file f;
	char build_id[48];
	struct timespec ts;

	ASSERT_NE(NULL, base);
	ASSERT_EQ(0, loaded_build_id(base, build_id));
	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, __NR_clock_gettime, getpid(),
					   false));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	/* A clock that it does not handle itself. */
	ASSERT_EQ(0, clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "0"));
	READ_LOG();
	e = trace_find(&self->log, NULL, "sys_enter: NR 228 ");
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, e), s));
	EXPECT_STREQ("", s->stop);
	EXPECT_LT(2, s->nr);
	ASSERT_GT(4 * PAGE, s->frame[0].offset);
	EXPECT_EQ(0, memcmp(base + s->frame[0].offset - 2, insn, sizeof(insn)));
	ASSERT_TRUE(trace_find_file(&self->log, s->first, s->frame[0].id, &f));
	EXPECT_STREQ("[vdso]", f.n.path);
	EXPECT_STREQ("verified", f.n.names);
	EXPECT_STREQ(build_id, f.n.build_id);
	EXPECT_EQ(0, f.n.inode | f.n.dev_major | f.n.dev_minor);
	EXPECT_NE(s->frame[0].id, s->frame[1].id);
}

/* More of them than a walk keeps at a time. */
#define NR_STUBS 45
static struct stub stubs[NR_STUBS];
static unsigned int next_stub;

static void call_next_stub(void)
{
	unsigned int i = next_stub++;

	stub_run(&stubs[i], i + 1 < NR_STUBS ? call_next_stub : NULL);
}

TEST_F(trace, many_ids_in_a_stack)
{
	struct trace_stack *s = &self->stack;
	unsigned int jit = 0, none = 0;
	struct trace_file f;

	for (int i = 0; i < NR_STUBS; i++) {
		ASSERT_EQ(0, stub_map(&stubs[i], 1));
		stub_jit_table(&stubs[i]);
		ASSERT_EQ(0, stub_register_jit(&stubs[i]));
	}
	ASK();
	call_next_stub();
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_LT(NR_STUBS, s->nr);
	EXPECT_STREQ("", s->stop);
	for (unsigned int i = 0; i < s->nr; i++) {
		if (!trace_find_file(&self->log, s->first, s->frame[i].id, &f))
			none++;
		else if (!strcmp(f.n.path, "[jit]"))
			jit++;
	}
	EXPECT_EQ(0, none);
	EXPECT_EQ(NR_STUBS, jit);
}

static void on_sigill(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	marker();
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

static noinline void marker_only(void)
{
	marker();
}

/* ud2; ret */
static const uint8_t ud2_ret[] = { 0x0f, 0x0b, 0xc3 };

/* Two pages for code, a registration each, whose frames have a return address alone. */
static uint8_t *map_two_registrations(struct proc_line l[2])
{
	struct code_jit_info jit = { .jit_flags = CODE_JIT_DEFAULT_RULE,
				     .cfa_off = 8, .ra_off = -8,
				     .info = CODE_FRE_BASE_SP };
	uint8_t *mem = map_pages(2, PROT_READ | PROT_WRITE | PROT_EXEC);

	for (int i = 0; mem && i < 2; i++) {
		jit.text_start = addr_of(mem) + i * PAGE;
		jit.text_end = jit.text_start + PAGE;
		if (register_jit(&jit) || !proc_line_of(jit.text_start, &l[i]))
			return NULL;
	}
	return mem;
}

/* What a signal interrupted did not call: nothing before it is meant. */
TEST_F(trace, interrupted_at_the_first_byte)
{
	const struct sigaction sa = { .sa_sigaction = on_sigill,
				      .sa_flags = SA_SIGINFO };
	struct proc_line l[2];
	uint8_t *mem = map_two_registrations(l);
	struct trace_stack *s = &self->stack;
	bool found = false;

	ASSERT_NE(NULL, mem);
	memcpy(mem + PAGE, ud2_ret, sizeof(ud2_ret));
	ASSERT_EQ(0, sigaction(SIGILL, &sa, NULL));
	ASK();
	((void (*)(void))(mem + PAGE))();
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_STREQ("", s->stop);
	for (unsigned int i = 0; i < s->nr; i++) {
		if (s->frame[i].offset != addr_of(mem) + PAGE)
			continue;
		found = true;
		EXPECT_EQ(l[1].q.id, s->frame[i].id);
		EXPECT_TRUE(s->frame[i].exact);
	}
	EXPECT_TRUE(found);
}

/* call *%rdi, up to the end of its page; ret, in the next one */
static const uint8_t call_rdi[] = { 0xff, 0xd7 };
static const uint8_t ret[] = { 0xc3 };

/* It returns to somebody else's code. */
TEST_F(trace, call_that_ends_a_registration)
{
	struct proc_line l[2];
	uint8_t *mem = map_two_registrations(l);
	uint8_t *next = mem + PAGE, *call = next - sizeof(call_rdi);
	struct trace_stack *s = &self->stack;
	bool found = false;

	ASSERT_NE(NULL, mem);
	memcpy(call, call_rdi, sizeof(call_rdi));
	memcpy(next, ret, sizeof(ret));
	ASK();
	((void (*)(void (*function)(void)))call)(marker_only);
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_STREQ("", s->stop);
	for (unsigned int i = 0; i < s->nr; i++) {
		if (s->frame[i].offset != addr_of(next))
			continue;
		found = true;
		EXPECT_EQ(l[0].q.id, s->frame[i].id);
	}
	EXPECT_TRUE(found);
}

static noinline int recurse(unsigned int depth)
{
	uint64_t ip;

	if (depth)
		return recurse(depth - 1) + 1;
	ip = marker();
	truth_capture(ip);
	return 0;
}

static void on_inner_signal(int sig)
{
	recurse(80);
}

static void on_outer_signal(int sig)
{
	raise(SIGUSR1);
}

/* What the handlers of a signal return to, as an offset in its file. */
static uint64_t restorer_offset(int sig)
{
	struct {
		void *handler;
		unsigned long flags;
		uint64_t restorer;
		uint64_t mask;
	} action = {};
	struct trace_map m;

	if (syscall(SYS_rt_sigaction, sig, NULL, &action, sizeof(action.mask)) ||
	    !trace_map_of(action.restorer, &m))
		return 0;
	return action.restorer - m.start + m.offset;
}

/* Each signal makes two, wherever they are in the records. */
TEST_F(trace, exact_frames)
{
	struct trace_stack *s = &self->stack;
	unsigned int restorers = 0;
	uint64_t restorer;

	ASSERT_NE(SIG_ERR, signal(SIGUSR1, on_inner_signal));
	ASSERT_NE(SIG_ERR, signal(SIGUSR2, on_outer_signal));
	restorer = restorer_offset(SIGUSR1);
	ASSERT_NE(0, restorer);
	ASK();
	raise(SIGUSR2);
	READ_LOG();
	ASSERT_TRUE(syscall_stack(&self->log, s));
	EXPECT_STREQ("", s->stop);
	EXPECT_EQ(2, s->records);
	for (unsigned int i = 0; i < s->nr; i++) {
		bool exact = !i || s->frame[i - 1].offset == restorer;

		if (s->frame[i].offset == restorer) {
			restorers++;
			EXPECT_LT(64, i);
			exact = true;
		}
		EXPECT_EQ(exact, s->frame[i].exact)
			TH_LOG("frame %u", i);
	}
	EXPECT_EQ(2, restorers);
}

/* Around the frames that a record has room for, and as many as there are. */
TEST_F(trace, long_stacks)
{
	const unsigned int lengths[] = { 63, 64, 65, 128, 129, 300,
					 STACK_MAX - 1 };
	unsigned int callers;

	recurse(0);
	callers = truth.nr;
	ASK();
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		recurse(lengths[i] - callers);
		ASSERT_EQ(lengths[i], truth.nr);
		READ_LOG();
		EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL,
						"sys_enter: "));
	}
}

/* write(), with the address that the innermost frame is to have. */
static noinline void write_marker(int fd, const void *text, size_t len)
{
	long nr = __NR_write;
	uint64_t ip;

	asm volatile("lea 1f(%%rip), %0\n\tsyscall\n1:"
		     : "=&r"(ip), "+a"(nr) : "D"(fd), "S"(text), "d"(len)
		     : "rcx", "r11", "memory");
	truth_capture(ip);
}

TEST_F(trace, trace_marker)
{
	const struct {
		const char *file;
		const char *begin;
		const char *text;
		size_t len;
	} markers[] = {
		{ "trace_marker", "tracing_mark_write: hello", "hello", 5 },
		{ "trace_marker_raw", "# abcd", "\xcd\xab\0\0raw", 7 },
	};
	char path[256];
	int fd;

	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	for (size_t i = 0; i < ARRAY_SIZE(markers); i++) {
		snprintf(path, sizeof(path), "%s/%s", self->t.dir,
			 markers[i].file);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		ASSERT_LE(0, fd);
		write_marker(fd, markers[i].text, markers[i].len);
		close(fd);
		READ_LOG();
		EXPECT_TRUE_STACK_OF(trace_find(&self->log, NULL,
						markers[i].begin));
	}
	EXPECT_EQ(2, trace_count(&self->log, "<user unwind>"));
}

/* They ask for the same stack at once, and each gets it. */
#define NR_INSTANCES 8
TEST_F(trace, several_instances)
{
	struct tracefs t[NR_INSTANCES], without;
	uint64_t cookie[NR_INSTANCES];
	const struct trace_entry *e;
	char name[32];

	for (int i = 0; i < NR_INSTANCES; i++) {
		snprintf(name, sizeof(name), "codectl_test_many_%d", i);
		ASSERT_EQ(0, tracefs_open(&t[i], name));
		ASSERT_EQ(0, ask_for_stacks(&t[i], i & 1));
	}
	ASSERT_EQ(0, tracefs_open(&without, "codectl_test_without"));
	ASSERT_EQ(0, ask_for_stacks(&without, true));
	ASSERT_EQ(0, tracefs_write(&without, USER_STACKS, "0"));
	leaf();
	for (int i = 0; i < NR_INSTANCES; i++) {
		ASSERT_EQ(0, trace_log_read(&self->log, &t[i]));
		e = trace_find(&self->log, NULL, "sys_enter: ");
		EXPECT_TRUE_STACK_OF(e);
		cookie[i] = cookie_of(&self->log, e);
		EXPECT_EQ(cookie[0], cookie[i]);
		EXPECT_EQ(1 + (i & 1), trace_count(&self->log,
						   "<user unwind>"));
		EXPECT_EQ(2, trace_count(&self->log, "file_map: "));
		EXPECT_EQ(0, tracefs_close(&t[i]));
	}
	ASSERT_EQ(0, trace_log_read(&self->log, &without));
	EXPECT_EQ(2, self->log.nr);
	EXPECT_EQ(0, tracefs_close(&without));
}

/* A new instance has most of the options of the first one, but not this. */
TEST_F(trace, not_inherited)
{
	struct tracefs top, t;

	tracefs_top(&top);
	EXPECT_EQ(0, tracefs_number(&self->t, USER_STACKS));
	ASSERT_EQ(0, tracefs_write(&top, USER_STACKS, "1"));
	EXPECT_EQ(0, tracefs_open(&t, "codectl_test_heir"));
	EXPECT_EQ(0, tracefs_number(&t, USER_STACKS));
	EXPECT_EQ(0, tracefs_trace_syscall(&t, MARKER_NR, 0, false));
	leaf();
	EXPECT_EQ(0, trace_log_read(&self->log, &t));
	EXPECT_EQ(0, trace_count(&self->log, "<user"));
	EXPECT_EQ(0, tracefs_close(&t));
	EXPECT_EQ(0, tracefs_write(&top, USER_STACKS, "0"));
	EXPECT_EQ(0, tracefs_number(&top, USER_STACKS));
}

TEST_HARNESS_MAIN
