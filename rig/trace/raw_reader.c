// SPDX-License-Identifier: GPL-2.0
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <tracefs.h>
#include <unistd.h>

#include "raw_reader.h"

void raw_reader_open(struct raw_reader *reader, const char *instance,
		     const char * const *systems)
{
	char path[512];

	reader->tep = tracefs_local_events_system(NULL, systems);
	if (!reader->tep)
		err(2, "the formats of the events");
	reader->buffer = tep_kbuffer(reader->tep);
	reader->page_size = tep_get_sub_buffer_size(reader->tep);
	reader->page = malloc(reader->page_size);
	if (!reader->buffer || !reader->page)
		err(2, "memory");
	for (int cpu = 0; cpu < RAW_MAX_CPUS; cpu++) {
		snprintf(path, sizeof(path),
			 "%s/instances/%s/per_cpu/cpu%d/trace_pipe_raw",
			 tracefs_tracing_dir(), instance, cpu);
		reader->fds[cpu] = open(path, O_RDONLY | O_NONBLOCK);
		if (reader->fds[cpu] < 0)
			break;
		reader->nr_cpus = cpu + 1;
	}
	if (!reader->nr_cpus)
		err(2, "%s", path);
}

static void read_page(struct raw_reader *reader, int cpu, raw_fn fn,
		      void *context)
{
	struct raw_record record = { .cpu = cpu };
	struct tep_record tep_record;
	unsigned long long ts;

	if (kbuffer_load_subbuffer(reader->buffer, reader->page))
		errx(2, "a sub-buffer that libtraceevent cannot read");
	if (kbuffer_missed_events(reader->buffer)) {
		reader->lost[cpu] = true;
		reader->nr_lost++;
	}
	while ((record.data = kbuffer_read_event(reader->buffer, &ts))) {
		record.len = kbuffer_event_size(reader->buffer);
		tep_record = (struct tep_record) {
			.data = (void *)record.data,
			.size = record.len,
		};
		record.type = tep_data_type(reader->tep, &tep_record);
		record.tid = tep_data_pid(reader->tep, &tep_record);
		record.lost = reader->lost[cpu];
		reader->lost[cpu] = false;
		fn(context, &record);
		kbuffer_next_event(reader->buffer, NULL);
	}
}

bool raw_reader_step(struct raw_reader *reader, raw_fn fn, void *context)
{
	bool some = false;

	for (int cpu = 0; cpu < reader->nr_cpus; cpu++) {
		if (read(reader->fds[cpu], reader->page, reader->page_size) <= 0)
			continue;
		some = true;
		read_page(reader, cpu, fn, context);
	}
	return some;
}
