/* SPDX-License-Identifier: MIT */
#ifndef TRACE_RECORD_H
#define TRACE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tep_handle;

/* Frames of the longest stack that the kernel takes, and of a record. */
#define STACK_MAX_FRAMES	512
#define RECORD_MAX_FRAMES	64
#define BUILD_ID_MAX		20

enum stack_stop {
	STOP_COMPLETE,
	STOP_FP_END,
	STOP_NO_RULE,
	STOP_BAD_TABLE,
	STOP_FAULT,
	STOP_BAD_FRAME,
	STOP_CHANGED,
	STOP_KILLED,
	STOP_LIMIT,
	STOP_NO_MEMORY,
	STOP_BUDGET,
	STOP_MAX
};

/* The name of @stop, whatever its value. */
const char *stop_name(uint32_t stop);

struct frame {
	uint64_t offset;	/* in the unit of @id */
	uint64_t id;		/* of a file or a registration, or 0 */
	uint64_t exact;		/* 1: the address of an instruction; 0: a return address */
	uint64_t code_id;	/* of the function in a granule map, or 0 */
};

struct cookie_record {
	uint64_t cookie;
	uint32_t event;		/* type of the event that it belongs to */
};

/* A whole stack, or @count frames of it from @first on. */
struct stack_record {
	uint64_t cookie;
	uint64_t time;		/* of the trace's clock, if the caller sets it */
	uint32_t nr, first, stop, count;
	struct frame frames[RECORD_MAX_FRAMES];
};

/* What the offsets of frames with an id count. */
enum frame_unit {
	UNIT_ADDRESS,
	UNIT_FILE,		/* offset in the file */
	UNIT_OBJECT,		/* from the start of the object in memory */
	UNIT_MAX
};

struct file_record {
	uint64_t id, inode;
	uint32_t dev_major, dev_minor;
	bool verified, claimed;	/* the names; if neither, there are none */
	bool by_inode;		/* from a recorder: device and inode identify the file */
	uint32_t unit;		/* enum frame_unit, or one of a later kernel */
	uint32_t build_id_len;
	uint8_t build_id[BUILD_ID_MAX];
	char path[2049];	/* escaped */
};

/* CODECTL_NAME_*: <codectl.h> */
enum name_action {
	NAME_ADD,
	NAME_RETIRE,
	NAME_BEGIN,
	NAME_END,
};

#define NAME_MAX_LEN		1000

/* The user event codectl_name: codectl_names_event(3). */
struct name_record {
	uint64_t copy, id, start, len;
	uint32_t pid;		/* as the process sees itself */
	uint32_t action;	/* enum name_action, or one of a later library */
	char name[NAME_MAX_LEN + 1];
};

/* The events codectl:task_waited and task_wakes: codectl_trace(7). */
struct wait_record {
	int32_t tid;		/* the thread that has waited */
	uint64_t ns;
	int64_t nr;		/* of the system call, or -1 */
	uint64_t arg0, arg1;
	char state;
	bool compat;
};

/* More than the kernel records at an event. */
#define KERNEL_MAX_FRAMES	512

/* A kernel stack, at the event before it. */
struct kernel_record {
	uint32_t nr;
	uint64_t address[KERNEL_MAX_FRAMES];	/* return addresses, the innermost first */
};

/* Position of a field in a record. */
struct record_field {
	uint32_t offset, size;
};

/*
 * The types of the three records and the positions of their fields, according to their
 * format files; a type is -1 if there is none.
 */
struct record_layout {
	int cookie_type, stack_type, file_type;
	struct {
		struct record_field cookie, event;
	} cookie;
	struct {
		struct record_field cookie, nr, first, stop, count, exact;
		struct record_field codes, frames;
	} stack;
	struct {
		struct record_field id, inode, dev_major, dev_minor, names;
		struct record_field unit, build_id_len, build_id, path;
	} file;
};

struct name_layout {
	int type;
	struct record_field copy, id, start, len, pid, action, name;
};

struct wait_layout {
	int type;
	struct record_field ns, nr, arg0, arg1, pid, state, compat;
};

struct kernel_layout {
	int type;
	struct record_field size, caller;
};

/* False if @tep lacks one of the records, or one lacks required fields. */
bool record_layout_read(struct record_layout *layout, struct tep_handle *tep);

/* False if the @len bytes at @data are no such record, whatever they are. */
bool cookie_record_parse(struct cookie_record *record,
			 const struct record_layout *layout,
			 const void *data, size_t len);
bool stack_record_parse(struct stack_record *record,
			const struct record_layout *layout,
			const void *data, size_t len);
bool file_record_parse(struct file_record *record,
		       const struct record_layout *layout,
		       const void *data, size_t len);

/* The same for the user event. */
bool name_layout_read(struct name_layout *layout, struct tep_handle *tep);
bool name_record_parse(struct name_record *record, const struct name_layout *layout,
		       const void *data, size_t len);

/* The same for an event of codectl, task_waited or task_wakes. */
bool wait_layout_read(struct wait_layout *layout, struct tep_handle *tep, const char *event);
bool wait_record_parse(struct wait_record *record, const struct wait_layout *layout,
		       const void *data, size_t len);

/* The same for kernel_stack. */
bool kernel_layout_read(struct kernel_layout *layout, struct tep_handle *tep);
bool kernel_record_parse(struct kernel_record *record, const struct kernel_layout *layout,
			 const void *data, size_t len);

#endif
