/* SPDX-License-Identifier: GPL-2.0 */
/* Reads the raw buffers of a trace instance. */
#ifndef RAW_READER_H
#define RAW_READER_H

#include <event-parse.h>
#include <kbuffer.h>
#include <stdbool.h>
#include <stddef.h>

#define RAW_MAX_CPUS	64

struct raw_record {
	int cpu, type, tid;
	bool lost;			/* records before this one were lost */
	const void *data;
	size_t len;
};

typedef void (*raw_fn)(void *context, const struct raw_record *record);

struct raw_reader {
	struct tep_handle *tep;
	struct kbuffer *buffer;
	int nr_cpus;
	int fds[RAW_MAX_CPUS];
	bool lost[RAW_MAX_CPUS];
	void *page;
	int page_size;
	unsigned long nr_lost;		/* number of times that records were lost */
};

/* Exits if there is no such instance; @systems are those of the events in it. */
void raw_reader_open(struct raw_reader *reader, const char *instance,
		     const char * const *systems);

/* A sub-buffer of each CPU. Return: false if there was none. */
bool raw_reader_step(struct raw_reader *reader, raw_fn fn, void *context);

#endif /* RAW_READER_H */
