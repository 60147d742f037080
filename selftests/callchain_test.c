// SPDX-License-Identifier: GPL-2.0
/*
 * Those who take the user's stack at once and are not perf: BPF programs at system
 * calls, in kprobes and in the interrupts of a clock, and the trace.
 */
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "attach.h"
#include "tracefs.h"
#include "unwind_common.h"

#define CALLCHAIN "kernel/codectl_callchain"
#define MARKER_EVENT "syscalls/sys_enter_getpgrp"
#define MARKER_FUNCTION "__x64_sys_getpgrp"
#define NR_FRAMES 100

FIXTURE(callchain)
{
	int stacks;		/* a map: one struct bpf_stack */
	int event;
	struct stack stack;
};

/* What the program leaves behind. */
struct bpf_stack {
	int64_t bytes;		/* or a negative errno */
	uint64_t ip[NR_FRAMES];
};

static int sys_bpf(int command, union bpf_attr *attr, size_t size)
{
	return syscall(__NR_bpf, command, attr, size);
}

FIXTURE_SETUP(callchain)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(struct bpf_stack),
		.max_entries = 1,
	};

	REQUIRE_CODECTL();
	truth_reset();
	/* Nobody waits for a page. */
	touch_tables();
	self->event = -1;
	self->stacks = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	ASSERT_LE(0, self->stacks);
	ASSERT_EQ(0, sysctl_write(CALLCHAIN, 1));
}

FIXTURE_TEARDOWN(callchain)
{
	sysctl_write(CALLCHAIN, 1);
	close(self->event);
	close(self->stacks);
}

/* ------------------------------------------------------------ the program */

#define INSN(c, d, s, o, i) \
	{ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define MOV_REG(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define CALL(f)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_##f)
#define EXIT()		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

/* bpf_get_stack(ctx, stack->ip, sizeof(stack->ip), BPF_F_USER_STACK) */
static int load_program(int type, int map)
{
	const struct bpf_insn insns[] = {
		MOV_REG(BPF_REG_6, BPF_REG_1),
		INSN(BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0),
		INSN(BPF_LD | BPF_IMM | BPF_DW, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, map),
		INSN(0, 0, 0, 0, 0),
		MOV_REG(BPF_REG_2, BPF_REG_10),
		ADD_IMM(BPF_REG_2, -4),
		CALL(map_lookup_elem),
		INSN(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_0, 0, 1, 0),
		EXIT(),
		MOV_REG(BPF_REG_7, BPF_REG_0),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		MOV_REG(BPF_REG_2, BPF_REG_7),
		ADD_IMM(BPF_REG_2, offsetof(struct bpf_stack, ip)),
		MOV_IMM(BPF_REG_3, NR_FRAMES * sizeof(uint64_t)),
		MOV_IMM(BPF_REG_4, BPF_F_USER_STACK),
		CALL(get_stack),
		INSN(BPF_STX | BPF_MEM | BPF_DW, BPF_REG_7, BPF_REG_0,
		     offsetof(struct bpf_stack, bytes), 0),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
	};
	static char log[16384];
	union bpf_attr attr = {
		.prog_type = type,
		.insns = addr_of(insns),
		.insn_cnt = ARRAY_SIZE(insns),
		.license = addr_of("GPL"),
		.log_buf = addr_of(log),
		.log_size = sizeof(log),
		.log_level = 1,
	};
	int fd = sys_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd < 0)
		printf("# %s: %s\n", strerror(errno), log);
	return fd;
}

/* Has the program run at an event of this task. */
static int run_at(FIXTURE_DATA(callchain) * self, struct perf_event_attr *attr,
		  int type)
{
	int program = load_program(type, self->stacks), ret;

	if (program < 0)
		return -1;
	attr->size = sizeof(*attr);
	self->event = syscall(__NR_perf_event_open, attr, 0, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);
	ret = self->event < 0 ? -1 :
	      ioctl(self->event, PERF_EVENT_IOC_SET_BPF, program);
	close(program);
	return ret;
}

static bool read_stack(FIXTURE_DATA(callchain) * self)
{
	static struct bpf_stack from;
	uint32_t key = 0;
	union bpf_attr attr = {
		.map_fd = self->stacks,
		.key = addr_of(&key),
		.value = addr_of(&from),
	};

	if (sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) || from.bytes <= 0) {
		printf("# no stack: %ld\n", from.bytes);
		return false;
	}
	self->stack.nr = from.bytes / sizeof(from.ip[0]);
	memcpy(self->stack.ip, from.ip, from.bytes);
	return true;
}

/* ------------------------------------------------------ at a system call */

static bool marked;

static noinline int compare(const void *a, const void *b)
{
	if (!marked) {
		marked = true;
		truth_capture(marker());
	}
	return *(const int *)a - *(const int *)b;
}

/* The C library is between the marker and who calls this. */
static noinline void sort(void)
{
	int values[] = { 5, 3, 8, 1, 9, 2, 7 };

	marked = false;
	truth_reset();
	qsort(values, ARRAY_SIZE(values), sizeof(int), compare);
	asm volatile("");
}

static void expect_whole(struct __test_metadata *_metadata,
			 FIXTURE_DATA(callchain) * self)
{
	sort();
	ASSERT_TRUE(read_stack(self));
	EXPECT_TRUE(stack_is_true(&self->stack, &truth)) {
		print_stack(&self->stack, &truth);
	}
	EXPECT_TRUE(ends_in_start(&self->stack));
	/* As it is without tables, by frame pointers that are none. */
	ASSERT_EQ(0, sysctl_write(CALLCHAIN, 0));
	sort();
	ASSERT_TRUE(read_stack(self));
	EXPECT_FALSE(ends_in_start(&self->stack));
}

TEST_F(callchain, bpf_at_a_tracepoint)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.config = tracefs_event_type(MARKER_EVENT),
	};

	ASSERT_EQ(0, run_at(self, &attr, BPF_PROG_TYPE_TRACEPOINT));
	expect_whole(_metadata, self);
}

static int kprobe_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/kprobe/type", "re");
	int type = -1;

	if (!file || fscanf(file, "%d", &type) != 1)
		type = -1;
	if (file)
		fclose(file);
	return type;
}

TEST_F(callchain, bpf_in_a_kprobe)
{
	struct perf_event_attr attr = { .config1 = addr_of(MARKER_FUNCTION) };
	int type = kprobe_type();

	ASSERT_LT(0, type);
	attr.type = type;
	ASSERT_EQ(0, run_at(self, &attr, BPF_PROG_TYPE_KPROBE));
	expect_whole(_metadata, self);
}

/* ------------------------------------------------------ in an interrupt */

static volatile bool interrupted;

/* Until a stack was taken that starts here. */
static noinline bool spin(FIXTURE_DATA(callchain) * self, uint64_t end)
{
	double deadline = now() + scaled_seconds(10);

	while (now() < deadline) {
		for (volatile int i = 0; i < 1000000; i++)
			;
		if (read_stack(self) && self->stack.ip[0] - addr_of(spin) < end)
			return true;
	}
	return false;
}

TEST_F(callchain, bpf_in_an_interrupt)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.exclude_kernel = 1,
	};

	ASSERT_EQ(0, run_at(self, &attr, BPF_PROG_TYPE_PERF_EVENT));
	truth_callers();
	ASSERT_TRUE(spin(self, 512));
	EXPECT_TRUE(same_tail(&self->stack, &truth, truth.nr));
	EXPECT_TRUE(ends_in_start(&self->stack)) {
		print_stack(&self->stack, &truth);
	}
}

/* ------------------------------------------------------------ the trace */

/* The frames of "<user stack trace>", as addresses. */
static unsigned int trace_frames(const char *text, uint64_t *ip, unsigned int max)
{
	unsigned int nr = 0;
	const char *at = strstr(text, "<user stack trace>");

	while (at && nr < max && (at = strstr(at, "\n =>  <")))
		ip[nr++] = strtoul(at += strlen("\n =>  <"), NULL, 16);
	return nr;
}

/* That option keeps eight frames. */
TEST_F(callchain, userstacktrace)
{
	uint64_t ip[8] = { 0 };
	struct tracefs t;
	unsigned int nr;
	char *text;

	ASSERT_EQ(0, tracefs_open(&t, "codectl_test_callchain"));
	ASSERT_EQ(0, tracefs_write(&t, "options/userstacktrace", "1"));
	ASSERT_EQ(0, tracefs_write(&t, "options/sym-userobj", "0"));
	ASSERT_EQ(0, tracefs_trace_syscall(&t, MARKER_NR, getpid(), false));
	sort();
	ASSERT_EQ(0, tracefs_write(&t, "tracing_on", "0"));
	text = tracefs_read(&t, "trace");
	ASSERT_NE(NULL, text);
	nr = trace_frames(text, ip, ARRAY_SIZE(ip));
	EXPECT_EQ(ARRAY_SIZE(ip), nr) {
		TH_LOG("%s", text);
	}
	for (unsigned int i = 0; i < nr; i++)
		EXPECT_EQ(truth.ip[i], ip[i]);
	free(text);
	EXPECT_EQ(0, tracefs_close(&t));
}

TEST_HARNESS_MAIN
