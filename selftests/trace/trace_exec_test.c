// SPDX-License-Identifier: GPL-2.0
/* Stacks before, in and after execve. No stack is one of another program. */
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
#include "trace_task_fixture.h"

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

TEST_HARNESS_MAIN
