/* SPDX-License-Identifier: MIT */
/*
 * Names of compiled code over time, as programs report them by the user event
 * codectl_name: codectl_names_event(3).
 */
#ifndef CODE_NAMES_H
#define CODE_NAMES_H

#include "process.h"
#include "symbol.h"
#include "trace_record.h"

/* Memory limit for names, and for what is known of them. */
#define CODE_NAMES_MAX_BYTES	(256UL << 20)

struct code_names;

struct code_names *code_names_new(void);
void code_names_free(struct code_names *names);

/* Reported by @process at @time, in nanoseconds of the clock of the trace. */
void code_names_add(struct code_names *names, struct process_id process, uint64_t time,
		    const struct name_record *record);

/* Records were lost at about that time: earlier reports say nothing of the present. */
void code_names_lost(struct code_names *names, uint64_t time);

/*
 * The number of the function that was at @address then, or 0 if unknown: there was
 * none, it has no name, or the program had not reported all of its names.
 */
uint64_t code_names_id(const struct code_names *names, struct process_id process,
		       uint64_t address, uint64_t time);

/*
 * The function with that number, and the distance of @address from its start.  A
 * process that has reported no numbers of its own has those of its parent.
 */
struct symbol code_names_find(const struct code_names *names, struct process_id process,
			      uint64_t id, uint64_t address);

#endif
