/* SPDX-License-Identifier: GPL-2.0 */
/* Events of all tasks, and whether a stack comes from this program. */
#ifndef CODECTL_TRACE_TASK_FIXTURE_H
#define CODECTL_TRACE_TASK_FIXTURE_H

#include "trace_fixture.h"

/* All tasks, their system calls @nr, and the events of execve() itself. */
static inline int ask_of_all(const struct tracefs *t, const char *filter)
{
	return tracefs_write(t, "events/raw_syscalls/sys_enter/filter",
			     filter) ?:
	       tracefs_write(t, "events/raw_syscalls/sys_exit/filter",
			     filter) ?:
	       tracefs_write(t, USER_STACKS, "1");
}

#define FILTER "id == 59 || id == 111 || id == 231 || id == 60"

static inline int trace_programs(const struct tracefs *t)
{
	return ask_of_all(t, FILTER) ?:
	       tracefs_enable(t, "raw_syscalls/sys_enter") ?:
	       tracefs_enable(t, "raw_syscalls/sys_exit") ?:
	       tracefs_enable(t, "sched/sched_process_exec");
}

/* The first one of the task that starts like this. */
static inline const struct trace_entry *event_of(const struct trace_log *log, int pid,
						 const char *prefix)
{
	const struct trace_entry *e = NULL;

	do
		e = trace_find(log, e, prefix);
	while (e && e->pid != pid);
	return e;
}

/* Whether the stack has a frame of this offset in the test program. */
static inline bool has_own_offset(const struct trace_log *log,
				  const struct trace_stack *s, uint64_t offset)
{
	struct trace_file f;

	for (unsigned int i = 0; i < s->nr; i++)
		if (s->frame[i].offset == offset &&
		    trace_find_file(log, s->first, s->frame[i].id, &f) &&
		    strstr(f.n.path, program_invocation_short_name))
			return true;
	return false;
}

/* The offset in the file of an address in this program. */
static inline uint64_t offset_of(uint64_t addr)
{
	struct trace_map m;

	return trace_map_of(addr, &m) ? addr - m.start + m.offset : 0;
}

static uint64_t *exec_from;	/* shared: where exec_here() or exit_here() returns to */

#define SHARED_WORD() do {						\
	exec_from = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,		\
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);		\
	ASSERT_NE(MAP_FAILED, exec_from);				\
} while (0)

#endif /* CODECTL_TRACE_TASK_FIXTURE_H */
