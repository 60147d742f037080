/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM codectl

#if !defined(_TRACE_CODECTL_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_CODECTL_H

#include <linux/audit.h>
#include <linux/sched/task_stack.h>
#include <linux/tracepoint.h>
#include <linux/unwind_user_types.h>
#include <asm/syscall.h>

struct codectl_attachment;
struct codectl_names;
struct codectl_region;

#ifndef _TRACE_CODECTL_ENUMS
#define _TRACE_CODECTL_ENUMS

enum codectl_unregister_reason {
	CODECTL_UNREGISTER_CALL,
	CODECTL_UNREGISTER_UNMAPPED,
	CODECTL_UNREGISTER_EXEC,
	CODECTL_UNREGISTER_EXIT,
	CODECTL_UNREGISTER_REPLACED,
};

enum codectl_detach_reason {
	CODECTL_DETACH_CLOSED,
	CODECTL_DETACH_WRITTEN,
};

#endif

#define show_codectl_kind(kind)				\
	__print_symbolic(kind, { 1, "elf" }, { 2, "jit" })

#define show_codectl_names(names)			\
	__print_symbolic(names,				\
		{ 0, "none" },				\
		{ 1, "verified" },			\
		{ 2, "claimed" })

#define show_codectl_reason(reason)			\
	__print_symbolic(reason,			\
		{ 0, "call" },				\
		{ 1, "unmapped" },			\
		{ 2, "exec" },				\
		{ 3, "exit" },				\
		{ 4, "replaced" })

TRACE_EVENT(code_register,

	TP_PROTO(pid_t pid, const struct codectl_region *region,
		 const struct codectl_names *names),

	TP_ARGS(pid, region, names),

	TP_STRUCT__entry(
		__field(u64,	id)
		__field(u64,	text_start)
		__field(u64,	text_end)
		__field(u64,	elf_start)
		__field(u64,	elf_end)
		__field(u64,	table)
		__field(u64,	table_end)
		__field(u64,	file_id)
		__field(u64,	inode)
		__field(pid_t,	pid)
		__field(u32,	kind)
		__field(u32,	jit_flags)
		__field(u32,	dev_major)
		__field(u32,	dev_minor)
		__field(u32,	names)
		__dynamic_array(u8, build_id, names->build_id_len)
		__string(path,	names->path)
	),

	TP_fast_assign(
		bool is_jit = region->tables.is_jit;

		__entry->id = region->gen;
		__entry->text_start = region->text_start;
		__entry->text_end = region->text_end;
		__entry->elf_start = region->elf_start;
		__entry->elf_end = region->elf_end;
		__entry->table = is_jit ? region->tables.jit.head ?:
					  region->tables.jit.slots :
					  region->tables.sframe.start;
		__entry->table_end = is_jit ? 0 : region->tables.sframe.end;
		__entry->file_id = names->id;
		__entry->inode = names->ino;
		__entry->pid = pid;
		__entry->kind = is_jit ? CODE_REGISTER_JIT : CODE_REGISTER_ELF;
		__entry->jit_flags = is_jit ? region->tables.jit.flags : 0;
		__entry->dev_major = MAJOR(names->dev);
		__entry->dev_minor = MINOR(names->dev);
		__entry->names = names->names;
		memcpy(__get_dynamic_array(build_id), names->build_id,
		       names->build_id_len);
		__assign_str(path);
	),

	TP_printk("pid=%d kind=%s text=0x%llx-0x%llx elf=0x%llx-0x%llx table=0x%llx-0x%llx flags=0x%x id=0x%llx file=0x%llx dev=%02x:%02x inode=%llu names=%s build_id=%s path=%s",
		  __entry->pid, show_codectl_kind(__entry->kind),
		  __entry->text_start, __entry->text_end,
		  __entry->elf_start, __entry->elf_end,
		  __entry->table, __entry->table_end, __entry->jit_flags,
		  __entry->id, __entry->file_id,
		  __entry->dev_major, __entry->dev_minor, __entry->inode,
		  show_codectl_names(__entry->names),
		  __print_hex_str(__get_dynamic_array(build_id),
				  __get_dynamic_array_len(build_id)),
		  __get_str(path))
);

TRACE_EVENT(code_unregister,

	TP_PROTO(pid_t pid, const struct codectl_region *region,
		 unsigned int reason),

	TP_ARGS(pid, region, reason),

	TP_STRUCT__entry(
		__field(u64,	id)
		__field(u64,	text_start)
		__field(u64,	text_end)
		__field(pid_t,	pid)
		__field(u32,	reason)
	),

	TP_fast_assign(
		__entry->id = region->gen;
		__entry->text_start = region->text_start;
		__entry->text_end = region->text_end;
		__entry->pid = pid;
		__entry->reason = reason;
	),

	TP_printk("pid=%d text=0x%llx-0x%llx id=0x%llx reason=%s",
		  __entry->pid, __entry->text_start, __entry->text_end,
		  __entry->id, show_codectl_reason(__entry->reason))
);

TRACE_EVENT(code_attach,

	TP_PROTO(const struct codectl_attachment *attachment),

	TP_ARGS(attachment),

	TP_STRUCT__entry(
		__field(u64,	id)
		__field(u64,	inode)
		__field(u64,	bytes)
		__field(u32,	dev_major)
		__field(u32,	dev_minor)
	),

	TP_fast_assign(
		const struct inode *inode = attachment->inode;

		__entry->id = attachment->id;
		__entry->inode = inode->i_ino;
		__entry->bytes = attachment->table->bytes;
		__entry->dev_major = MAJOR(inode->i_sb->s_dev);
		__entry->dev_minor = MINOR(inode->i_sb->s_dev);
	),

	TP_printk("id=0x%llx dev=%02x:%02x inode=%llu bytes=%llu",
		  __entry->id, __entry->dev_major, __entry->dev_minor,
		  __entry->inode, __entry->bytes)
);

TRACE_EVENT(code_detach,

	TP_PROTO(const struct codectl_attachment *attachment,
		 unsigned int reason),

	TP_ARGS(attachment, reason),

	TP_STRUCT__entry(
		__field(u64,	id)
		__field(u32,	reason)
	),

	TP_fast_assign(
		__entry->id = attachment->id;
		__entry->reason = reason;
	),

	TP_printk("id=0x%llx reason=%s", __entry->id,
		  __print_symbolic(__entry->reason,
				   { 0, "closed" },
				   { 1, "written" }))
);

TRACE_EVENT(unwind_stop,

	TP_PROTO(unsigned long ip, unsigned long sp, unsigned int nr,
		 unsigned int reason),

	TP_ARGS(ip, sp, nr, reason),

	TP_STRUCT__entry(
		__field(u64,	ip)
		__field(u64,	sp)
		__field(u32,	nr)
		__field(u32,	reason)
	),

	TP_fast_assign(
		__entry->ip = ip;
		__entry->sp = sp;
		__entry->nr = nr;
		__entry->reason = reason;
	),

	TP_printk("ip=0x%llx sp=0x%llx frames=%u reason=%s",
		  __entry->ip, __entry->sp, __entry->nr,
		  __print_symbolic(__entry->reason, UNWIND_USER_STOP_NAMES))
);

/* @task is blocked, or runs now: nothing changes its registers. */
DECLARE_EVENT_CLASS(codectl_wait,

	TP_PROTO(struct task_struct *task, u64 ns, char state),

	TP_ARGS(task, ns, state),

	TP_STRUCT__entry(
		__field(u64,	ns)
		__field(s64,	nr)
		__field(u64,	arg0)
		__field(u64,	arg1)
		__field(pid_t,	pid)
		__field(char,	state)
		__field(u8,	compat)
	),

	TP_fast_assign(
		struct pt_regs *regs = task_pt_regs(task);
		unsigned long args[6];

		syscall_get_arguments(task, regs, args);
		__entry->ns = ns;
		__entry->nr = syscall_get_nr(task, regs);
		__entry->arg0 = args[0];
		__entry->arg1 = args[1];
		__entry->pid = task->pid;
		__entry->state = state;
		__entry->compat = !(syscall_get_arch(task) & __AUDIT_ARCH_64BIT);
	),

	TP_printk("pid=%d ns=%llu state=%c nr=%lld args=0x%llx,0x%llx compat=%u",
		  __entry->pid, __entry->ns, __entry->state, __entry->nr,
		  __entry->arg0, __entry->arg1, __entry->compat)
);

/* @task has waited, and runs. */
DEFINE_EVENT(codectl_wait, task_waited,

	TP_PROTO(struct task_struct *task, u64 ns, char state),

	TP_ARGS(task, ns, state)
);

/* The current task wakes @task. */
DEFINE_EVENT(codectl_wait, task_wakes,

	TP_PROTO(struct task_struct *task, u64 ns, char state),

	TP_ARGS(task, ns, state)
);

#endif /* _TRACE_CODECTL_H */

#include <trace/define_trace.h>
