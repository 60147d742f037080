// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "bpf_stack.h"
#include "codectl_test.h"

static int sys_bpf(int command, union bpf_attr *attr, size_t size)
{
	return syscall(__NR_bpf, command, attr, size);
}

int bpf_taker_open(struct bpf_taker *taker)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY,
		.key_size = sizeof(uint32_t),
		.value_size = sizeof(struct bpf_stack),
		.max_entries = 1,
		.map_flags = BPF_F_MMAPABLE,
	};

	taker->event = -1;
	taker->map = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
	if (taker->map < 0)
		return -1;
	taker->shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     taker->map, 0);
	if (taker->shared == MAP_FAILED)
		return -1;
	taker->shared->pid = getpid();
	return 0;
}

void bpf_taker_close(struct bpf_taker *taker)
{
	munmap(taker->shared, PAGE);
	close(taker->event);
	close(taker->map);
}

#define INSN(c, d, s, o, i) \
	{ .code = (c), .dst_reg = (d), .src_reg = (s), .off = (o), .imm = (i) }
#define MOV_REG(d, s)	INSN(BPF_ALU64 | BPF_MOV | BPF_X, d, s, 0, 0)
#define MOV_IMM(d, i)	INSN(BPF_ALU64 | BPF_MOV | BPF_K, d, 0, 0, i)
#define ADD_IMM(d, i)	INSN(BPF_ALU64 | BPF_ADD | BPF_K, d, 0, 0, i)
#define RSH_IMM(d, i)	INSN(BPF_ALU64 | BPF_RSH | BPF_K, d, 0, 0, i)
#define LOAD(d, s, o)	INSN(BPF_LDX | BPF_MEM | BPF_DW, d, s, o, 0)
#define STORE(d, s, o)	INSN(BPF_STX | BPF_MEM | BPF_DW, d, s, o, 0)
#define JEQ_REG(d, s, o) INSN(BPF_JMP | BPF_JEQ | BPF_X, d, s, o, 0)
#define JNE_IMM(d, i, o) INSN(BPF_JMP | BPF_JNE | BPF_K, d, 0, o, i)
#define CALL(f)		INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_##f)
#define EXIT()		INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)

#define FIELD(name)	offsetof(struct bpf_stack, name)

/*
 * shared = map_lookup_elem(map, &zero);
 * if (get_current_pid_tgid() >> 32 == shared->pid) {
 *	shared->bytes = get_stack(ctx, shared->ip, sizeof(shared->ip), BPF_F_USER_STACK);
 *	shared->taken++;
 * }
 */
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
		JNE_IMM(BPF_REG_0, 0, 1),
		EXIT(),
		MOV_REG(BPF_REG_7, BPF_REG_0),
		CALL(get_current_pid_tgid),
		RSH_IMM(BPF_REG_0, 32),
		LOAD(BPF_REG_1, BPF_REG_7, FIELD(pid)),
		JEQ_REG(BPF_REG_0, BPF_REG_1, 2),
		MOV_IMM(BPF_REG_0, 0),
		EXIT(),
		MOV_REG(BPF_REG_1, BPF_REG_6),
		MOV_REG(BPF_REG_2, BPF_REG_7),
		ADD_IMM(BPF_REG_2, FIELD(ip)),
		MOV_IMM(BPF_REG_3, BPF_STACK_FRAMES * sizeof(uint64_t)),
		MOV_IMM(BPF_REG_4, BPF_F_USER_STACK),
		CALL(get_stack),
		STORE(BPF_REG_7, BPF_REG_0, FIELD(bytes)),
		LOAD(BPF_REG_1, BPF_REG_7, FIELD(taken)),
		ADD_IMM(BPF_REG_1, 1),
		STORE(BPF_REG_7, BPF_REG_1, FIELD(taken)),
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

int bpf_taker_run_at(struct bpf_taker *taker, struct perf_event_attr *attr,
		     int type)
{
	int program = load_program(type, taker->map), ret;

	if (program < 0)
		return -1;
	attr->size = sizeof(*attr);
	taker->event = syscall(__NR_perf_event_open, attr, 0, -1, -1,
			       PERF_FLAG_FD_CLOEXEC);
	ret = taker->event < 0 ? -1 :
	      ioctl(taker->event, PERF_EVENT_IOC_SET_BPF, program);
	close(program);
	return ret;
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

int bpf_taker_run_in(struct bpf_taker *taker, const char *function)
{
	struct perf_event_attr attr = {
		.type = kprobe_type(),
		.config1 = addr_of(function),
	};

	return bpf_taker_run_at(taker, &attr, BPF_PROG_TYPE_KPROBE);
}

bool bpf_taker_read(const struct bpf_taker *taker, struct stack *stack)
{
	const struct bpf_stack *shared = taker->shared;

	if (!shared->taken || shared->bytes <= 0) {
		printf("# no stack: %ld\n", shared->bytes);
		return false;
	}
	stack->nr = shared->bytes / sizeof(shared->ip[0]);
	memcpy(stack->ip, shared->ip, shared->bytes);
	return true;
}
