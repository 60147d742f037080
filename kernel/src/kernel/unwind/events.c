// SPDX-License-Identifier: GPL-2.0
/*
 * Trace events of the registry and of the walk
 */
#include <linux/codectl.h>
#include <linux/codectl_query.h>
#include <linux/mm.h>
#include <linux/oom.h>
#include <linux/path.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/unwind_user_types.h>

#include "attach.h"
#include "events.h"
#include "frames.h"
#include "registry.h"
#include "table.h"

#define CREATE_TRACE_POINTS
#include <trace/events/codectl.h>

/**
 * codectl_trace_register() - trace a registration
 * @mm: its address space, the caller's
 * @pid: the process
 * @region: the registration, which may have been removed by now
 *
 * Context: process; may sleep, and wait for the file, if the event is enabled.
 */
void codectl_trace_register(struct mm_struct *mm, pid_t pid,
			    const struct codectl_region *region)
{
	struct codectl_names *names __free(kfree) = NULL;

	if (!trace_code_register_enabled())
		return;

	names = kmalloc_obj(*names, GFP_KERNEL);
	if (!names)
		return;

	codectl_describe(mm, NULL, region, names);
	trace_code_register(pid, region, names);
}

/* Traces how a walk ended that did not reach the outermost frame. */
void codectl_trace_stop(const struct unwind_user_state *state, unsigned int nr)
{
	if (state->stop != UNWIND_USER_STOP_COMPLETE)
		trace_unwind_stop(state->ip, state->sp, nr, state->stop);
}

/* What to call, and with what. */
struct codectl_replay {
	codectl_replay_func_t	func;
	void			*data;
	struct codectl_names	names;
};

static int codectl_replay_mm(struct codectl_replay *replay,
			     struct mm_struct *mm, const struct path *root,
			     pid_t pid)
{
	struct codectl_region *region;
	unsigned long addr = 0;

	while ((region = codectl_get_next(mm, addr))) {
		codectl_describe(mm, root, region, &replay->names);
		replay->func(pid, region, &replay->names, replay->data);
		addr = region->text_end;
		codectl_region_put(region);
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}

	return 0;
}

/* The process with the lowest id from @nr on, and its id. */
static struct task_struct *codectl_next_process(pid_t *nr)
{
	struct task_struct *task;
	struct pid *pid;

	guard(rcu)();
	while ((pid = find_ge_pid(*nr, &init_pid_ns))) {
		*nr = pid_nr(pid);
		task = pid_task(pid, PIDTYPE_TGID);
		if (task)
			return get_task_struct(task);
		(*nr)++;
	}

	return NULL;
}

/* From any thread: the first one may have exited. */
static struct mm_struct *codectl_process_mm(struct task_struct *task)
{
	struct task_struct *thread = find_lock_task_mm(task);
	struct mm_struct *mm;

	if (!thread)
		return NULL;

	mm = thread->mm;
	mmget(mm);
	task_unlock(thread);

	return mm;
}

static int codectl_replay_process(struct codectl_replay *replay,
				  struct task_struct *task, pid_t pid)
{
	struct mm_struct *mm = codectl_process_mm(task);
	struct path root;
	int ret = 0;

	if (!mm)
		return 0;

	if (codectl_get_root(task, &root)) {
		ret = codectl_replay_mm(replay, mm, &root, pid);
		path_put(&root);
	} else {
		ret = codectl_replay_mm(replay, mm, NULL, pid);
	}
	mmput(mm);

	return ret;
}

/**
 * codectl_replay() - report everything that is registered now
 * @func: called for each, with the names that codectl_describe() finds, which it may
 *	change; may sleep
 * @data: passed to @func
 *
 * Context: process; may sleep, and wait for files of its own.
 * Return: 0, -ENOMEM, or -EINTR if the task was killed.
 */
int codectl_replay(codectl_replay_func_t func, void *data)
{
	struct codectl_replay *replay __free(kfree) = NULL;
	struct task_struct *task;
	int ret = 0;
	pid_t nr;

	replay = kmalloc_obj(*replay);
	if (!replay)
		return -ENOMEM;
	replay->func = func;
	replay->data = data;

	for (nr = 1; !ret && (task = codectl_next_process(&nr)); nr++) {
		ret = codectl_replay_process(replay, task, nr);
		put_task_struct(task);
	}

	return ret;
}

/*
 * Either event needs the scheduler's events as well.  TRACE_EVENT_FN() calls with
 * tracepoints_mutex held, which enabling these takes.
 */
static int codectl_waits_reg(struct trace_event_call *call, enum trace_reg type,
			     void *data)
{
	bool wakes = call == &event_task_wakes;
	int ret;

	switch (type) {
	case TRACE_REG_REGISTER:
#ifdef CONFIG_PERF_EVENTS
	case TRACE_REG_PERF_REGISTER:
#endif
		ret = wakes ? codectl_wakes_get() : codectl_waits_get();
		if (ret)
			return ret;
		ret = trace_event_reg(call, type, data);
		if (!ret)
			return 0;
		break;
	case TRACE_REG_UNREGISTER:
#ifdef CONFIG_PERF_EVENTS
	case TRACE_REG_PERF_UNREGISTER:
#endif
		ret = trace_event_reg(call, type, data);
		break;
	default:
		return trace_event_reg(call, type, data);
	}
	if (wakes)
		codectl_wakes_put();
	else
		codectl_waits_put();

	return ret;
}

static int __init codectl_waits_init(void)
{
	event_class_codectl_wait.reg = codectl_waits_reg;

	return 0;
}
early_initcall(codectl_waits_init);
