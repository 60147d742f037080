/* SPDX-License-Identifier: MIT */
/* Converts the events in perf's ring buffers to records of stackdump. */
#ifndef DUMP_EVENTS_H
#define DUMP_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "stackdump.h"

#define STACK_BYTES	(56 * 1024)
/* The fields of struct origin, in this order. */
#define ORIGIN		(PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

struct recorder {
	FILE *out;
	pid_t pid;			/* of the command */
	bool all;			/* not only the command's first thread */
	bool at_once;
	bool mapped;
	bool enough;			/* take no more samples, wait for their chains */
	uint64_t stack_base;		/* sp at the program's first instruction */
	uint64_t lowest;		/* the lowest sp so far */
	uint64_t lost;
	unsigned long samples, limit;
};

/* The registers to ask for. */
uint64_t dump_registers(void);

void dump_event(struct recorder *rec, const struct perf_event_header *event);

void dump_map(struct recorder *rec, struct dump_map *map, const char *name);

void dump_put(struct recorder *rec, void *record, size_t fixed, enum dump_type type,
	      const void *tail, size_t len);

_Noreturn void dump_die(const char *what);

#endif /* DUMP_EVENTS_H */
