// SPDX-License-Identifier: GPL-2.0
/*
 * What frame pointers can do, tables do not take away: a program whose SFrame
 * section this kernel does not decode, and a call to nowhere.  Compiled with
 * frame pointers.
 */
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "unwind_fixture.h"
#include "jit_table.h"
#include "proc_file.h"

#ifndef PT_GNU_SFRAME
#define PT_GNU_SFRAME 0x6474e554
#endif

/* The program header of that type of @file, and where it is; 0 or -1. */
static int find_header(int fd, uint32_t type, Elf64_Phdr *phdr, off_t *at)
{
	Elf64_Ehdr ehdr;

	if (pread(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr))
		return -1;
	for (unsigned int i = 0; i < ehdr.e_phnum; i++) {
		*at = ehdr.e_phoff + i * sizeof(*phdr);
		if (pread(fd, phdr, sizeof(*phdr), *at) != sizeof(*phdr))
			return -1;
		if (phdr->p_type == type)
			return 0;
	}

	return -1;
}

/* Sets the version in the header of the SFrame section of @file; 0 or -1. */
static int set_version(int fd, uint8_t version)
{
	Elf64_Phdr phdr;
	off_t at;

	if (find_header(fd, PT_GNU_SFRAME, &phdr, &at))
		return -1;

	return pwrite(fd, &version, 1, phdr.p_offset + 2) - 1;
}

/*
 * Has another header point to a section that is none, before or after that of the
 * section; 0 or -1.
 */
static int add_section(int fd, bool first)
{
	Elf64_Phdr right, wrong;
	off_t at[2], low, high;

	if (find_header(fd, PT_GNU_SFRAME, &right, &at[0]) ||
	    find_header(fd, PT_GNU_STACK, &wrong, &at[1]))
		return -1;
	wrong.p_type = PT_GNU_SFRAME;
	wrong.p_offset = 0;
	wrong.p_vaddr = 0;
	wrong.p_memsz = 64;
	low = at[0] < at[1] ? at[0] : at[1];
	high = at[0] + at[1] - low;

	return pwrite(fd, &wrong, sizeof(wrong), first ? low : high) != sizeof(wrong) ||
	       pwrite(fd, &right, sizeof(right), first ? high : low) != sizeof(right) ?
	       -1 : 0;
}

/* Adds a segment of code without a byte; 0 or -1. */
static int add_empty_text(int fd)
{
	Elf64_Phdr phdr;
	off_t at;

	if (find_header(fd, PT_GNU_STACK, &phdr, &at))
		return -1;
	phdr = (Elf64_Phdr) {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = PAGE,
	};

	return pwrite(fd, &phdr, sizeof(phdr), at) - sizeof(phdr) ? -1 : 0;
}

/* Copies of this program: with a version of SFrame, or with something else. */
enum { WRONG_SECTION_FIRST = 100, WRONG_SECTION_LAST, EMPTY_TEXT };

static int copy_self(const char *name, int kind)
{
	int in = open("/proc/self/exe", O_RDONLY);
	int out = open(name, O_RDWR | O_CREAT | O_TRUNC, 0700);
	struct stat st;
	int ret;

	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, st.st_size) != st.st_size)
		return -1;
	if (kind < WRONG_SECTION_FIRST)
		ret = set_version(out, kind);
	else if (kind == EMPTY_TEXT)
		ret = add_empty_text(out);
	else
		ret = add_section(out, kind == WRONG_SECTION_FIRST);
	close(in);
	close(out);

	return ret;
}

/* What a copy says of its own frames: were they in its stack? */
enum { FOUND, NOT_FOUND = 2, NO_STACK, NOT_REGISTERED };

#define COPY "/tmp/unwind_fallback"

static int run(const char *path, char *const argv[])
{
	int status = -1;
	pid_t pid = vfork();

	if (!pid) {
		execv(path, argv);
		_exit(1);
	}
	waitpid(pid, &status, 0);

	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Frames that have frame pointers, or others. */
static int run_copy(int kind, char *frames)
{
	char *const argv[] = { COPY, frames, NULL };
	int ret = copy_self(COPY, kind) ? -1 : run(COPY, argv);

	unlink(COPY);

	return ret;
}

/* The path of the dynamic linker of this program; 0 or -1. */
static int find_linker(char *path, size_t size)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	Elf64_Phdr phdr;
	off_t at;
	int ret = -1;

	if (!find_header(fd, PT_INTERP, &phdr, &at) && phdr.p_filesz <= size)
		ret = pread(fd, path, phdr.p_filesz, phdr.p_offset) -
		      (ssize_t)phdr.p_filesz;
	close(fd);

	return ret;
}

/* Mapped and registered by the dynamic linker. */
static int run_loaded_copy(int kind, char *frames)
{
	char linker[128];
	char *const argv[] = { linker, COPY, frames, "--registered", NULL };
	int ret = -1;

	if (!find_linker(linker, sizeof(linker)) && !copy_self(COPY, kind))
		ret = run(linker, argv);
	unlink(COPY);

	return ret;
}

TEST(version_3)
{
	REQUIRE_CODECTL();
	EXPECT_EQ(FOUND, run_copy(3, "--frames"));
	EXPECT_EQ(FOUND, run_copy(3, "--plain"));
}

TEST(other_versions)
{
	REQUIRE_CODECTL();
	EXPECT_EQ(FOUND, run_copy(2, "--frames"));
	EXPECT_EQ(FOUND, run_copy(1, "--frames"));
	EXPECT_EQ(FOUND, run_copy(4, "--frames"));
	EXPECT_EQ(NOT_FOUND, run_copy(2, "--plain"));
}

/* The dynamic linker does not look into what it registers. */
TEST(other_versions_that_are_registered)
{
	REQUIRE_CODECTL();
	EXPECT_EQ(FOUND, run_loaded_copy(3, "--frames"));
	EXPECT_EQ(FOUND, run_loaded_copy(3, "--plain"));
	EXPECT_EQ(FOUND, run_loaded_copy(2, "--frames"));
	EXPECT_EQ(FOUND, run_loaded_copy(4, "--frames"));
	EXPECT_EQ(NOT_FOUND, run_loaded_copy(2, "--plain"));
}

/* The first counts. */
TEST(two_sections)
{
	REQUIRE_CODECTL();
	EXPECT_EQ(FOUND, run_copy(WRONG_SECTION_LAST, "--plain"));
	EXPECT_EQ(NOT_FOUND, run_copy(WRONG_SECTION_FIRST, "--plain"));
	EXPECT_EQ(FOUND, run_copy(WRONG_SECTION_FIRST, "--frames"));
}

TEST(text_without_a_byte)
{
	REQUIRE_CODECTL();
	EXPECT_EQ(FOUND, run_copy(EMPTY_TEXT, "--plain"));
}

static struct sampler frames_sampler;

static int check_frames(void)
{
	static struct stack stack;

	if (!sampler_next(&frames_sampler, &stack))
		return NO_STACK;

	return stack_has_noted(&stack) ? FOUND : NOT_FOUND;
}

static noinline void inner(void)
{
	NOTE_FRAME();
	marker();
	asm volatile("");
}

static noinline void outer(void)
{
	NOTE_FRAME();
	inner();
	asm volatile("");
}

/* Only a table describes their frames. */
#define PLAIN __attribute__((__optimize__("omit-frame-pointer")))

PLAIN static noinline void plain_inner(void)
{
	NOTE_FRAME();
	marker();
	asm volatile("");
}

PLAIN static noinline void plain_outer(void)
{
	NOTE_FRAME();
	plain_inner();
	asm volatile("");
}

static int frames(void (*call)(void))
{
	if (sampler_open_syscall(&frames_sampler, MARKER_NR))
		return NO_STACK;
	call();

	return truth.nr_noted == 2 ? check_frames() : NO_STACK;
}

/* ------------------------------------------------------------------ 32-bit code */

/* void run_in_32_bits(uint32_t code, void *stack): both below 4 GiB */
asm(
"	.pushsection .text\n"
"run_in_32_bits:\n"
"	push	%rbp\n"
"	push	%rbx\n"
"	mov	%rsp, %rax\n"
"	mov	%rsi, %rsp\n"
"	push	%rax\n"
"	sub	$4, %rsp\n"
"	lea	32(%rdi), %eax\n"
"	mov	%eax, (%rsp)\n"
"	xor	%ebp, %ebp\n"
"	movl	%edi, -16(%rsp)\n"
"	movw	$0x23, -12(%rsp)\n"
"	ljmp	*-16(%rsp)\n"
"	.popsection\n"
);

void run_in_32_bits(uint64_t code, void *stack);

static const uint8_t code_of_32_bits[] = {
	/* A function with a frame pointer: getpgrp(), whose number is 65 */
	0x55, 0x89, 0xe5, 0xb8, 65, 0x00, 0x00, 0x00, 0xcd, 0x80, 0x5d, 0xc3,
	/* What it returns to: ljmp $0x33, $here + 16 */
	[32] = 0xea, 0, 0, 0, 0, 0x33, 0x00,
	/* pop %rsp; pop %rbx; pop %rbp; ret */
	[48] = 0x5c, 0x5b, 0x5d, 0xc3,
};

/* It has no tables, whatever a 64-bit process has registered. */
TEST_F(unwind, code_of_32_bits)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT;
	uint8_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
	uint8_t *stack = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
	uint32_t target = addr_of(code) + 48;
	long nr = 20;	/* getpid() there */

	asm volatile("int $0x80" : "+a"(nr) : : "r8", "r9", "r10", "r11", "memory");
	if ((int)nr != getpid())
		SKIP(return, "no CONFIG_IA32_EMULATION");
	ASSERT_NE(MAP_FAILED, code);
	ASSERT_NE(MAP_FAILED, stack);
	memcpy(code, code_of_32_bits, sizeof(code_of_32_bits));
	memcpy(code + 33, &target, sizeof(target));
	ASSERT_EQ(0, mprotect(code, PAGE, PROT_READ | PROT_EXEC));
	/* Outermost: a walk that went by this would end at once. */
	ASSERT_EQ(0, register_jit(&(struct code_jit_info) {
		.text_start = addr_of(code), .text_end = addr_of(code) + PAGE,
		.jit_flags = CODE_JIT_DEFAULT_RULE, .info = CODE_FRE_OUTERMOST }));
	sampler_close(&self->sampler);
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, 65));
	run_in_32_bits(addr_of(code), stack + 16 * PAGE);
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	ASSERT_EQ(2, self->stack.nr);
	EXPECT_EQ(addr_of(code) + 10, self->stack.ip[0]);
	EXPECT_EQ(addr_of(code) + 32, self->stack.ip[1]);
}

/* --------------------------------------------------------------------- nowhere */

static sigjmp_buf back;

static void handle_segv(int sig)
{
	marker();
	siglongjmp(back, 1);
}

static noinline void call_nowhere(void)
{
	void (*volatile nowhere)(void) = NULL;

	NOTE_FRAME();
	nowhere();
	asm volatile("");
}

/*
 * The frame of address 0 is one without a frame pointer of its own: its caller,
 * call_nowhere(), is lost, and that one's caller is found.
 */
TEST_F(unwind, call_to_nowhere)
{
	struct sigaction sa = { .sa_handler = handle_segv, .sa_flags = SA_NODEFER };

	ASSERT_EQ(0, sigaction(SIGSEGV, &sa, NULL));
	if (!sigsetjmp(back, 1))
		call_nowhere();
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_TRUE(stack_has_noted(&self->stack)) {
		print_stack(&self->stack, &truth);
	}
	signal(SIGSEGV, SIG_DFL);
}

/* ------------------------------------------------------ the text of the callers */

/*
 * Two functions that have a frame pointer and call their first argument; the frame of
 * the other one is larger than what the kernel saves for a signal.
 */
static const uint8_t callers[2][16] = {
	{ 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 },
	{ 0x55, 0x48, 0x89, 0xe5, 0x48, 0x81, 0xec, 0, 0x40, 0, 0, 0xff, 0xd7,
	  0xc9, 0xc3 },
};

static uint8_t *callers_text;
static bool text_was_mapped;

static noinline void walk_without_text(void)
{
	NOTE_FRAME();
	text_was_mapped |= madvise(callers_text, PAGE, MADV_DONTNEED) ||
			   page_is_mapped(callers_text);
	marker();
	text_was_mapped |= page_is_mapped(callers_text);
	asm volatile("");
}

static int which_caller;

static noinline void call_caller(void)
{
	void (*caller)(void (*)(void)) = (void *)callers[which_caller] -
					 (void *)callers + (void *)callers_text;

	NOTE_FRAME();
	caller(walk_without_text);
	asm volatile("");
}

static int map_callers(void)
{
	int fd = memfd_create("callers", 0);

	if (fd < 0 || ftruncate(fd, PAGE) ||
	    pwrite(fd, callers, sizeof(callers), 0) != sizeof(callers))
		return -1;
	callers_text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	close(fd);

	return callers_text == MAP_FAILED ? -1 : 0;
}

/* Unregistered: what it returns to is known without looking at it. */
TEST_F(unwind, text_of_callers_is_not_read)
{
	ASSERT_EQ(0, map_callers());
	for (which_caller = 0; which_caller < 2; which_caller++) {
		truth_reset();
		call_caller();
		ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
		EXPECT_TRUE(stack_has_noted(&self->stack))
			print_stack(&self->stack, &truth);
	}
	EXPECT_FALSE(text_was_mapped);
}

/* ------------------------------------- processes in which nothing is registered */

/* Frame pointers lead out of all code but the kernel's own, which is known. */
static void walk_unregistered(struct __test_metadata *_metadata,
			      FIXTURE_DATA(unwind) * self, long nr,
			      void (*code)(void))
{
	sampler_close(&self->sampler);
	ASSERT_EQ(0, proc_unregister_all());
	ASSERT_FALSE(text_is_registered(addr_of(walk_unregistered)));
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, nr));
	code();
	ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
	EXPECT_TRUE(stack_has_noted(&self->stack)) {
		print_stack(&self->stack, &truth);
	}
}

/* marker() with the frame pointer leading to @frame. */
static noinline void mark_with_frame(const uint64_t *frame)
{
	long nr = MARKER_NR;

	asm volatile("mov %%rbp, %%r12\n\tmov %1, %%rbp\n\tsyscall\n\t"
		     "mov %%r12, %%rbp"
		     : "+a"(nr) : "r"(frame) : "rcx", "r11", "r12", "memory");
}

static void return_to_kernel(void)
{
	const uint64_t addresses[] = {
		0xffffffff81000000UL, 0xffff888000001000UL, USER_END,
	};
	volatile uint64_t frame[2] = { 0 };

	for (unsigned int i = 0; i < 3; i++) {
		frame[1] = addresses[i];
		mark_with_frame((const uint64_t *)frame);
	}
}

/* Any word may come for a return address; at once it is as without codectl(2). */
TEST_F(unwind, unregistered_that_returns_to_the_kernel)
{
	walk_unregistered(_metadata, self, MARKER_NR, return_to_kernel);
	for (unsigned int i = 0; i < 3; i++) {
		if (i)
			ASSERT_TRUE(sampler_next(&self->sampler, &self->stack));
		if (sampler_at_once)
			continue;
		EXPECT_EQ(1, self->stack.nr);
		EXPECT_FALSE(has_kernel_address(&self->stack));
	}
}

static int (*vdso_clock_gettime)(clockid_t id, struct timespec *ts);

static noinline void call_vdso(void)
{
	struct timespec ts;

	NOTE_FRAME();
	vdso_clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	asm volatile("");
}

TEST_F(unwind, unregistered_text_of_callers_is_not_read)
{
	ASSERT_EQ(0, map_callers());
	for (which_caller = 0; which_caller < 2; which_caller++) {
		truth_reset();
		walk_unregistered(_metadata, self, MARKER_NR, call_caller);
	}
	EXPECT_FALSE(text_was_mapped);
}

TEST_F(unwind, unregistered_in_the_vdso)
{
	uint64_t base = getauxval(AT_SYSINFO_EHDR);
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);

	ASSERT_NE(NULL, vdso);
	vdso_clock_gettime = dlsym(vdso, "__vdso_clock_gettime");
	ASSERT_NE(NULL, vdso_clock_gettime);
	walk_unregistered(_metadata, self, __NR_clock_gettime, call_vdso);
	ASSERT_LE(3, self->stack.nr);
	EXPECT_GT(4 * PAGE, self->stack.ip[0] - base);
	EXPECT_GT(PAGE, self->stack.ip[1] - addr_of(call_vdso));
	EXPECT_EQ(truth.noted[0], self->stack.ip[2]);
}

static uint64_t in_handler, interrupted;

static noinline void handle_usr1(int sig)
{
	NOTE_FRAME();
	in_handler = marker();
	asm volatile("");
}

static noinline void kill_self(void)
{
	long nr = __NR_kill;

	NOTE_FRAME();
	asm volatile("lea 1f(%%rip), %0\n\tsyscall\n1:"
		     : "=&r"(interrupted), "+a"(nr) : "D"(getpid()), "S"(SIGUSR1)
		     : "rcx", "r11", "memory");
}

TEST_F(unwind, unregistered_below_a_handler)
{
	const struct sigaction sa = { .sa_handler = handle_usr1 };

	/* At once it is as without codectl(2): what was interrupted is passed over. */
	int at = sampler_at_once ? 2 : 3;

	ASSERT_EQ(0, sigaction(SIGUSR1, &sa, NULL));
	walk_unregistered(_metadata, self, MARKER_NR, kill_self);
	ASSERT_LE(4, self->stack.nr);
	EXPECT_EQ(in_handler, self->stack.ip[0]);
	EXPECT_EQ(trampoline_address(SIGUSR1), self->stack.ip[1]);
	if (!sampler_at_once)
		EXPECT_EQ(interrupted, self->stack.ip[2]);
	EXPECT_EQ(truth.noted[0], self->stack.ip[at]);
}

/* With its section, which is shown whether or not it can be read. */
static bool is_registered(void)
{
	struct proc_line l;
	uint64_t start, end;

	return !text_segment_of(is_registered, &start, &end) &&
	       proc_line_of(start, &l) &&
	       l.q.text_end == end && l.q.sframe_start < l.q.sframe_end;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[2], "--registered") && !is_registered())
		return NOT_REGISTERED;
	if (argc > 1 && !strcmp(argv[1], "--frames"))
		return frames(outer);
	if (argc > 1 && !strcmp(argv[1], "--plain"))
		return frames(plain_outer);
	return test_harness_run(argc, argv);
}
