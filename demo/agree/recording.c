// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/param.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.h"

#define MAX_PENDING	256

struct recording {
	const char *path;
	const struct recording_reader *reader;
	void *arg;
	/* samples whose chain is still to come */
	const struct dump_sample *pending[MAX_PENDING];
	int nr_pending;
	unsigned long samples, no_chain, lost;
};

void recording_fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what,
		why);
	exit(2);
}

static void on_chain(struct recording *rec, const struct dump_chain *chain)
{
	int kept = 0;

	for (int i = 0; i < rec->nr_pending; i++) {
		if (rec->pending[i]->cookie == chain->cookie)
			rec->reader->on_stack(rec->arg, rec->pending[i], chain);
		else
			rec->pending[kept++] = rec->pending[i];
	}
	rec->nr_pending = kept;
}

static void on_sample(struct recording *rec, const struct dump_sample *sample)
{
	rec->samples++;
	if (sample->cookie && rec->nr_pending < MAX_PENDING)
		rec->pending[rec->nr_pending++] = sample;
	else
		rec->no_chain += !!sample->user_mode;
}

static void on_end(struct recording *rec, const struct dump_end *end)
{
	/* a busy machine keeps the reader waiting now and then */
	if (end->lost * 50 > rec->samples)
		recording_fail(rec->path,
			       "over 2 % of the records were lost: the ring buffer is too small");
	rec->lost = end->lost;
	if (end->status)
		recording_fail(rec->path, "the command failed");
}

static bool on_record(struct recording *rec, const void *record, uint32_t type)
{
	switch (type) {
	case DUMP_MAP:
		rec->reader->on_map(rec->arg, record);
		return true;
	case DUMP_SAMPLE:
		on_sample(rec, record);
		return true;
	case DUMP_CHAIN:
		on_chain(rec, record);
		return true;
	case DUMP_VDSO:
		rec->reader->on_vdso(rec->arg, record);
		return true;
	case DUMP_END:
		on_end(rec, record);
		return false;
	}
	recording_fail(rec->path, "not a recording of stackdump");
}

unsigned long recording_read(const char *path,
			     const struct recording_reader *reader, void *arg)
{
	struct recording rec = { .path = path, .reader = reader, .arg = arg };
	const unsigned char *data, *end;
	const struct dump_header *header;
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		recording_fail(path, strerror(errno));
	data = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data == MAP_FAILED)
		recording_fail(path, strerror(errno));
	close(fd);
	for (end = data + st.st_size; ; data += header->size) {
		header = (const void *)data;
		if (end - data < (long)sizeof(*header) ||
		    header->size < sizeof(*header) ||
		    end - data < (long)header->size)
			recording_fail(path, "the recording is cut off");
		if (!on_record(&rec, header, header->type))
			break;
	}
	for (int i = 0; i < rec.nr_pending; i++)
		rec.no_chain += !!rec.pending[i]->user_mode;
	return rec.no_chain - MIN(rec.no_chain, rec.lost);
}
