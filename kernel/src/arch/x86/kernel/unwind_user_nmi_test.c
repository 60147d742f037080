// SPDX-License-Identifier: GPL-2.0
/*
 * Walks of user stacks in NMIs, for tests: debugfs codectl/nmi_walks
 *
 * Writing a number sends that many NMIs to each other CPU, one after the other.  Each
 * walks the user stack of the task that it has interrupted, wherever that is.  Reading
 * it gives the number of walks and of frames and, on a line of its own, the process and
 * the addresses of the last walk.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kstrtox.h>
#include <linux/mutex.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/seq_file.h>
#include <linux/unwind_user.h>

#include <asm/apic.h>
#include <asm/nmi.h>
#include <asm/sections.h>
#include <asm/tlbflush.h>

/* More than the deferred unwinder takes. */
#define NMI_WALK_FRAMES	512

static struct cpumask nmi_walk_mask;
static DEFINE_MUTEX(nmi_walk_mutex);
static atomic_long_t nmi_walks, nmi_frames;

struct nmi_stack {
	pid_t		pid;
	unsigned int	nr;
	unsigned long	entries[NMI_WALK_FRAMES];
};

/* One for each CPU, as they walk at the same time, and the last one of all. */
static DEFINE_PER_CPU(struct nmi_stack, nmi_stacks);
static struct nmi_stack *nmi_last;

static bool nmi_walk_consume(void *cookie, unsigned long addr)
{
	struct nmi_stack *stack = cookie;

	stack->entries[stack->nr++] = addr;

	return stack->nr < NMI_WALK_FRAMES;
}

/* Code that saves the user's registers: they may be half of one entry's now. */
static bool nmi_in_entry(unsigned long ip)
{
	return (ip >= (unsigned long)__entry_text_start &&
		ip < (unsigned long)__entry_text_end) ||
	       (ip >= (unsigned long)__noinstr_text_start &&
		ip < (unsigned long)__noinstr_text_end);
}

static void nmi_walk(const struct pt_regs *regs)
{
	struct nmi_stack *stack = this_cpu_ptr(&nmi_stacks);

	/* As perf does: an idle task or a kernel thread has no user stack. */
	if (!current->mm || (current->flags & (PF_KTHREAD | PF_USER_WORKER)))
		return;
	if (!user_mode((struct pt_regs *)regs)) {
		if (nmi_in_entry(instruction_pointer((struct pt_regs *)regs)))
			return;
		regs = task_pt_regs(current);
	}
	stack->pid = current->tgid;
	stack->entries[0] = instruction_pointer((struct pt_regs *)regs);
	stack->nr = 1;
	if (!nmi_uaccess_okay() ||
	    !unwind_user_nofault(regs, nmi_walk_consume, stack)) {
		stack->nr = 0;
		return;
	}

	WRITE_ONCE(nmi_last, stack);
	atomic_long_inc(&nmi_walks);
	atomic_long_add(stack->nr, &nmi_frames);
}

static int nmi_walk_handler(unsigned int cmd, struct pt_regs *regs)
{
	if (!cpumask_test_cpu(raw_smp_processor_id(), &nmi_walk_mask))
		return NMI_DONE;

	nmi_walk(regs);
	cpumask_clear_cpu(raw_smp_processor_id(), &nmi_walk_mask);

	return NMI_HANDLED;
}

/* Sends to all others, and waits for them. */
static void nmi_walk_send(void)
{
	cpumask_copy(&nmi_walk_mask, cpu_online_mask);
	cpumask_clear_cpu(get_cpu(), &nmi_walk_mask);
	/* The mask before the interrupt. */
	smp_wmb();
	__apic_send_IPI_mask(&nmi_walk_mask, NMI_VECTOR);
	put_cpu();

	while (!cpumask_empty(&nmi_walk_mask))
		usleep_range(10, 20);
}

static ssize_t nmi_walks_write(struct file *file, const char __user *ubuf,
			       size_t count, loff_t *ppos)
{
	unsigned int nr;
	int ret;

	ret = kstrtouint_from_user(ubuf, count, 0, &nr);
	if (ret)
		return ret;

	guard(mutex)(&nmi_walk_mutex);
	guard(cpus_read_lock)();
	while (nr-- && !signal_pending(current))
		nmi_walk_send();

	return count;
}

static int nmi_walks_show(struct seq_file *m, void *unused)
{
	const struct nmi_stack *stack;
	unsigned int i;

	guard(mutex)(&nmi_walk_mutex);
	seq_printf(m, "%ld %ld\n", atomic_long_read(&nmi_walks),
		   atomic_long_read(&nmi_frames));
	stack = nmi_last;
	if (!stack)
		return 0;

	seq_printf(m, "%d", stack->pid);
	for (i = 0; i < stack->nr; i++)
		seq_printf(m, " %lx", stack->entries[i]);
	seq_putc(m, '\n');

	return 0;
}
DEFINE_SHOW_STORE_ATTRIBUTE(nmi_walks);

static int __init nmi_walk_init(void)
{
	int ret;

	ret = register_nmi_handler(NMI_LOCAL, nmi_walk_handler, NMI_FLAG_FIRST,
				   "codectl_nmi_walks");
	if (ret)
		return ret;
	debugfs_create_file("nmi_walks", 0600, debugfs_create_dir("codectl", NULL),
			    NULL, &nmi_walks_fops);

	return 0;
}
late_initcall(nmi_walk_init);
