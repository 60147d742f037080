/* SPDX-License-Identifier: MIT */
/*
 * Tracers of the user event codectl_name: instances of ftrace where the kernel has user
 * events and permits us, elsewhere a stand-in for both in this process, behind open(),
 * ioctl() and writev().  getrandom() is the system's.
 */
#ifndef CODECTL_TRACER_H
#define CODECTL_TRACER_H

#include "test.h"

/* In the word: the bit that the kernel sets, and all that are not free. */
#define ASKED		0x80000000U
#define OURS		0xf0000000U

struct record {
	uint64_t time;
	uint64_t copy;
	uint64_t id;
	uint64_t start;
	uint64_t len;
	uint32_t pid;
	uint32_t action;
	char name[48];
};

/**
 * struct tracer - a tracer
 * @records: what has been read, since it was enabled
 * @nr: number of records
 * @size: number that there is space for
 * @dir: the event's directory
 * @pipe: the file that is read
 * @rest: an incomplete line at the end of a read, which the next one completes
 * @rest_len: its length
 * @on: whether it is enabled
 */
struct tracer {
	struct record *records;
	size_t nr;
	size_t size;
	char dir[160];
	int pipe;
	char rest[1024];
	size_t rest_len;
	bool on;
};

#define NR_TRACERS	2
extern struct tracer tracers[NR_TRACERS];

/*
 * For the stand-in: number of writes to fail next, with this error; events deleted so
 * far.
 */
extern int tracer_write_error;
extern unsigned int tracer_write_errors, tracer_deletes;

/* Whether they are ftrace's. */
bool tracer_is_real(void);

void tracer_open_all(void);
void tracer_remove_all(void);
/* Waits until the event is gone, that of a process that has ended. */
void tracer_wait_gone(void);
/* Forgets all that had been read. */
void tracer_on(struct tracer *tracer);
void tracer_off(struct tracer *tracer);
/* Reads what there is. */
void tracer_read(struct tracer *tracer);
/* Reads until everything has been reported so many times. */
void tracer_wait(struct tracer *tracer, size_t nr);

/* What the stand-in answers to open() and to registering, if not 0. */
extern int tracer_open_error, tracer_register_error;
/* The forced result of getrandom(), if not 0. */
extern int tracer_random_error;

#endif /* CODECTL_TRACER_H */
