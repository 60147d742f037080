// SPDX-License-Identifier: GPL-2.0
/*
 * Walks in NMIs, while the data that they use changes: they wait for nothing, and use
 * nothing that has gone.  Needs a test kernel (CONFIG_CODECTL_KUNIT_TEST).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "unwind_common.h"
#include "attach.h"
#include "jit_table.h"

#define NMI_WALKS "/sys/kernel/debug/codectl/nmi_walks"

FIXTURE(nmi)
{
	int fd;
	long walks;
	long frames;
	struct stack stack;
};

/* And the last stack, if there was one: as much of it as there is room for. */
static int read_counts(int fd, long *walks, long *frames, struct stack *stack)
{
	char text[16384] = "", *at = text;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return -1;
	*walks = strtol(at, &at, 10);
	*frames = strtol(at, &at, 10);
	if (*at != '\n')
		return -1;
	stack->pid = strtol(at, &at, 10);
	for (stack->nr = 0; *at == ' ' && stack->nr < STACK_MAX; stack->nr++)
		stack->ip[stack->nr] = strtoul(at, &at, 16);
	return 0;
}

FIXTURE_SETUP(nmi)
{
	REQUIRE_CODECTL();
	self->fd = open(NMI_WALKS, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, read_counts(self->fd, &self->walks, &self->frames, &self->stack));
}

FIXTURE_TEARDOWN(nmi)
{
	close(self->fd);
}

/* Whether all of it is in the code of what is loaded, here as in the victim. */
static bool is_code(const struct stack *stack)
{
	uint64_t start, end;

	for (unsigned int i = 0; i < stack->nr; i++) {
		if (text_segment_of((void *)(stack->ip[i] - !!i), &start, &end))
			return false;
	}
	return true;
}

/*
 * Interrupts the others for a while, and then ends @victim.  Its stacks are whole but
 * for some that nobody can follow: a page of the stack that fork() has shared is not
 * there while it is copied, nor can mappings be looked up while they are changed.
 * One in @bare_in has its first frame only, and one in @cut_in some more.
 */
static void interrupt_most(struct __test_metadata *_metadata,
			   FIXTURE_DATA(nmi) * self, pid_t victim,
			   unsigned int bare_in, unsigned int cut_in)
{
	double end = now() + scaled_seconds(1);
	long walks, frames, whole = 0, bare = 0, cut = 0;
	static struct stack last_bare, last_cut;

	ASSERT_LT(0, victim);
	while (now() < end) {
		ASSERT_EQ(2, write(self->fd, "10", 2));
		ASSERT_EQ(0, read_counts(self->fd, &walks, &frames, &self->stack));
		if (self->stack.pid != victim || !self->stack.nr)
			continue;
		if (ends_in_start(&self->stack)) {
			whole++;
			continue;
		}
		if (self->stack.nr == 1) {
			bare++;
			last_bare = self->stack;
		} else {
			cut++;
			last_cut = self->stack;
		}
		ASSERT_TRUE(is_code(&self->stack)) {
			print_stack(&self->stack, &truth);
		}
	}
	kill(victim, SIGKILL);
	ASSERT_EQ(victim, waitpid(victim, NULL, 0));
	ASSERT_EQ(0, read_counts(self->fd, &walks, &frames, &self->stack));
	TH_LOG("%ld walks, %ld frames; %ld stacks are whole, %ld bare, %ld cut",
	       walks - self->walks, frames - self->frames, whole, bare, cut);
	EXPECT_LT(self->walks, walks);
	EXPECT_LT(self->frames, frames);
	EXPECT_LT(0, whole);
	EXPECT_LE(bare, 1 + whole / bare_in) {
		print_stack(&last_bare, &truth);
	}
	EXPECT_LE(cut, 1 + whole / cut_in) {
		print_stack(&last_cut, &truth);
	}
}

static void interrupt(struct __test_metadata *_metadata,
		      FIXTURE_DATA(nmi) * self, pid_t victim)
{
	interrupt_most(_metadata, self, victim, 100, 100);
}

/* A separate process that does something forever, once its tables are in memory. */
static pid_t victim_with(bool (*prepare)(void), void (*once)(void))
{
	int fds[2];
	pid_t pid;
	char c;

	if (pipe2(fds, O_CLOEXEC))
		return -1;
	pid = fork();
	if (!pid) {
		if (!prepare() || write(fds[1], "", 1) != 1)
			_exit(1);
		for (;;)
			once();
	}
	close(fds[1]);
	if (read(fds[0], &c, 1) != 1)
		pid = -1;
	close(fds[0]);
	return pid;
}

static bool touch(void)
{
	touch_tables();
	return true;
}

static pid_t victim(void (*once)(void))
{
	return victim_with(touch, once);
}

static noinline void deep(int n)
{
	if (n)
		deep(n - 1);
	asm volatile("");
}

static void call_deep(void)
{
	deep(200);
}

TEST_F(nmi, calls)
{
	interrupt(_metadata, self, victim(call_deep));
}

TEST_F(nmi, fork_and_exit)
{
	/*
	 * In _Fork(), the first push after clone() waits until the page is copied and no
	 * CPU has the old one any more, on a busy machine for one stack in 14.
	 */
	interrupt_most(_metadata, self, victim(fork_once), 10, 100);
}

static void exec_true(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
}

TEST_F(nmi, exec)
{
	interrupt(_metadata, self, victim(exec_true));
}

static void map_and_register(void)
{
	uint8_t *p = map_pages(3, PROT_READ | PROT_EXEC);

	register_elf_text(addr_of(p), addr_of(p) + PAGE);
	register_jit_text(addr_of(p) + PAGE, addr_of(p) + 2 * PAGE);
	munmap(p + PAGE, PAGE);
	munmap(p, 3 * PAGE);
}

TEST_F(nmi, munmap_and_register)
{
	interrupt(_metadata, self, victim(map_and_register));
}

static void open_and_close(void)
{
	void *object = dlopen("./attach_object.so", RTLD_NOW);

	if (object)
		dlclose(object);
}

TEST_F(nmi, dlopen_and_dlclose)
{
	interrupt(_metadata, self, victim(open_and_close));
}

static void attach_and_detach(void)
{
	struct attach_args args;
	int fd;

	if (attach_args_of(call_deep, &args))
		_exit(1);
	fd = attach_file(&args.info);
	call_deep();
	close(fd);
	close(args.info.fd);
}

TEST_F(nmi, attach_and_detach)
{
	interrupt(_metadata, self, victim(attach_and_detach));
}

static void do_all(void)
{
	call_deep();
	fork_once();
	map_and_register();
}

/* There are only attached tables, found by mappings that change all the time. */
TEST_F(nmi, attached)
{
	interrupt_most(_metadata, self, victim_with(attach_instead, do_all), 2, 2);
}

TEST_HARNESS_MAIN
