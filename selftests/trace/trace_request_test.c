// SPDX-License-Identifier: GPL-2.0
/* Which requests for a stack are accepted, and who gets the stack when. */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <sys/mman.h>

#include "fuse_file.h"
#include "jit_table.h"
#include "trace_fixture.h"

/* ----------------------------------------------------------- a worker of io_uring */

/* A ring whose requests a thread of the kernel submits. */
struct ring {
	int fd;
	uint8_t *rings;
	struct io_uring_sqe *sqes;
	struct io_uring_params params;
};

static int ring_open(struct ring *ring)
{
	struct io_uring_params *p = &ring->params;
	const int prot = PROT_READ | PROT_WRITE;

	*p = (struct io_uring_params) {
		.flags = IORING_SETUP_SQPOLL,
		.sq_thread_idle = 60000,
	};
	ring->fd = syscall(__NR_io_uring_setup, 4, p);
	if (ring->fd < 0 || !(p->features & IORING_FEAT_SINGLE_MMAP))
		return -1;
	ring->rings = mmap(NULL, PAGE, prot, MAP_SHARED, ring->fd,
			   IORING_OFF_SQ_RING);
	ring->sqes = mmap(NULL, PAGE, prot, MAP_SHARED, ring->fd,
			  IORING_OFF_SQES);
	return ring->rings == MAP_FAILED || ring->sqes == MAP_FAILED ? -1 : 0;
}

/* Does nothing, and waits until the thread has done so, too. */
static bool ring_nop(struct __test_metadata *_metadata, const struct ring *ring)
{
	const struct io_sqring_offsets *sq = &ring->params.sq_off;
	uint32_t *tail = (uint32_t *)(ring->rings + sq->tail);
	uint32_t *flags = (uint32_t *)(ring->rings + sq->flags);
	uint32_t *array = (uint32_t *)(ring->rings + sq->array);
	uint32_t *done = (uint32_t *)(ring->rings +
				      ring->params.cq_off.tail);
	uint32_t nr = *tail;

	ring->sqes[0] = (struct io_uring_sqe) { .opcode = IORING_OP_NOP };
	array[nr % ring->params.sq_entries] = 0;
	__atomic_store_n(tail, nr + 1, __ATOMIC_RELEASE);
	for (int i = 0; i < 10000; i++) {
		if (__atomic_load_n(done, __ATOMIC_ACQUIRE) == nr + 1)
			return true;
		if (__atomic_load_n(flags, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)
			syscall(__NR_io_uring_enter, ring->fd, 0, 0,
				IORING_ENTER_SQ_WAKEUP, NULL, 0);
		usleep(1000);
	}
	TH_LOG("flags %#x, %u of %u done", *flags, *done, nr + 1);
	return false;
}

/*
 * The thread has the address space of the process and a copy of the registers
 * with which that made the ring: it never was where they are.
 */
TEST_F(trace, not_of_a_worker_of_io_uring)
{
	const struct trace_entry *e = NULL;
	struct ring ring;
	unsigned int nr = 0;

	ASSERT_EQ(0, tracefs_enable(&self->t, "io_uring/io_uring_submit_req"));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	ASSERT_EQ(0, ring_open(&ring));
	ASSERT_TRUE(ring_nop(_metadata, &ring));
	ASSERT_TRUE(ring_nop(_metadata, &ring));
	close(ring.fd);
	READ_LOG();
	while ((e = trace_find(&self->log, e, "io_uring_submit_req: "))) {
		EXPECT_NE(getpid(), e->pid);
		EXPECT_EQ(0, cookie_of(&self->log, e));
		nr++;
	}
	EXPECT_EQ(2, nr);
	EXPECT_EQ(0, trace_count(&self->log, "<user stack unwind>"));
}

/* --------------------------------------------------- requests that change meanwhile */

/* The table of its code is in a file that never answers. */
static void be_walked(const struct trace_peer *p, const struct fuse_file *file)
{
	struct code_jit_info info;
	struct stub stub;
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	void *silent = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	if (silent == MAP_FAILED || stub_map(&stub, 1))
		_exit(1);
	info = stub_jit_info(&stub);
	info.unwind_head = addr_of(silent);
	if (register_jit(&info) || !peer_hear(p->to))
		_exit(2);
	stub_run(&stub, NULL);
	_exit(0);
}

/*
 * While a walk waits, the instance that requested it no longer wants it, and the next
 * one to request stacks gets the same bit.
 */
TEST_F(trace, not_for_who_comes_later)
{
	static const uint8_t contents[PAGE];
	struct fuse_file file;
	struct trace_peer p;
	struct tracefs first;

	ASSERT_EQ(0, fuse_file_serve(&file, contents, PAGE, 0));
	if (!peer_fork(&p))
		be_walked(&p, &file);
	ASSERT_LT(0, p.pid);
	ASSERT_EQ(0, tracefs_open(&first, "codectl_test_first"));
	ASSERT_EQ(0, tracefs_trace_syscall(&first, MARKER_NR, p.pid, false));
	ASSERT_EQ(0, tracefs_write(&first, USER_STACKS, "1"));
	peer_say(p.to);
	ASSERT_TRUE(wait_until_blocked(&p.pid));
	ASSERT_EQ(0, tracefs_write(&first, USER_STACKS, "0"));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	EXPECT_TRUE(wait_until_blocked(&p.pid));
	fuse_file_stop(&file);
	EXPECT_EQ(0, exit_status(p.pid));
	READ_LOG();
	EXPECT_EQ(0, trace_count(&self->log, "<user stack unwind>"));
	ASSERT_EQ(0, trace_log_read(&self->log, &first));
	EXPECT_EQ(1, trace_count(&self->log, "<user unwind>"));
	EXPECT_EQ(0, tracefs_close(&first));
}

/* ----------------------------------------------------- an event after the last work */

/* Takes the FPU from the waiting task, once that waits. */
static void answer(const struct trace_peer *p)
{
	volatile double x = 1;

	while (peer_hear(p->to)) {
		usleep(50000);
		x *= 3;
		peer_say(p->from);
	}
	_exit(0);
}

/* What read() of a byte returns; where it returns to is stored at @ip. */
static __always_inline long read_byte(int fd, uint64_t *ip)
{
	long ret = __NR_read;
	char c;

	asm volatile("lea 1f(%%rip), %0\n\tsyscall\n1:"
		     : "=&r"(*ip), "+a"(ret) : "D"(fd), "S"(&c), "d"(1)
		     : "rcx", "r11", "memory");
	return ret;
}

static noinline long wait_for_answer(int fd)
{
	uint64_t ip;
	long ret = read_byte(fd, &ip);

	truth_capture(ip);
	return ret;
}

/* Whether that event is of this process, and has the stack that is the truth. */
static bool has_true_stack(FIXTURE_DATA(trace) * self,
			   const struct trace_entry *e)
{
	return e->pid == getpid() &&
	       trace_stack(&self->log, cookie_of(&self->log, e),
			   &self->stack) &&
	       trace_stack_is_true(&self->log, &self->stack, &truth);
}

/*
 * Registers of the FPU are restored after the last look for work before the return
 * to user space.  The stack is that of this return, not of the next one.
 */
TEST_F(trace, event_with_interrupts_off)
{
	const struct trace_entry *e = NULL;
	struct trace_peer p;
	bool found = false;

	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, tracefs_enable(&self->t, "x86_fpu/x86_fpu_regs_activated"));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	if (!peer_fork(&p))
		answer(&p);
	ASSERT_LT(0, p.pid);
	peer_say(p.to);
	EXPECT_EQ(1, wait_for_answer(p.from[0]));
	READ_LOG();
	while (!found && (e = trace_find(&self->log, e,
					 "x86_fpu_regs_activated: ")))
		found = has_true_stack(self, e);
	EXPECT_TRUE(found);
	kill(p.pid, SIGKILL);
	exit_status(p.pid);
}

TEST_HARNESS_MAIN
