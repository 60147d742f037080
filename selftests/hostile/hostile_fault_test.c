// SPDX-License-Identifier: GPL-2.0
/*
 * Tables in pages that fault, never answer, vanish or change during the walk. A walk
 * may end there; the process continues, can be killed, and keeps nobody else waiting.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "fuse_file.h"
#include "granule_map.h"
#include "unwind_common.h"

/*
 * Two pages of table, the second of which faults.  What a registration reads, if
 * anything, is in the first.
 */
FIXTURE(fault)
{
	struct sampler sampler;
	struct stack stack;
	struct stub stub;
	struct code_jit_info jit;
	uint8_t *pages;
	uint8_t contents[2 * PAGE];
};

FIXTURE_VARIANT(fault)
{
	void (*place)(FIXTURE_DATA(fault) * self);
};

static void table_at(FIXTURE_DATA(fault) * self, size_t off)
{
	self->stub.table = self->pages + off;
	self->stub.table_room = 2 * PAGE - off;
}

static void place_sframe(FIXTURE_DATA(fault) * self)
{
	table_at(self, PAGE - sizeof(struct sframe_header));
	stub_table(&self->stub);
}

static void place_rows(FIXTURE_DATA(fault) * self)
{
	table_at(self, PAGE - sizeof(jit_table));
	stub_jit_table(&self->stub);
	self->jit = stub_jit_info(&self->stub);
}

/* The first table covers one byte of the stub, the second one the rest. */
static void place_next(FIXTURE_DATA(fault) * self)
{
	const jit_row row = { 1, 0, .info = CODE_FRE_OUTERMOST };
	jit_table *first, *second = (void *)(self->pages + PAGE);
	jit_row rows[STUB_ROWS];

	table_at(self, 0);
	first = jit_table_init(self->pages, PAGE);
	jit_table_append(first, &row, 1);
	stub_jit_rows(rows, 0);
	jit_table_append(jit_table_init(second, PAGE), &rows[1], STUB_ROWS - 1);
	jit_table_link(first, second);
	self->jit = stub_jit_info(&self->stub);
}

static void place_seq(FIXTURE_DATA(fault) * self)
{
	table_at(self, 0);
	stub_jit_table(&self->stub);
	self->jit = stub_jit_info(&self->stub);
	self->jit.seq = addr_of(self->pages) + PAGE;
}

/* Slots of a page of text, with granules of this size. */
#define SHIFT		6
#define SLOTS_LEN	(PAGE >> SHIFT << 2)

static void place_record(FIXTURE_DATA(fault) * self)
{
	struct granule_map map;

	table_at(self, PAGE - SLOTS_LEN);
	map = stub_granules(&self->stub, SHIFT);
	self->jit = stub_granule_info(&self->stub, &map);
}

static void place_slots(FIXTURE_DATA(fault) * self)
{
	place_record(self);
	memcpy(self->pages, self->pages + PAGE, PAGE - SLOTS_LEN);
	memcpy(self->pages + PAGE, self->stub.table, SLOTS_LEN);
	self->jit.pool = addr_of(self->pages);
	self->jit.pool_len = PAGE - SLOTS_LEN;
	self->jit.slots = addr_of(self->pages) + PAGE;
}

FIXTURE_VARIANT_ADD(fault, sframe) { .place = place_sframe };
FIXTURE_VARIANT_ADD(fault, jit_rows) { .place = place_rows };
FIXTURE_VARIANT_ADD(fault, jit_next) { .place = place_next };
FIXTURE_VARIANT_ADD(fault, jit_seq) { .place = place_seq };
FIXTURE_VARIANT_ADD(fault, jit_record) { .place = place_record };
FIXTURE_VARIANT_ADD(fault, jit_slots) { .place = place_slots };

static int register_both_pages(FIXTURE_DATA(fault) * self)
{
	if (self->jit.text_start)
		return register_jit(&self->jit);
	return stub_register(&self->stub);
}

static void set_up(struct __test_metadata *_metadata,
		   FIXTURE_DATA(fault) * self,
		   void (*place)(FIXTURE_DATA(fault) * self))
{
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
	ASSERT_EQ(0, stub_map(&self->stub, 2));
	self->pages = self->stub.table;
	place(self);
	memcpy(self->contents, self->pages, 2 * PAGE);
}

FIXTURE_SETUP(fault)
{
	REQUIRE_CODECTL();
	set_up(_metadata, self, variant->place);
}

FIXTURE_TEARDOWN(fault)
{
	sampler_close(&self->sampler);
}

/* Replaces both pages, at their address, by two pages of a file. */
static int map_over(FIXTURE_DATA(fault) * self, int fd, int flags)
{
	void *p = mmap(self->pages, 2 * PAGE, PROT_READ, flags | MAP_FIXED, fd,
		       0);

	return p == MAP_FAILED ? -1 : 0;
}

static void expect_length(struct __test_metadata *_metadata,
			  FIXTURE_DATA(fault) * self, bool complete)
{
	sampler_drain(&self->sampler);
	stub_run(&self->stub, NULL);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_TRUE(stack_is_prefix(&self->stack, &truth)) {
		print_stack(&self->stack, &truth);
	}
	EXPECT_EQ(complete ? truth.nr : 1, self->stack.nr);
}

/* A fault does not end the registration. */
TEST_F(fault, protected_page)
{
	ASSERT_EQ(0, register_both_pages(self));
	expect_length(_metadata, self, true);
	ASSERT_EQ(0, mprotect(self->pages + PAGE, PAGE, PROT_NONE));
	expect_length(_metadata, self, false);
	ASSERT_EQ(0, mprotect(self->pages + PAGE, PAGE, PROT_READ));
	expect_length(_metadata, self, true);
}

TEST_F(fault, unmapped_page)
{
	ASSERT_EQ(0, register_both_pages(self));
	ASSERT_EQ(0, munmap(self->pages + PAGE, PAGE));
	expect_length(_metadata, self, false);
	EXPECT_EQ(0, stub_unregister(&self->stub));
}

TEST_F(fault, page_dropped_and_read_again)
{
	int fd = memfd_create("table", 0);

	ASSERT_EQ(2 * PAGE, write(fd, self->contents, 2 * PAGE));
	ASSERT_EQ(0, map_over(self, fd, MAP_PRIVATE));
	ASSERT_EQ(0, register_both_pages(self));
	for (int i = 0; i < 3; i++) {
		ASSERT_EQ(0, madvise(self->pages, 2 * PAGE, MADV_DONTNEED));
		expect_length(_metadata, self, true);
	}
}

/* What would be SIGBUS for the process ends the walk. */
TEST_F(fault, truncated_file)
{
	int fd = memfd_create("table", 0);

	ASSERT_EQ(2 * PAGE, write(fd, self->contents, 2 * PAGE));
	ASSERT_EQ(0, map_over(self, fd, MAP_SHARED));
	ASSERT_EQ(0, register_both_pages(self));
	expect_length(_metadata, self, true);
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	expect_length(_metadata, self, false);
	ASSERT_EQ(0, ftruncate(fd, 0));
	expect_length(_metadata, self, false);
	ASSERT_EQ(2 * PAGE, pwrite(fd, self->contents, 2 * PAGE, 0));
	expect_length(_metadata, self, true);
}

/*
 * A victim whose walk will wait for a page, and a thread of its own that shows that
 * others are not waiting with it.
 */
struct victim {
	FIXTURE_DATA(fault) *self;
	pid_t tid;	/* the walking thread */
	int report;	/* 'w' before the walk; 'o' for each round of others */
};

static bool forking_works(void)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(0);
	return waitpid(pid, &status, 0) == pid && !status;
}

static void *others_go_on(void *arg)
{
	struct victim *v = arg;
	uint8_t *mem = map_pages(2, PROT_READ | PROT_EXEC);
	uint64_t at = addr_of(mem);

	/* In its walk, on the way out of the call. */
	if (!waits_in(v->tid, MARKER_NR))
		_exit(7);
	for (int i = 0; i < 50; i++) {
		struct timespec ts = { .tv_nsec = 10000000 };

		if (register_elf_text(at, at + PAGE) ||
		    unregister_text(at, at + PAGE) ||
		    register_jit_text(at, at + PAGE) ||
		    unregister_text(at, at + PAGE) ||
		    munmap(map_pages(1, PROT_READ), PAGE))
			_exit(3);
		if (i % 20 == 10 && !forking_works())
			_exit(6);
		/* Even what the walk is reading from can be dropped. */
		if (i == 25 && stub_unregister(&v->self->stub))
			_exit(4);
		nanosleep(&ts, NULL);
	}
	if (write(v->report, "o", 1) != 1)
		_exit(5);
	return NULL;
}

static void victim_main(struct victim *v)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, others_go_on, v) ||
	    write(v->report, "w", 1) != 1)
		_exit(1);
	stub_run(&v->self->stub, NULL);
	/* It must not return before it is killed. */
	write(v->report, "x", 1);
	pause();
}

static char read_report(int fd, unsigned int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c = 0;

	if (poll(&p, 1, scaled_seconds(1) * ms) != 1)
		return 't';
	return read(fd, &c, 1) == 1 ? c : 'e';
}

static bool dies(pid_t pid, unsigned int seconds)
{
	double end = now() + scaled_seconds(seconds);
	struct timespec ts = { .tv_nsec = 1000000 };
	int status;

	kill(pid, SIGKILL);
	while (now() < end) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFSIGNALED(status) &&
			       WTERMSIG(status) == SIGKILL;
		nanosleep(&ts, NULL);
	}
	return false;
}

static bool registering_works(void)
{
	uint8_t *mem = map_pages(1, PROT_READ | PROT_EXEC);
	uint64_t at = addr_of(mem);

	return !register_text(at, at + PAGE, NULL, 0) &&
	       !unregister_text(at, at + PAGE) && !munmap(mem, PAGE);
}

/* @prepare makes the second page in the child one that is waited for. */
static void check_waiting_walk(struct __test_metadata *_metadata,
			       FIXTURE_DATA(fault) * self,
			       int (*prepare)(FIXTURE_DATA(fault) * self))
{
	int fds[2];
	pid_t pid;

	ASSERT_EQ(0, pipe(fds));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		struct victim v = { self, getpid(), fds[1] };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (prepare(self) || register_both_pages(self))
			_exit(2);
		victim_main(&v);
		_exit(0);
	}
	EXPECT_EQ('w', read_report(fds[0], 10000));
	EXPECT_TRUE(registering_works());
	EXPECT_EQ('o', read_report(fds[0], 20000)) {
		TH_LOG("threads beside the walk did not go on");
	}
	EXPECT_EQ('t', read_report(fds[0], 200)) {
		TH_LOG("the walk did not wait: this proves nothing");
	}
	EXPECT_TRUE(dies(pid, 10));
	EXPECT_TRUE(registering_works());
}

/* Nobody reads the events. */
static int second_page_of_userfaultfd(FIXTURE_DATA(fault) * self)
{
	uint8_t *second = self->pages + PAGE;

	if (mmap(second, PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return -1;
	return watch_page(second) < 0 ? -1 : 0;
}

TEST_F(fault, userfaultfd_that_never_answers)
{
	check_waiting_walk(_metadata, self, second_page_of_userfaultfd);
}

static struct fuse_file fuse;

/* The server answers for the first page, and never for the second. */
static int pages_of_fuse(FIXTURE_DATA(fault) * self)
{
	int fd = open(fuse.path, O_RDONLY);

	if (fd < 0 || map_over(self, fd, MAP_PRIVATE))
		return -1;
	/* It is there now, as where a process has written its tables. */
	return memcmp(self->stub.table, &self->contents[self->stub.table -
							 self->pages], 16);
}

TEST_F(fault, fuse_that_never_answers)
{
	ASSERT_EQ(0, fuse_file_serve(&fuse, self->contents, 2 * PAGE, PAGE));
	check_waiting_walk(_metadata, self, pages_of_fuse);
	fuse_file_stop(&fuse);
}

static int exit_by_stub(FIXTURE_DATA(fault) * self)
{
	if (register_both_pages(self))
		return -1;
	stub_run_exit(&self->stub);
	return -1;
}

/*
 * An exiting task takes no faults for a stack.  Its innermost frame is at @ip, and its
 * caller is in a page that is not there.
 */
static void check_exit(struct __test_metadata *_metadata,
		       FIXTURE_DATA(fault) * self,
		       int (*prepare)(FIXTURE_DATA(fault) * self),
		       int (*leave)(FIXTURE_DATA(fault) * self), uint64_t ip)
{
	double end = now() + scaled_seconds(10);
	struct sampler sampler;
	int status;
	pid_t pid;

	ASSERT_EQ(0, sampler_open_syscall_all(&sampler, __NR_exit_group));
	sampler_close(&self->sampler);
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		if (prepare(self) || leave(self))
			syscall(__NR_exit, 2);
	}
	while (waitpid(pid, &status, WNOHANG) != pid && now() < end)
		usleep(1000);
	EXPECT_GT(end, now()) {
		TH_LOG("the task waits in its exit");
		kill(pid, SIGKILL);
	}
	EXPECT_EQ(0, status);
	self->stack.nr = 0;
	while (sampler_next(&sampler, &self->stack) && self->stack.pid != pid)
		continue;
	EXPECT_EQ(1, self->stack.nr);
	EXPECT_EQ(ip, self->stack.ip[0]);
	sampler_close(&sampler);
}

static uint64_t stub_exit_ip(const FIXTURE_DATA(fault) * self)
{
	return addr_of(self->stub.text) + self->stub.marker_off;
}

TEST_F(fault, exit_beside_userfaultfd)
{
	check_exit(_metadata, self, second_page_of_userfaultfd, exit_by_stub,
		   stub_exit_ip(self));
}

TEST_F(fault, exit_beside_fuse)
{
	ASSERT_EQ(0, fuse_file_serve(&fuse, self->contents, 2 * PAGE, PAGE));
	check_exit(_metadata, self, pages_of_fuse, exit_by_stub,
		   stub_exit_ip(self));
	fuse_file_stop(&fuse);
}

/* exit_group(0) on the stack in %rdi, with a frame that %rbp leads to. */
static const uint8_t exit_code[] = {
	0x48, 0x89, 0xfc,		/* mov %rdi, %rsp */
	0x48, 0x8d, 0x6f, 0x40,		/* lea 64(%rdi), %rbp */
	0x31, 0xff,			/* xor %edi, %edi */
	0xb8, __NR_exit_group, 0, 0, 0,
	0x0f, 0x05,
};

static uint8_t *exit_text;

/* In code that nobody registered frame pointers are used. */
static int exit_by_frame_pointer(FIXTURE_DATA(fault) * self)
{
	((void (*)(void *))exit_text)(self->pages + PAGE);
	return -1;
}

TEST_F(fault, exit_with_frames_in_fuse)
{
	exit_text = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, exit_text);
	memcpy(exit_text, exit_code, sizeof(exit_code));
	ASSERT_EQ(0, fuse_file_serve(&fuse, self->contents, 2 * PAGE, PAGE));
	check_exit(_metadata, self, pages_of_fuse, exit_by_frame_pointer,
		   addr_of(exit_text) + sizeof(exit_code));
	fuse_file_stop(&fuse);
}

/* Any bytes at any time, and sometimes none. */
static volatile bool stop_changing;

static void *keep_changing(void *arg)
{
	FIXTURE_DATA(fault) *self = arg;
	uint8_t *page = self->pages + PAGE;
	unsigned int seed = 1;

	for (unsigned int i = 0; !stop_changing; i++) {
		for (int n = 0; n < 16; n++) {
			seed = seed * 1103515245 + 12345;
			page[(seed >> 8) % 64] = seed >> 16;
		}
		if (i % 8 == 1)
			memcpy(page, self->contents + PAGE, PAGE);
		if (i % 64 == 2) {
			mprotect(page, PAGE, PROT_NONE);
			mprotect(page, PAGE, PROT_READ | PROT_WRITE);
		}
		if (i % 256 == 3 || i % 256 == 131) {
			if (i & 128)
				munmap(page, PAGE);
			mmap(page, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		}
	}
	return NULL;
}

TEST_F(fault, table_that_keeps_changing)
{
	unsigned int nr = 0, complete = 0, kernel = 0;
	double end = now() + 3;
	pthread_t thread;

	ASSERT_EQ(0, register_both_pages(self));
	ASSERT_EQ(0, pthread_create(&thread, NULL, keep_changing, self));
	while (now() < end || nr <= 100) {
		stub_run(&self->stub, nr & 1 ? stub_callback : NULL);
		if (!sampler_next(&self->sampler, &self->stack))
			continue;
		nr++;
		complete += stack_is_true(&self->stack, &truth);
		kernel += has_kernel_address(&self->stack);
	}
	stop_changing = true;
	ASSERT_EQ(0, pthread_join(thread, NULL));
	TH_LOG("%u stacks, %u complete", nr, complete);
	EXPECT_LT(100, nr);
	EXPECT_EQ(0, kernel);
	memcpy(self->pages + PAGE, self->contents + PAGE, PAGE);
	expect_length(_metadata, self, true);
}

/* An SFrame section that can be read leads to what cannot. */
FIXTURE(lies)
{
	FIXTURE_DATA(fault) fault;
};

FIXTURE_SETUP(lies)
{
	REQUIRE_CODECTL();
	set_up(_metadata, &self->fault, place_sframe);
}

FIXTURE_TEARDOWN(lies)
{
	sampler_close(&self->fault.sampler);
}

/* The stack itself may be unreadable. */
TEST_F(lies, return_address_in_a_protected_page)
{
	const struct fre_spec row = {
		0, FRE_INFO(FRE_SP, 4, FRE_WORD4),
		{ FLEX_CTL(DWARF_RSP, 0, 1), STUB_FRAME,
		  FLEX_CTL(DWARF_RSP, 1, 1), -0x100000 }
	};
	struct fde_spec fde = stub_fde(&self->fault.stub);
	uint8_t *hole = (void *)(((uint64_t)__builtin_frame_address(0) -
				  0x110000) & -PAGE);

	ASSERT_EQ(hole, mmap(hole, 32 * PAGE, PROT_NONE, MAP_PRIVATE |
			     MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	fde.info2 = FDE_FLEX;
	fde.fre = &row;
	fde.nr_fres = 1;
	stub_table_of(&self->fault.stub, &fde);
	ASSERT_EQ(0, stub_register(&self->fault.stub));
	expect_length(_metadata, &self->fault, false);
}

/*
 * Above the stub's frame, where the ucontext is to be, every other word is
 * @value: rip and cs; and every other, for rsp, the same but aligned.
 */
static noinline uint64_t call_below(const struct stub *stub, uint64_t value)
{
	void (*run)(void (*)(void), uint64_t *, uint64_t, long, uint64_t) =
		(void *)stub->text;
	volatile uint64_t fill[64];
	uint64_t ra;

	for (size_t i = 0; i < ARRAY_SIZE(fill); i++)
		fill[i] = addr_of((void *)&fill[i]) % 16 ? value : value & -16;
	run(NULL, &ra, value, MARKER_NR, 0);
	return fill[0] | fill[1];
}

/* The low half of a word can serve as a code segment. */
TEST_F(lies, invented_signal_frame)
{
	const uint64_t user = 0x700000000000, cs64 = 0x33, cs32 = 0x23;
	const struct {
		uint64_t value;
		unsigned int nr;
	} frames[] = {
		{ user | cs64, 2 },	/* there is no code to continue in */
		{ user | cs32, 1 },
		{ KERNEL_ADDR | cs64, 1 },
		{ KERNEL_ADDR | cs32, 1 },
		{ KERNEL_ADDR, 1 },
		{ 0, 1 },
		{ -1UL, 1 },
	};
	struct fde_spec fde = stub_fde(&self->fault.stub);

	fde.info |= FDE_SIGNAL;
	fde.nr_fres = 0;
	stub_table_of(&self->fault.stub, &fde);
	ASSERT_EQ(0, stub_register(&self->fault.stub));
	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		uint64_t value = frames[i].value;

		ASSERT_EQ(value, call_below(&self->fault.stub, value));
		ASSERT_TRUE(sampler_next(&self->fault.sampler, &self->fault.stack));
		EXPECT_EQ(frames[i].nr, self->fault.stack.nr) {
			TH_LOG("rip and cs are %lx", value);
		}
		if (frames[i].nr == 2)
			EXPECT_EQ(value, self->fault.stack.ip[1]);
		EXPECT_FALSE(has_kernel_address(&self->fault.stack));
	}
}

TEST_HARNESS_MAIN
