/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An instance of tracefs, and the text of its trace taken apart: events, the
 * stacks that belong to them, and what the ids in them stand for.
 */
#ifndef CODECTL_TRACEFS_H
#define CODECTL_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "truth.h"

#define TRACEFS_DIR "/sys/kernel/tracing"
#define USER_STACKS "options/userstacktrace_delay"

struct tracefs {
	char dir[96];
};

/*
 * Makes an instance, mounting tracefs if necessary; removes an old one with that name.
 * All functions that can fail return a negative errno.
 */
int tracefs_open(struct tracefs *t, const char *name);
int tracefs_close(struct tracefs *t);
/*
 * The instance of this program's tests, which are processes of their own: as new, though it is
 * made once, as that takes seconds on a debug kernel.  It goes when the program exits.
 */
int tracefs_borrow(struct tracefs *t);
int tracefs_return(const struct tracefs *t);
/* The instance that is always there. */
void tracefs_top(struct tracefs *t);

int tracefs_write(const struct tracefs *t, const char *file, const char *text);
int tracefs_write_number(const struct tracefs *t, const char *file, long nr);
/* The whole file with a NUL, for free(); NULL on failure. */
char *tracefs_read(const struct tracefs *t, const char *file);
long tracefs_number(const struct tracefs *t, const char *file);
int tracefs_enable(const struct tracefs *t, const char *event);
/* The number that records of this event have as their type. */
long tracefs_event_type(const char *event);
/*
 * The system call @nr of the task @tid, 0 for all tasks: its entry and, if @exit,
 * its exit.  A filter does it, as set_event_pid patches code of the scheduler while
 * others run it, which an emulator need not survive.
 */
int tracefs_trace_syscall(const struct tracefs *t, long nr, pid_t tid,
			  bool exit);
int tracefs_clear(const struct tracefs *t);

struct trace_entry {
	int pid;
	int cpu;
	const char *text;	/* everything after the time */
};

struct trace_log {
	char *buf;
	unsigned int nr;
	struct trace_entry *entry;
};

/* Frees what @log held before; it starts out as zeroes. */
int trace_log_read(struct trace_log *log, const struct tracefs *t);
void trace_log_free(struct trace_log *log);
void trace_log_print(const struct trace_log *log);

/* The first one after @after, if not NULL, that starts with @prefix. */
const struct trace_entry *trace_find(const struct trace_log *log,
				     const struct trace_entry *after,
				     const char *prefix);
unsigned int trace_count(const struct trace_log *log, const char *prefix);

/* What follows "dev=" in events that explain something. */
struct trace_names {
	unsigned int dev_major;
	unsigned int dev_minor;
	uint64_t inode;
	char names[16];
	char build_id[48];
	char path[2080];
};

struct trace_register {
	int pid;
	char kind[8];
	uint64_t text_start;
	uint64_t text_end;
	uint64_t elf_start;
	uint64_t elf_end;
	uint64_t table;
	uint64_t table_end;
	unsigned int flags;
	uint64_t id;
	uint64_t file_id;
	struct trace_names n;
};

struct trace_unregister {
	int pid;
	uint64_t text_start;
	uint64_t text_end;
	uint64_t id;
	char reason[16];
};

struct trace_stop {
	uint64_t ip;
	uint64_t sp;
	unsigned int nr;
	char reason[16];
};

struct trace_file {
	uint64_t id;
	char unit[16];		/* of the offsets of frames */
	struct trace_names n;
};

/* Is the line one, correct up to the last field? */
bool trace_parse_register(const struct trace_entry *e,
			  struct trace_register *r);
bool trace_parse_unregister(const struct trace_entry *e,
			    struct trace_unregister *u);
bool trace_parse_stop(const struct trace_entry *e, struct trace_stop *s);
bool trace_parse_file(const struct trace_entry *e, struct trace_file *f);

/* The next one after @after for the text that starts at @start; else NULL. */
const struct trace_entry *
trace_find_register(const struct trace_log *log,
		    const struct trace_entry *after, int pid, uint64_t start,
		    struct trace_register *r);
const struct trace_entry *
trace_find_unregister(const struct trace_log *log, int pid, uint64_t start,
		      struct trace_unregister *u);
/* The latest one before @before, if not NULL. */
bool trace_find_file(const struct trace_log *log,
		     const struct trace_entry *before, uint64_t id,
		     struct trace_file *f);

/*
 * The cookie of an event: that of the record right after it, if this is of its task
 * and of the type @type; else 0.
 */
uint64_t trace_cookie(const struct trace_log *log,
		      const struct trace_entry *event, long type);

#define TRACE_STACK_MAX 520

struct trace_stack {
	const struct trace_entry *first;
	unsigned int records;
	unsigned int nr;	/* frames that are here */
	unsigned int total;	/* frames that there were */
	bool in_order;		/* none is missing or there twice */
	int pid;
	char stop[16];		/* empty for complete */
	struct {
		uint64_t offset;
		uint64_t id;
		bool exact;
		uint64_t code_id;
	} frame[TRACE_STACK_MAX];
};

/* Joins all records with this cookie; false without any. */
bool trace_stack(const struct trace_log *log, uint64_t cookie,
		 struct trace_stack *s);

/*
 * Whether the stack ends and goes on as the truth of this process says, with
 * return addresses but for the first, and each frame is what /proc/self/maps says
 * of it: offset and, by what was explained before the stack, device, inode and
 * path.
 */
bool trace_stack_is_true(const struct trace_log *log,
			 const struct trace_stack *s, const struct truth *t);

struct trace_map {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	unsigned int dev_major;
	unsigned int dev_minor;
	uint64_t inode;
	char path[512];
};

/* The line of /proc/self/maps. */
bool trace_map_of(uint64_t addr, struct trace_map *m);

/* The build-id of the loaded object that covers @addr, in hex; 0 or -1. */
int loaded_build_id(const void *addr, char hex[48]);

#endif /* CODECTL_TRACEFS_H */
