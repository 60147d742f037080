// SPDX-License-Identifier: GPL-2.0
/*
 * What frame pointers can do, tables do not take away: a program whose SFrame
 * section this kernel does not decode, and a call to nowhere.  Compiled with
 * frame pointers.
 */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unwind_fixture.h"

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

/* Has a header point to a section that is none, beside the other; 0 or -1. */
static int add_section(int fd)
{
	Elf64_Phdr phdr;
	off_t at;

	if (find_header(fd, PT_GNU_STACK, &phdr, &at))
		return -1;
	phdr.p_type = PT_GNU_SFRAME;
	phdr.p_offset = 0;
	phdr.p_vaddr = 0;
	phdr.p_memsz = 64;

	return pwrite(fd, &phdr, sizeof(phdr), at) - sizeof(phdr) ? -1 : 0;
}

/* A copy of this program with another version of SFrame, or (0) two sections. */
static int copy_self(const char *name, uint8_t version)
{
	int in = open("/proc/self/exe", O_RDONLY);
	int out = open(name, O_RDWR | O_CREAT | O_TRUNC, 0700);
	struct stat st;
	int ret;

	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, st.st_size) != st.st_size)
		return -1;
	ret = version ? set_version(out, version) : add_section(out);
	close(in);
	close(out);

	return ret;
}

/* 0 if the copy found its own frames in its stack, see below. */
static int run_copy(uint8_t version)
{
	static const char name[] = "/tmp/unwind_fallback";
	int status = -1;
	pid_t pid;

	if (copy_self(name, version))
		return -1;
	pid = vfork();
	if (!pid) {
		/* ld.so would register it, and be told that it is refused. */
		putenv("GLIBC_TUNABLES=glibc.rtld.codectl=0");
		execl(name, name, "--frames", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	unlink(name);

	return status;
}

TEST(version_3)
{
	REQUIRE_CODECTL();
	EXPECT_EQ(0, run_copy(3));
}

TEST(other_versions)
{
	REQUIRE_CODECTL();
	EXPECT_EQ(0, run_copy(2));
	EXPECT_EQ(0, run_copy(1));
	EXPECT_EQ(0, run_copy(4));
}

/* Whichever counts, the program runs and its stack is right. */
TEST(two_sections)
{
	REQUIRE_CODECTL();
	EXPECT_EQ(0, run_copy(0));
}

static noinline int inner(struct stack *stack, struct sampler *sampler)
{
	NOTE_FRAME();
	marker();

	return sampler_next(sampler, stack) && stack_has_noted(stack) ? 0 : 2;
}

static noinline int outer(struct stack *stack, struct sampler *sampler)
{
	int ret;

	NOTE_FRAME();
	ret = inner(stack, sampler);

	return ret + (truth.nr_noted != 2);
}

static int frames(void)
{
	static struct sampler sampler;
	static struct stack stack;

	if (sampler_open_syscall(&sampler, MARKER_NR))
		return 3;

	return outer(&stack, &sampler);
}

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

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--frames"))
		return frames();
	return test_harness_run(argc, argv);
}
