// SPDX-License-Identifier: MIT
/* How long a recording reads what programs write, with a stand-in for the buffers. */
#define tracefs_iterate_raw_events	read_records
#include "record.c"

#include "check.h"

/* More than are read in a pass. */
#define MANY	(4 * NAMES_PER_PASS)

static unsigned long nr_read;

int read_records(struct tep_handle *tep, struct tracefs_instance *instance, cpu_set_t *cpus,
		 int cpu_size, int (*take)(struct tep_event *event, struct tep_record *record,
					   int cpu, void *context), void *context)
{
	struct tep_event event = { .id = 1 };
	struct tep_record record = { .missed_events = 0 };

	(void)tep;
	(void)instance;
	(void)cpus;
	(void)cpu_size;
	for (nr_read = 1; nr_read < MANY && !take(&event, &record, 0, context); nr_read++)
		;
	return 0;
}

/* As fast as they are read: a recording has to look at the clock, and for signals. */
static void names_without_end(void)
{
	struct recording recording = { .names = code_names_new(), .name_layout.type = 2 };

	for (unsigned long passes = 1; passes < 3; passes++) {
		read_names(&recording);
		CHECK(nr_read == NAMES_PER_PASS && recording.lost_names == passes);
	}
	code_names_free(recording.names);
}

int main(void)
{
	RUN(names_without_end);
	return check_end();
}
