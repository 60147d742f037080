// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks of tasks that come and go: execve, exit, fork, threads. No stack is
 * one of another program, or of another task.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "fuse_file.h"
#include "stub.h"
#include "trace_fixture.h"

#define STEP_ENV "TRACE_TEST_STEP"

/* The program that a test executes: one marker, and exit. */
static __attribute__((constructor)) void step_in_new_program(void)
{
	if (!getenv(STEP_ENV))
		return;
	marker();
	_exit(0);
}

static noinline void exec_self(void)
{
	char *const argv[] = { "trace_exec_test", NULL };
	char *const envp[] = { STEP_ENV "=1", NULL };

	execve("/proc/self/exe", argv, envp);
	_exit(97);
}

/* All tasks, their system calls @nr, and the events of execve() itself. */
static int ask_of_all(const struct tracefs *t, const char *filter)
{
	return tracefs_write(t, "events/raw_syscalls/sys_enter/filter",
			     filter) ?:
	       tracefs_write(t, "events/raw_syscalls/sys_exit/filter",
			     filter) ?:
	       tracefs_write(t, USER_STACKS, "1");
}

#define FILTER "id == 59 || id == 111 || id == 231 || id == 60"

static int trace_programs(const struct tracefs *t)
{
	return ask_of_all(t, FILTER) ?:
	       tracefs_enable(t, "raw_syscalls/sys_enter") ?:
	       tracefs_enable(t, "raw_syscalls/sys_exit") ?:
	       tracefs_enable(t, "sched/sched_process_exec");
}

/* The first one of the task that starts like this. */
static const struct trace_entry *event_of(const struct trace_log *log, int pid,
					  const char *prefix)
{
	const struct trace_entry *e = NULL;

	do
		e = trace_find(log, e, prefix);
	while (e && e->pid != pid);
	return e;
}

/* Whether the stack has a frame of this offset in the test program. */
static bool has_own_offset(const struct trace_log *log,
			   const struct trace_stack *s, uint64_t offset)
{
	struct trace_file f;

	for (unsigned int i = 0; i < s->nr; i++)
		if (s->frame[i].offset == offset &&
		    trace_find_file(log, s->first, s->frame[i].id, &f) &&
		    strstr(f.n.path, "trace_exec_test"))
			return true;
	return false;
}

/* The offset in the file of an address in this program. */
static uint64_t offset_of(uint64_t addr)
{
	struct trace_map m;

	return trace_map_of(addr, &m) ? addr - m.start + m.offset : 0;
}

static uint64_t *exec_from;	/* shared: where exec_here() returns to */

static noinline void exec_here(void)
{
	*exec_from = (uint64_t)__builtin_return_address(0);
	exec_self();
	asm volatile("");
}

/* Before: the old program's; after: one of the new, with a cookie of its own. */
static void check_exec(struct __test_metadata *_metadata,
		       FIXTURE_DATA(trace) * self, int old_tid, int pid)
{
	const struct trace_entry *enter, *exec, *exit, *marker;
	uint64_t old, new;

	READ_LOG();
	enter = event_of(&self->log, old_tid, "sys_enter: NR 59 ");
	exec = event_of(&self->log, pid, "sched_process_exec: ");
	exit = event_of(&self->log, pid, "sys_exit: NR 59 ");
	marker = event_of(&self->log, pid, "sys_enter: NR 111 ");
	ASSERT_NE(NULL, enter);
	ASSERT_NE(NULL, exec);
	ASSERT_NE(NULL, exit);
	ASSERT_NE(NULL, marker);
	old = cookie_of(&self->log, enter);
	new = cookie_of(&self->log, exec);
	EXPECT_NE(0, old);
	EXPECT_NE(0, new);
	EXPECT_NE(old, new);
	EXPECT_EQ(new, cookie_of(&self->log, exit));
	EXPECT_NE(new, cookie_of(&self->log, marker));

	ASSERT_TRUE(trace_stack(&self->log, old, &self->stack));
	EXPECT_TRUE(has_own_offset(&self->log, &self->stack,
				   offset_of(*exec_from)));
	EXPECT_TRUE(self->stack.first < exec);
	EXPECT_EQ(1, self->stack.records);

	/* At its very first instruction, in the dynamic linker. */
	ASSERT_TRUE(trace_stack(&self->log, new, &self->stack));
	EXPECT_EQ(1, self->stack.nr);
	EXPECT_EQ(1, self->stack.records);
	EXPECT_TRUE(self->stack.first > exit);
}

#define SHARED_WORD() do {						\
	exec_from = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,		\
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);		\
	ASSERT_NE(MAP_FAILED, exec_from);				\
} while (0)

TEST_F(trace, exec)
{
	pid_t pid;

	SHARED_WORD();
	ASSERT_EQ(0, trace_programs(&self->t));
	pid = fork();
	if (!pid)
		exec_here();
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, exit_status(pid));
	check_exec(_metadata, self, pid, pid);
}

static void *spin(void *)
{
	for (;;)
		marker();
	return NULL;
}

TEST_F(trace, exec_of_a_process_with_threads)
{
	pthread_t thread;
	pid_t pid;

	SHARED_WORD();
	ASSERT_EQ(0, trace_programs(&self->t));
	/* However long the threads spin. */
	ASSERT_EQ(0, tracefs_write_number(&self->t, "buffer_size_kb", 16384));
	ASSERT_EQ(0, tracefs_write(&self->t, "events/raw_syscalls/sys_enter/filter",
				   "id == 59 || id == 111 && common_pid == 1"));
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 3; i++)
			pthread_create(&thread, NULL, spin, NULL);
		usleep(10000);
		exec_here();
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, exit_status(pid));
	READ_LOG();
	EXPECT_EQ(1, trace_count(&self->log, "sched_process_exec: "));
	ASSERT_NE(NULL, event_of(&self->log, pid, "sys_enter: NR 59 "));
	ASSERT_TRUE(trace_stack(&self->log,
				cookie_of(&self->log,
					  event_of(&self->log, pid,
						   "sys_enter: NR 59 ")),
				&self->stack));
	EXPECT_TRUE(has_own_offset(&self->log, &self->stack,
				   offset_of(*exec_from)));
}

/* A page of the table that is there when the monitor says so. */
static struct {
	struct stub stub;
	uint8_t table[PAGE];
	int uffd;
	struct trace_peer peer;
} waits;

static int hide_table(void)
{
	memcpy(waits.table, waits.stub.table, PAGE);
	if (madvise(waits.stub.table, PAGE, MADV_DONTNEED))
		return -1;
	waits.uffd = watch_page(waits.stub.table);
	return waits.uffd < 0 ? -1 : 0;
}

/* Does what takes the locks of execve(), while the walk waits for this thread. */
static void *serve_table(void *)
{
	struct uffdio_copy copy = {
		.dst = addr_of(waits.stub.table), .src = addr_of(waits.table),
		.len = PAGE,
	};
	struct uffd_msg msg;
	long pid;

	if (read(waits.uffd, &msg, sizeof(msg)) != sizeof(msg))
		_exit(2);
	pid = syscall(__NR_clone, CLONE_FS | SIGCHLD, 0, NULL, NULL, 0);
	if (!pid)
		_exit(0);
	if (pid < 0)
		_exit(3);
	peer_say(waits.peer.from);
	if (!peer_hear(waits.peer.to) || ioctl(waits.uffd, UFFDIO_COPY, &copy))
		_exit(4);
	for (;;)
		pause();
}

/* Nobody has to wait for a walk of a program that execve() is about to replace. */
TEST_F(trace, exec_that_waits_for_a_table)
{
	const struct trace_entry *enter;
	pthread_t thread;
	pid_t tracer;

	SHARED_WORD();
	ASSERT_EQ(0, stub_map(&waits.stub, 1));
	stub_table(&waits.stub);
	ASSERT_EQ(0, stub_register(&waits.stub));
	ASSERT_EQ(0, trace_programs(&self->t));
	ASSERT_LE(0, peer_fork(&waits.peer));
	if (!waits.peer.pid) {
		if (hide_table() ||
		    pthread_create(&thread, NULL, serve_table, NULL))
			_exit(1);
		stub_run(&waits.stub, exec_here);
		_exit(96);
	}
	close(waits.peer.from[1]);
	ASSERT_TRUE(peer_hear(waits.peer.from)) {
		TH_LOG("exit status %d", exit_status(waits.peer.pid));
	}
	/* Not this process, which waits for an exit and not for stops. */
	tracer = fork();
	if (!tracer) {
		alarm(scaled_seconds(5));
		_exit(ptrace(PTRACE_SEIZE, waits.peer.pid, NULL, NULL) != 0);
	}
	ASSERT_LT(0, tracer);
	EXPECT_EQ(0, exit_status(tracer));
	peer_say(waits.peer.to);
	EXPECT_EQ(0, exit_status(waits.peer.pid));
	READ_LOG();
	enter = event_of(&self->log, waits.peer.pid, "sys_enter: NR 59 ");
	ASSERT_NE(NULL, enter);
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, enter),
				&self->stack));
	EXPECT_STREQ("", self->stack.stop);
	stub_unmap(&waits.stub);
}

static bool exits_in_time(pid_t pid)
{
	siginfo_t info = { 0 };

	for (unsigned int i = 0; i < 100 * scaled_seconds(5); i++) {
		if (!waitid(P_PID, pid, &info, WEXITED | WNOWAIT | WNOHANG) &&
		    info.si_pid == pid)
			return true;
		usleep(10000);
	}
	return false;
}

/* Inside execve() a table that is not there yet is not waited for, either. */
static int read_tables(struct dl_phdr_info *info, size_t, void *)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = (info->dlpi_addr + p->p_vaddr) & -PAGE;

		if (p->p_type == PT_GNU_SFRAME &&
		    madvise((void *)start, info->dlpi_addr + p->p_vaddr +
			    p->p_memsz - start, MADV_POPULATE_READ))
			return 1;
	}
	return 0;
}

/* Returns, as far as its stack tells, into text of the file. */
static void exec_from_file(const struct stub *stub, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (text == MAP_FAILED || dl_iterate_phdr(read_tables, NULL))
		_exit(95);
	stub_plant = addr_of(text) + 1;
	stub_run(stub, exec_here);
	_exit(96);
}

/*
 * Where the first stack is asked for with the locks of execve() held, the build-id of
 * a file that never answers is left out.
 */
TEST_F(trace, exec_that_waits_for_no_file)
{
	const struct fre_spec row = { 0, FRE_INFO(FRE_SP, 1, FRE_WORD1), { 8 } };
	static const uint8_t contents[2 * PAGE];
	const struct trace_entry *prepare;
	struct trace_file named;
	struct fuse_file file;
	struct fde_spec fde;
	struct stub stub;
	pid_t pid;

	SHARED_WORD();
	ASSERT_EQ(0, fuse_file_serve(&file, contents, sizeof(contents), 0));
	ASSERT_EQ(0, stub_map(&stub, 1));
	fde = stub_fde(&stub);
	fde.fre = &row;
	fde.nr_fres = 1;
	stub_table_of(&stub, &fde);
	ASSERT_EQ(0, stub_register(&stub));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	ASSERT_EQ(0, tracefs_enable(&self->t, "sched/sched_prepare_exec"));
	pid = fork();
	if (!pid)
		exec_from_file(&stub, file.path);
	ASSERT_LT(0, pid);
	EXPECT_TRUE(exits_in_time(pid));
	fuse_file_stop(&file);
	EXPECT_EQ(0, exit_status(pid));
	READ_LOG();
	prepare = event_of(&self->log, pid, "sched_prepare_exec: ");
	ASSERT_NE(NULL, prepare);
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, prepare),
				&self->stack));
	ASSERT_LT(1, self->stack.nr);
	ASSERT_TRUE(trace_find_file(&self->log, self->stack.first,
				    self->stack.frame[self->stack.nr - 1].id,
				    &named));
	EXPECT_STREQ(file.path, named.n.path);
	stub_unmap(&stub);
}

static void *exec_in_thread(void *tid)
{
	*(int *)tid = gettid();
	exec_here();
	return NULL;
}

/* It takes over the id of the first thread. */
TEST_F(trace, exec_by_another_thread)
{
	pthread_t thread;
	pid_t pid;
	int *tid;

	SHARED_WORD();
	tid = (int *)(exec_from + 1);
	ASSERT_EQ(0, trace_programs(&self->t));
	pid = fork();
	if (!pid) {
		pthread_create(&thread, NULL, exec_in_thread, tid);
		for (;;)
			pause();
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(0, exit_status(pid));
	EXPECT_NE(pid, *tid);
	check_exec(_metadata, self, *tid, pid);
}

/* A failed one changes nothing: one stack for all of it. */
TEST_F(trace, exec_that_fails)
{
	char *const argv[] = { "none", NULL };
	const struct trace_entry *enter, *exit;

	ASSERT_EQ(0, trace_programs(&self->t));
	ASSERT_EQ(-1, execve("/nonexistent", argv, NULL));
	READ_LOG();
	enter = event_of(&self->log, getpid(), "sys_enter: NR 59 ");
	exit = event_of(&self->log, getpid(), "sys_exit: NR 59 ");
	ASSERT_NE(NULL, enter);
	ASSERT_NE(NULL, exit);
	EXPECT_EQ(cookie_of(&self->log, enter), cookie_of(&self->log, exit));
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, enter),
				&self->stack));
	EXPECT_EQ(1, self->stack.records);
	EXPECT_STREQ("", self->stack.stop);
	EXPECT_TRUE(self->stack.first > exit);
}

/* A program whose only segment is where none can be. */
static int open_bad_program(void)
{
	struct {
		Elf64_Ehdr ehdr;
		Elf64_Phdr phdr;
	} elf = {
		.ehdr = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
				     ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_EXEC,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(elf.ehdr),
			.e_ehsize = sizeof(elf.ehdr),
			.e_phentsize = sizeof(elf.phdr),
			.e_phnum = 1,
		},
		.phdr = {
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = 1UL << 63,
			.p_filesz = sizeof(elf),
			.p_memsz = sizeof(elf),
			.p_align = PAGE,
		},
	};
	int fd = memfd_create("bad", 0);

	if (fd < 0 || write(fd, &elf, sizeof(elf)) != sizeof(elf) ||
	    fchmod(fd, 0700))
		return -1;
	return fd;
}

/*
 * One that fails when the old program is gone: the signal that kills the task
 * finds its registers with the address space of the new one.
 */
TEST_F(trace, exec_that_kills)
{
	const uint64_t text = addr_of(map_pages(1, PROT_READ | PROT_EXEC));
	const struct trace_entry *enter, *generated;
	struct trace_unregister u;
	int fd, status;
	pid_t pid;

	fd = open_bad_program();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, register_elf_text(text, text + PAGE));
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_unregister"));
	ASSERT_EQ(0, ask_of_all(&self->t, "id == 322"));
	ASSERT_EQ(0, tracefs_enable(&self->t, "raw_syscalls/sys_enter"));
	ASSERT_EQ(0, tracefs_enable(&self->t, "signal/signal_generate"));
	pid = fork();
	if (!pid) {
		syscall(__NR_execveat, fd, "", NULL, NULL, AT_EMPTY_PATH);
		_exit(1);
	}
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFSIGNALED(status));
	EXPECT_EQ(SIGSEGV, WTERMSIG(status));
	READ_LOG();
	enter = event_of(&self->log, pid, "sys_enter: NR 322 ");
	generated = event_of(&self->log, pid, "signal_generate: sig=11 ");
	ASSERT_NE(NULL, enter);
	ASSERT_NE(NULL, generated);
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, enter),
				&self->stack));
	EXPECT_TRUE(self->stack.first < generated);
	EXPECT_EQ(0, cookie_of(&self->log, generated));
	/* What the old program had registered is gone, which is reported. */
	ASSERT_NE(NULL, trace_find_unregister(&self->log, pid, text, &u));
	EXPECT_STREQ("exec", u.reason);
}

static noinline void exit_here(long nr, uint64_t *from)
{
	*from = (uint64_t)__builtin_return_address(0);
	/* What the walk needs is in memory, so it has to wait for nothing. */
	marker();
	asm volatile("syscall" : "+a"(nr) : "D"(0) : "rcx", "r11", "memory");
}

/* The stack comes, although the task never returns. */
TEST_F(trace, exit)
{
	const long nr[] = { __NR_exit_group, __NR_exit };
	char prefix[32];
	pid_t pid;

	SHARED_WORD();
	ASSERT_EQ(0, trace_programs(&self->t));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		pid = fork();
		if (!pid)
			exit_here(nr[i], exec_from);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, exit_status(pid));
		READ_LOG();
		snprintf(prefix, sizeof(prefix), "sys_enter: NR %ld ", nr[i]);
		ASSERT_NE(NULL, event_of(&self->log, pid, prefix));
		ASSERT_TRUE(trace_stack(&self->log,
					cookie_of(&self->log,
						  event_of(&self->log, pid,
							   prefix)),
					&self->stack));
		EXPECT_EQ(pid, self->stack.pid);
		EXPECT_STREQ("", self->stack.stop);
		EXPECT_TRUE(has_own_offset(&self->log, &self->stack,
					   offset_of(*exec_from)));
	}
}

/* Killed in a system call that had an event. */
TEST_F(trace, killed)
{
	const struct trace_entry *e;
	int status;
	pid_t pid;

	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, __NR_pause, 0, false));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	pid = fork();
	if (!pid) {
		syscall(__NR_pause);
		_exit(1);
	}
	ASSERT_LT(0, pid);
	do {
		usleep(10000);
		READ_LOG();
		e = event_of(&self->log, pid, "sys_enter: ");
	} while (!e);
	EXPECT_FALSE(trace_stack(&self->log, cookie_of(&self->log, e),
				 &self->stack));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	READ_LOG();
	e = event_of(&self->log, pid, "sys_enter: ");
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, e),
				&self->stack));
	EXPECT_EQ(pid, self->stack.pid);
	EXPECT_LT(0, self->stack.nr);
}

/* fork() or vfork() with a child that exits at once, on the same stack. */
static noinline pid_t fork_and_exit(long nr)
{
	asm volatile("syscall\n\t"
		     "test %%eax, %%eax\n\t"
		     "jnz 1f\n\t"
		     "mov $231, %%eax\n\t"
		     "xor %%edi, %%edi\n\t"
		     "syscall\n"
		     "1:" : "+a"(nr) : : "rdi", "rcx", "r11", "memory");
	return nr;
}

/* A child begins with nothing of its parent's. */
TEST_F(trace, fork)
{
	uint64_t parent, child;
	pid_t pid;

	ASSERT_EQ(0, ask_of_all(&self->t, "id == 57 || id == 58"));
	ASSERT_EQ(0, tracefs_enable(&self->t, "raw_syscalls/sys_enter"));
	ASSERT_EQ(0, tracefs_enable(&self->t, "raw_syscalls/sys_exit"));
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, tracefs_clear(&self->t));
		pid = fork_and_exit(i ? __NR_vfork : __NR_fork);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, exit_status(pid));
		READ_LOG();
		parent = cookie_of(&self->log, event_of(&self->log, getpid(),
							"sys_exit: "));
		child = cookie_of(&self->log, event_of(&self->log, pid,
						       "sys_exit: "));
		EXPECT_NE(0, parent);
		EXPECT_NE(0, child);
		EXPECT_NE(parent, child);
		ASSERT_TRUE(trace_stack(&self->log, child, &self->stack));
		EXPECT_EQ(pid, self->stack.pid);
		ASSERT_TRUE(trace_stack(&self->log, parent, &self->stack));
		EXPECT_EQ(getpid(), self->stack.pid);
		EXPECT_EQ(1, self->stack.records);
	}
}

#define NR_THREADS 4
#define NR_ROUNDS 200

static void *mark(void *)
{
	for (int i = 0; i < NR_ROUNDS; i++)
		marker();
	return NULL;
}

/* Each event of each thread has a cookie that no other task has. */
TEST_F(trace, threads)
{
	const struct trace_entry *e = NULL;
	pthread_t thread[NR_THREADS];
	unsigned int nr = 0;
	uint64_t cookie;

	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, MARKER_NR, 0, false));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	for (int i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, mark, NULL));
	for (int i = 0; i < NR_THREADS; i++)
		ASSERT_EQ(0, pthread_join(thread[i], NULL));
	READ_LOG();
	while ((e = trace_find(&self->log, e, "sys_enter: "))) {
		cookie = cookie_of(&self->log, e);
		ASSERT_NE(0, cookie);
		ASSERT_TRUE(trace_stack(&self->log, cookie, &self->stack));
		ASSERT_EQ(e->pid, self->stack.pid);
		ASSERT_EQ(1, self->stack.records);
		nr++;
	}
	EXPECT_EQ(NR_THREADS * NR_ROUNDS, nr);
}

TEST_HARNESS_MAIN
