// SPDX-License-Identifier: GPL-2.0
/*
 * How long tasks were blocked, told by themselves as they run again
 *
 * Whoever asks for user stacks of waits wants the long ones. From the events of the
 * scheduler he would have to take the stack of each switch, before it is known how long
 * the wait becomes.
 */
#include <linux/codectl.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/time64.h>

#include <trace/events/codectl.h>
#include <trace/events/sched.h>

#include "events.h"

u64 codectl_wait_min_us;

/* local_clock() when the event was enabled: what a task says of before is out of date. */
static u64 codectl_waits_start;

/* Runs as @prev, with the lock of its run queue. */
static void codectl_note_leave(void *data, bool preempt, struct task_struct *prev,
			       struct task_struct *next, unsigned int prev_state)
{
	struct unwind_task_info *info = &prev->unwind_info;

	info->left = local_clock();
	info->left_state = preempt ? TASK_RUNNING : prev_state;
}

static bool codectl_has_user_stack(const struct task_struct *task)
{
	return task->mm && !(task->flags & (PF_KTHREAD | PF_USER_WORKER));
}

/* Was @current blocked, and in which state? '?': it left its CPU before the start. */
static char codectl_wait_state(const struct unwind_task_info *info, u64 start)
{
	if (info->left >= start)
		return info->left_state == TASK_RUNNING ? 0 :
		       task_index_to_char(__task_state_index(info->left_state, 0));

	/* A new task has never left one. */
	return current->nvcsw || current->nivcsw ? '?' : 0;
}

/* As the task that runs now. */
static void codectl_note_run(void *data, bool is_switch)
{
	const struct unwind_task_info *info = &current->unwind_info;
	u64 start = READ_ONCE(codectl_waits_start), now, since;
	char state;

	if (!is_switch || !codectl_has_user_stack(current))
		return;

	state = codectl_wait_state(info, start);
	if (!state)
		return;

	/* Clocks of two CPUs may differ a little. */
	now = local_clock();
	since = max(info->left, start);
	if (now < since || (now - since) / NSEC_PER_USEC < READ_ONCE(codectl_wait_min_us))
		return;

	trace_task_waited(now - since, state);
}

static unsigned int codectl_waits_users;

/**
 * codectl_waits_get() - have tasks note when they leave their CPUs
 *
 * Context: process; may sleep. The caller holds event_mutex, for each tracer that
 * enables the event.
 * Return: 0 or a negative errno.
 */
int codectl_waits_get(void)
{
	int ret;

	if (codectl_waits_users++)
		return 0;

	WRITE_ONCE(codectl_waits_start, local_clock());
	ret = register_trace_sched_switch(codectl_note_leave, NULL);
	if (!ret) {
		ret = register_trace_sched_exit_tp(codectl_note_run, NULL);
		if (ret)
			unregister_trace_sched_switch(codectl_note_leave, NULL);
	}
	if (ret)
		codectl_waits_users--;

	return ret;
}

/**
 * codectl_waits_put() - the opposite of codectl_waits_get()
 *
 * Context: as there.
 */
void codectl_waits_put(void)
{
	/* None: it was enabled on the command line, before codectl_waits_init(). */
	if (!codectl_waits_users || --codectl_waits_users)
		return;

	unregister_trace_sched_exit_tp(codectl_note_run, NULL);
	unregister_trace_sched_switch(codectl_note_leave, NULL);
}
