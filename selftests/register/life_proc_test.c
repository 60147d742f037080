// SPDX-License-Identifier: GPL-2.0
/* Registrations and address spaces: fork, CLONE_VM, vfork, execve. */
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/wait.h>

#include "codectl_test.h"
#include "jit_table.h"
#include "kselftest_harness.h"

FIXTURE(proc)
{
	uint8_t *mem;
	uint64_t a;	/* registered before the test */
	uint64_t b;	/* not */
};

FIXTURE_VARIANT(proc)
{
	int (*reg)(uint64_t start, uint64_t end);
};

FIXTURE_VARIANT_ADD(proc, elf) { .reg = register_elf_text };
FIXTURE_VARIANT_ADD(proc, jit) { .reg = register_jit_text };

FIXTURE_SETUP(proc)
{
	REQUIRE_CODECTL();
	self->mem = map_pages(4, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->a = addr_of(self->mem);
	self->b = self->a + 2 * PAGE;
	ASSERT_EQ(0, variant->reg(self->a, self->a + PAGE));
}

FIXTURE_TEARDOWN(proc)
{
}

/* One more process, in step with this one. */
struct peer {
	pid_t pid;
	int to[2];
	int from[2];
};

static int peer_fork(struct peer *p)
{
	if (pipe(p->to) || pipe(p->from))
		return -1;
	p->pid = fork();
	return p->pid;
}

static void peer_say(int *fds, char c)
{
	if (write(fds[1], &c, 1) != 1)
		_exit(99);
}

static char peer_hear(int *fds)
{
	char c = 0;

	return read(fds[0], &c, 1) == 1 ? c : 0;
}

static int exit_status(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST_F(proc, fork_copies)
{
	struct peer p;

	if (!peer_fork(&p))
		_exit(!text_is_registered(self->a) ||
		      text_is_registered(self->b));
	ASSERT_LT(0, p.pid);
	EXPECT_EQ(0, exit_status(p.pid));
}

TEST_F(proc, child_does_not_change_the_parent)
{
	struct peer p;

	if (!peer_fork(&p)) {
		int err = unregister_text(self->a, self->a + PAGE) ||
			  register_text(self->b, self->b + PAGE, NULL, 0);

		peer_say(p.from, err ? 'e' : 'k');
		peer_hear(p.to);
		_exit(text_is_registered(self->a) ||
		      !text_is_registered(self->b));
	}
	ASSERT_LT(0, p.pid);
	ASSERT_EQ('k', peer_hear(p.from));
	EXPECT_TRUE(text_is_registered(self->a));
	EXPECT_FALSE(text_is_registered(self->b));
	EXPECT_EQ(0, unregister_text(self->a, self->a + PAGE));
	peer_say(p.to, 'g');
	EXPECT_EQ(0, exit_status(p.pid));
}

TEST_F(proc, parent_does_not_change_the_child)
{
	struct peer p;

	if (!peer_fork(&p)) {
		peer_hear(p.to);
		_exit(!text_is_registered(self->a) ||
		      text_is_registered(self->b));
	}
	ASSERT_LT(0, p.pid);
	EXPECT_EQ(0, unregister_text(self->a, self->a + PAGE));
	EXPECT_EQ(0, register_text(self->b, self->b + PAGE, NULL, 0));
	EXPECT_EQ(0, munmap(self->mem, PAGE));
	peer_say(p.to, 'g');
	EXPECT_EQ(0, exit_status(p.pid));
}

TEST_F(proc, generations_of_forks)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (pid) {
			int status = exit_status(pid);

			if (i)
				_exit(status || !text_is_registered(self->a));
			EXPECT_EQ(0, status);
			EXPECT_TRUE(text_is_registered(self->a));
			return;
		}
	}
	_exit(unregister_text(self->a, self->a + PAGE) != 0);
}

TEST_F(proc, dontfork_drops_in_the_child)
{
	struct peer p;

	ASSERT_EQ(0, variant->reg(self->b, self->b + 2 * PAGE));
	/* One page of it is enough. */
	ASSERT_EQ(0, madvise((void *)(self->b + PAGE), PAGE, MADV_DONTFORK));
	if (!peer_fork(&p))
		_exit(unregister_text(self->b, self->b + 2 * PAGE) != -ENOENT ||
		      text_is_registered(self->b) ||
		      !text_is_registered(self->a));
	ASSERT_LT(0, p.pid);
	EXPECT_EQ(0, exit_status(p.pid));
	EXPECT_TRUE(text_is_registered(self->b));
}

TEST_F(proc, dofork_keeps_in_the_child)
{
	struct peer p;

	ASSERT_EQ(0, madvise(self->mem, PAGE, MADV_DONTFORK));
	ASSERT_EQ(0, madvise(self->mem, PAGE, MADV_DOFORK));
	if (!peer_fork(&p))
		_exit(!text_is_registered(self->a));
	ASSERT_LT(0, p.pid);
	EXPECT_EQ(0, exit_status(p.pid));
}

static int change_both(void *arg)
{
	FIXTURE_DATA(proc) *self = arg;

	return unregister_text(self->a, self->a + PAGE) ||
	       register_text(self->b, self->b + PAGE, NULL, 0);
}

TEST_F(proc, clone_vm_shares)
{
	char *stack = map_pages(16, PROT_READ | PROT_WRITE);
	pid_t pid = clone(change_both, stack + 16 * PAGE, CLONE_VM | SIGCHLD,
			  self);

	ASSERT_LT(0, pid);
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_FALSE(text_is_registered(self->a));
	EXPECT_TRUE(text_is_registered(self->b));
}

TEST_F(proc, vfork_shares)
{
	pid_t pid = vfork();

	if (!pid)
		_exit(change_both(self));
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_FALSE(text_is_registered(self->a));
	EXPECT_TRUE(text_is_registered(self->b));
}

static void *change_both_thread(void *arg)
{
	return change_both(arg) ? arg : NULL;
}

TEST_F(proc, threads_share)
{
	pthread_t thread;
	void *ret;

	ASSERT_EQ(0, pthread_create(&thread, NULL, change_both_thread, self));
	ASSERT_EQ(0, pthread_join(thread, &ret));
	EXPECT_EQ(NULL, ret);
	EXPECT_FALSE(text_is_registered(self->a));
	EXPECT_TRUE(text_is_registered(self->b));
}

/* Some address of the interpreter's first executable segment. */
static uint64_t interpreter_text(void)
{
	uint64_t base = getauxval(AT_BASE);
	const ElfW(Ehdr) *eh = (void *)base;
	const ElfW(Phdr) *ph = (void *)(base + eh->e_phoff);

	for (int i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && (ph[i].p_flags & PF_X))
			return base + ph[i].p_vaddr;
	return 0;
}

/*
 * The new image: what the old one registered is gone, and the program's and
 * its interpreter's text is there, or not.  The exit status says what is wrong.
 */
static int check_image(uint64_t old, bool registered)
{
	void *at = mmap((void *)old, PAGE, PROT_READ | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
			-1, 0);

	if (at != MAP_FAILED && text_is_registered(old))
		return 2;
	if (text_is_registered(addr_of(check_image)) != registered)
		return 3;
	if (getauxval(AT_BASE) &&
	    text_is_registered(interpreter_text()) != registered)
		return 4;
	return 0;
}

static pid_t spawn_check(uint64_t old, const char *what)
{
	/* The C library does not register anything, either. */
	static const char *const env[] = {
		"GLIBC_TUNABLES=glibc.rtld.codectl=0", NULL,
	};
	char addr[32];
	pid_t pid;

	snprintf(addr, sizeof(addr), "%#lx", old);
	pid = fork();
	if (!pid) {
		execle("/proc/self/exe", "life_proc_test", what, addr, NULL,
		       env);
		_exit(98);
	}
	return pid;
}

TEST_F(proc, execve_starts_afresh_and_registers_the_program)
{
	pid_t pid = spawn_check(self->a, "--check-image");

	ASSERT_LT(0, pid);
	EXPECT_EQ(0, exit_status(pid));
	EXPECT_TRUE(text_is_registered(self->a));
}

/* A failed execve() changes nothing. */
TEST_F(proc, execve_that_fails)
{
	char *argv[] = { "none", NULL };

	EXPECT_EQ(-1, execve("/no/such/file", argv, NULL));
	EXPECT_TRUE(text_is_registered(self->a));
}

FIXTURE(off)
{
};

FIXTURE_SETUP(off)
{
	REQUIRE_CODECTL();
}

FIXTURE_TEARDOWN_PARENT(off)
{
	sysctl_write("kernel/codectl", 1);
}

TEST_F(off, execve_registers_nothing)
{
	pid_t pid;

	ASSERT_EQ(0, sysctl_write("kernel/codectl", 0));
	pid = spawn_check(PAGE, "--check-image-off");
	ASSERT_LT(0, pid);
	EXPECT_EQ(0, exit_status(pid));
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "--check-image"))
		return check_image(strtoul(argv[2], NULL, 0), true);
	if (argc > 2 && !strcmp(argv[1], "--check-image-off")) {
		if (sysctl_write("kernel/codectl", 1))
			return 1;
		return check_image(strtoul(argv[2], NULL, 0), false);
	}
	return test_harness_run(argc, argv);
}
