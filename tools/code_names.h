/* SPDX-License-Identifier: MIT */
/*
 * Names of compiled code at each time, as programs tell them by the user event
 * codectl_name: codectl_names_event(3).
 */
#ifndef CODE_NAMES_H
#define CODE_NAMES_H

#include <sys/types.h>

#include "symbol.h"
#include "trace_record.h"

/* What names may take, with what is known of them. */
#define CODE_NAMES_MAX_BYTES	(256UL << 20)

struct code_names;

struct code_names *code_names_new(void);
void code_names_free(struct code_names *names);

/* That @pid has told at @time, in nanoseconds of the clock of the trace. */
void code_names_add(struct code_names *names, pid_t pid, uint64_t time,
		    const struct name_record *record);

/* Records were lost at about that time: what was told before says nothing of what is. */
void code_names_lost(struct code_names *names, uint64_t time);

/*
 * The number of the function that was at @address then, or 0 if that is not known:
 * there was none, it has no name, or the program had not told all of its names.
 */
uint64_t code_names_id(const struct code_names *names, pid_t pid, uint64_t address,
		       uint64_t time);

/*
 * The function of that number, and the distance of @address from its start.  Numbers
 * of a process that has told none of its own are those of its parent.
 */
struct symbol code_names_find(const struct code_names *names, pid_t pid, uint64_t id,
			      uint64_t address);

#endif
