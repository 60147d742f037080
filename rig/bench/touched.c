// SPDX-License-Identifier: GPL-2.0
/*
 * A plugin of QEMU that reports what the kernel touches in each walk of a stack:
 *
 *	-plugin touched.so,enter=ADDR,leave=START-END,out=FILE
 *
 * From the instruction at ADDR to the first one in START..END it counts instructions, windows of
 * user access, and 64-byte lines of user memory, kernel data and code.  For each walk it writes a
 * line to FILE, and for each of its instructions a line to FILE.insns: number of the walk,
 * address, count.  Such a range need not be a walk, and may run in user space as well; data that
 * it touches there do not count.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The used part of qemu-plugin.h, which is not in QEMU's packages. */
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { CB_NO_REGS };
enum { MEM_RW = 3 };

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
					   void (*cb)(qemu_plugin_id_t id,
						      struct qemu_plugin_tb *tb));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t idx);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
					    void (*cb)(unsigned int vcpu,
						       void *data),
					    int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int vcpu,
						 qemu_plugin_meminfo_t info,
						 uint64_t vaddr, void *data),
				      int flags, int rw, void *data);

#define EXPORT __attribute__((visibility("default")))

/* The version of this QEMU's interface. */
EXPORT int qemu_plugin_version = PLUGIN_VERSION;

#define KERNEL_TEXT	0xffffffff80000000
#define LINE_BITS	6

enum { USER, DATA, CODE, KINDS };

static struct {
	uint64_t insns;
	uint64_t windows;
	uint64_t lines[KINDS];
} walk;

static uint64_t enter, leave_start, leave_end;
static bool walking;
static FILE *out, *insns;

/* The lines that this walk has touched. */
#define SEEN_BITS 20
static struct {
	uint64_t line;
	uint32_t walk;
} seen[1 << SEEN_BITS];
static uint32_t walk_nr;

static void touch(int kind, uint64_t addr)
{
	uint64_t line = addr >> LINE_BITS;
	uint32_t i = line * 0x9e3779b97f4a7c15 >> (64 - SEEN_BITS);

	for (; seen[i].walk == walk_nr; i = (i + 1) & ((1 << SEEN_BITS) - 1))
		if (seen[i].line == line)
			return;
	seen[i].line = line;
	seen[i].walk = walk_nr;
	walk.lines[kind]++;
}

/* How often each instruction was executed in this walk. */
static struct executed {
	uint64_t addr;
	uint64_t times;
	uint32_t walk;
} executed[1 << SEEN_BITS];
static struct executed *executed_in_turn[1 << SEEN_BITS];
static unsigned int nr_executed;

static void execute(uint64_t addr)
{
	uint32_t i = addr * 0x9e3779b97f4a7c15 >> (64 - SEEN_BITS);

	for (; executed[i].walk == walk_nr; i = (i + 1) & ((1 << SEEN_BITS) - 1)) {
		if (executed[i].addr == addr) {
			executed[i].times++;
			return;
		}
	}
	executed[i] = (struct executed) { addr, 1, walk_nr };
	executed_in_turn[nr_executed++] = &executed[i];
}

static void on_enter(unsigned int vcpu, void *data)
{
	walking = true;
	walk_nr++;
	nr_executed = 0;
	memset(&walk, 0, sizeof(walk));
}

static void on_leave(unsigned int vcpu, void *data)
{
	if (!walking)
		return;
	walking = false;
	fprintf(out, "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%"
		PRIu64 "\n", walk.insns, walk.windows, walk.lines[USER],
		walk.lines[DATA], walk.lines[CODE]);
	fflush(out);
	for (unsigned int i = 0; i < nr_executed; i++)
		fprintf(insns, "%" PRIu32 "\t%" PRIx64 "\t%" PRIu64 "\n", walk_nr,
			executed_in_turn[i]->addr, executed_in_turn[i]->times);
	fflush(insns);
}

static void on_insn(unsigned int vcpu, void *addr)
{
	if (!walking)
		return;
	walk.insns++;
	execute((uint64_t)addr);
	touch(CODE, (uint64_t)addr);
}

static void on_window(unsigned int vcpu, void *data)
{
	walk.windows += walking;
}

static void on_access(unsigned int vcpu, qemu_plugin_meminfo_t info,
		      uint64_t vaddr, void *data)
{
	if (walking)
		touch(vaddr >> 63 ? DATA : USER, vaddr);
}

/* stac opens a window. */
static bool opens_window(const struct qemu_plugin_insn *insn)
{
	char *text = qemu_plugin_insn_disas(insn);
	bool is = text && strstr(text, "stac");

	free(text);
	return is;
}

static void instrument(struct qemu_plugin_insn *insn)
{
	uint64_t addr = qemu_plugin_insn_vaddr(insn);

	if (addr == enter)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_enter,
						       CB_NO_REGS, NULL);
	if (addr >= leave_start && addr < leave_end)
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_leave,
						       CB_NO_REGS, NULL);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_insn, CB_NO_REGS,
					       (void *)addr);
	if (addr < KERNEL_TEXT)
		return;
	qemu_plugin_register_vcpu_mem_cb(insn, on_access, CB_NO_REGS, MEM_RW,
					 NULL);
	if (opens_window(insn))
		qemu_plugin_register_vcpu_insn_exec_cb(insn, on_window,
						       CB_NO_REGS, NULL);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t nr = qemu_plugin_tb_n_insns(tb);

	for (size_t i = 0; i < nr; i++)
		instrument(qemu_plugin_tb_get_insn(tb, i));
}

static bool open_files(const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.insns", name);
	out = fopen(name, "w");
	insns = fopen(path, "w");
	return out && insns;
}

EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
			       int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		if (sscanf(argv[i], "enter=%" SCNx64, &enter) == 1 ||
		    sscanf(argv[i], "leave=%" SCNx64 "-%" SCNx64, &leave_start,
			   &leave_end) == 2)
			continue;
		if (strncmp(argv[i], "out=", 4) || !open_files(argv[i] + 4))
			return -1;
	}
	if (!enter || !leave_end || !out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
	return 0;
}
