/* SPDX-License-Identifier: GPL-2.0 */
/* Compares the trace with /proc/PID/codectl, which has the same registrations. */
#ifndef CODECTL_TRACE_PROC_H
#define CODECTL_TRACE_PROC_H

#include "proc_file.h"
#include "tracefs.h"

/* Whether the two say the same of a registration. */
bool trace_same_as_proc(const struct trace_register *r,
			const struct proc_line *l);
/*
 * How many registrations of the process the trace does not report as they are; -1 if
 * there is nothing to compare.
 */
int trace_not_told(const struct trace_log *log, pid_t pid);

#endif /* CODECTL_TRACE_PROC_H */
