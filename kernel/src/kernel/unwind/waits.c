// SPDX-License-Identifier: GPL-2.0
/*
 * How long tasks were blocked, reported by themselves when they run again, and by the
 * tasks that wake them
 *
 * Whoever asks for user stacks of waits wants the long ones. With the events of the
 * scheduler, the stack would have to be taken at each switch, before it is known how
 * long the wait becomes, and at each wake-up.
 */
#include <linux/codectl.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/time64.h>

#include <trace/events/codectl.h>
#include <trace/events/sched.h>

#include "events.h"

u64 codectl_wait_min_us;

/* local_clock() when the event was enabled: what a task noted before is out of date. */
static u64 codectl_waits_start;

/* In left_state of a task that runs again: report its wait, in this state of 'S', 'D'. */
#define WAITED		BIT(31)

static bool codectl_has_user_stack(const struct task_struct *task)
{
	return task->mm && !(task->flags & (PF_KTHREAD | PF_USER_WORKER));
}

/* Was it blocked, and in which state? '?': it left its CPU before the start. */
static char codectl_wait_state(const struct task_struct *task, unsigned int left_state,
			       u64 start)
{
	if (READ_ONCE(task->unwind_info.left) >= start)
		return left_state == TASK_RUNNING ? 0 :
		       task_index_to_char(__task_state_index(left_state, 0));

	/* A new task has never left one. */
	return task->nvcsw || task->nivcsw ? '?' : 0;
}

/* Most waits are too short: check that first. Clocks of two CPUs may differ a little. */
static bool codectl_waited_long(const struct unwind_task_info *info, u64 start, u64 now)
{
	u64 since = max(READ_ONCE(info->left), start);

	return now >= since &&
	       (now - since) / NSEC_PER_USEC >= READ_ONCE(codectl_wait_min_us);
}

/* Runs as @prev, with the lock of its runqueue. */
static void codectl_note_switch(void *data, bool preempt, struct task_struct *prev,
				struct task_struct *next, unsigned int prev_state)
{
	u64 start = READ_ONCE(codectl_waits_start), now = local_clock();
	struct unwind_task_info *info = &prev->unwind_info;
	char state = 0;

	WRITE_ONCE(info->left, now);
	/* After the time: pairs with the acquire in codectl_note_waking(). */
	smp_store_release(&info->left_state, preempt ? TASK_RUNNING : prev_state);

	info = &next->unwind_info;
	if (codectl_waited_long(info, start, now) && codectl_has_user_stack(next))
		state = codectl_wait_state(next, info->left_state, start);
	WRITE_ONCE(info->left_state, state ? WAITED | state : TASK_RUNNING);
}

/* Runs as the task that is about to run: its stack is to be taken. */
static void codectl_note_run(void *data, bool is_switch)
{
	struct unwind_task_info *info = &current->unwind_info;
	char state = info->left_state;
	u64 now, since;

	if (likely(!(info->left_state & WAITED)))
		return;

	WRITE_ONCE(info->left_state, TASK_RUNNING);
	now = local_clock();
	since = max(info->left, READ_ONCE(codectl_waits_start));
	/* Not if all tracers have stopped, and another one has started. */
	if (now >= since)
		trace_task_waited(current, now - since, state);
}

/*
 * Runs as a task that wakes @task, whose pi_lock is held, so that nobody else does. An
 * interrupt has nothing to do with the stack of the task that it interrupts. A task may
 * have set its state without having left its CPU: it does not wait yet.
 */
static void codectl_note_waking(void *data, struct task_struct *task)
{
	u64 start = READ_ONCE(codectl_waits_start), now = local_clock();
	const struct unwind_task_info *info = &task->unwind_info;
	unsigned int left_state;
	char state;
	u64 since;

	/* Before the time: pairs with the release in codectl_note_switch(). */
	left_state = smp_load_acquire(&info->left_state);
	if (!codectl_waited_long(info, start, now) || !in_task() ||
	    !codectl_has_user_stack(current) || !codectl_has_user_stack(task) ||
	    task_curr(task))
		return;

	state = codectl_wait_state(task, left_state, start);
	since = max(READ_ONCE(info->left), start);
	/* Not if it is only now leaving its CPU, for the first time since the start. */
	if (state && now >= since)
		trace_task_wakes(task, now - since, state);
}

static unsigned int codectl_waits_users, codectl_wakes_users;

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
	ret = register_trace_sched_switch(codectl_note_switch, NULL);
	if (!ret) {
		ret = register_trace_sched_exit_tp(codectl_note_run, NULL);
		if (ret)
			unregister_trace_sched_switch(codectl_note_switch, NULL);
	}
	if (ret)
		codectl_waits_users--;

	return ret;
}

/**
 * codectl_waits_put() - undo codectl_waits_get()
 *
 * Context: as codectl_waits_get().
 */
void codectl_waits_put(void)
{
	/* None: it was enabled on the command line, before codectl_waits_init(). */
	if (!codectl_waits_users || --codectl_waits_users)
		return;

	unregister_trace_sched_exit_tp(codectl_note_run, NULL);
	unregister_trace_sched_switch(codectl_note_switch, NULL);
}

/**
 * codectl_wakes_get() - have tasks report whom they wake, after what wait
 *
 * Context: as codectl_waits_get(), which it includes.
 * Return: 0 or a negative errno.
 */
int codectl_wakes_get(void)
{
	int ret = codectl_waits_get();

	if (ret || codectl_wakes_users++)
		return ret;

	ret = register_trace_sched_waking(codectl_note_waking, NULL);
	if (ret) {
		codectl_wakes_users--;
		codectl_waits_put();
	}

	return ret;
}

/**
 * codectl_wakes_put() - undo codectl_wakes_get()
 *
 * Context: as codectl_wakes_get().
 */
void codectl_wakes_put(void)
{
	/* None: as in codectl_waits_put(). */
	if (!codectl_wakes_users)
		return;

	if (!--codectl_wakes_users)
		unregister_trace_sched_waking(codectl_note_waking, NULL);
	codectl_waits_put();
}
