// SPDX-License-Identifier: GPL-2.0
/*
 * truth_join: join the user stacks of an instance to their events by the rule of the trace, while
 * truth_load writes, and compare each stack with the number that its event carries.
 *
 * usage: truth_join [-n STACKS] [-s SECONDS] [-u USECS] [-x] INSTANCE PROGRAM MAP
 *
 * Reads until STACKS stacks are joined, or for SECONDS; USECS is the delay after each sub-buffer.
 * PROGRAM is the path of truth_load, MAP its output. -x exchanges the cookies of stacks, as a
 * faulty kernel would: it must fail.
 *
 * Exit status: 0 if STACKS stacks were joined and none to a wrong event.
 */
#include <err.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tracefs.h>
#include <unistd.h>

#include "raw_reader.h"
#include "trace_record.h"
#include "truth.h"

#define NO_NUMBER	-1
#define SLOTS		16384		/* per CPU; a power of two */

/* The latest event of a task and a type on a CPU. */
struct slot {
	unsigned int generation;	/* of its CPU's losses */
	int tid, type, number;
};

struct asked {				/* an event, and the cookie after it */
	uint64_t cookie;
	int tid, type, number;
};

struct stack {
	uint64_t cookie;
	int tid;
	uint32_t nr, have, stop;
	bool joined;
	struct frame *frames;
};

struct span {
	uint64_t start, end;
};

static struct {
	struct raw_reader reader;
	struct record_layout layout;
	int enter_type, exit_type, marker_type;
	struct tep_format_field *count, *ret, *text;

	struct slot (*slots)[SLOTS];
	unsigned int generation[RAW_MAX_CPUS];

	struct asked *asked;
	struct stack *stacks;
	size_t nr_asked, max_asked, nr_stacks, max_stacks;

	uint64_t ids[16];		/* of PROGRAM */
	int nr_ids;
	struct span outer[TRUTH_OUTER], inner[TRUTH_INNER];

	unsigned long events, cookies, stray, maps;
	unsigned long joined, joined_stacks, unknown, truncated, incomplete, wrong;
} trace;

static void *grow(void *array, size_t nr, size_t *max, size_t size)
{
	if (nr < *max)
		return array;
	*max = *max ? 2 * *max : 4096;
	array = reallocarray(array, *max, size);
	if (!array)
		err(2, "memory");
	return array;
}

/* ----------------------------------------------------------- the join's rule */

static struct slot *find_slot(int cpu, int tid, int type)
{
	unsigned int at = (unsigned int)(tid * 31 + type) * 2654435761u >> 16;

	for (int i = 0; i < SLOTS; i++) {
		struct slot *slot = &trace.slots[cpu][(at + i) % SLOTS];

		if (slot->generation != trace.generation[cpu] ||
		    (slot->tid == tid && slot->type == type))
			return slot;
	}
	errx(2, "too many tasks without a loss");
}

static int field_number(const struct raw_record *record,
			struct tep_format_field *field)
{
	unsigned long long value;

	if (tep_read_number_field(field, record->data, &value) ||
	    value < TRUTH_LENGTH || value >= TRUTH_LENGTH + TRUTH_NUMBERS)
		return NO_NUMBER;
	return value - TRUTH_LENGTH;
}

static int text_number(const struct raw_record *record)
{
	const char *text = (const char *)record->data + trace.text->offset;
	unsigned int number;
	char start[16] = "";

	if (record->len < trace.text->offset + sizeof(start))
		return NO_NUMBER;
	memcpy(start, text, sizeof(start) - 1);
	return sscanf(start, "truth=%u", &number) == 1 ? (int)number : NO_NUMBER;
}

static int event_number(const struct raw_record *record)
{
	if (record->type == trace.enter_type)
		return field_number(record, trace.count);
	if (record->type == trace.exit_type)
		return field_number(record, trace.ret);
	if (record->type == trace.marker_type)
		return text_number(record);
	return NO_NUMBER;
}

static void on_event(const struct raw_record *record)
{
	struct slot *slot = find_slot(record->cpu, record->tid, record->type);

	trace.events++;
	*slot = (struct slot) {
		.generation = trace.generation[record->cpu],
		.tid = record->tid,
		.type = record->type,
		.number = event_number(record),
	};
}

static void on_cookie(const struct raw_record *record)
{
	struct cookie_record cookie;
	struct slot *slot;

	trace.cookies++;
	if (!cookie_record_parse(&cookie, &trace.layout, record->data,
				 record->len))
		errx(2, "a cookie record of %zu bytes", record->len);
	slot = find_slot(record->cpu, record->tid, cookie.event);
	if (slot->generation != trace.generation[record->cpu]) {
		trace.stray++;
		return;
	}
	trace.asked = grow(trace.asked, trace.nr_asked, &trace.max_asked,
			   sizeof(*trace.asked));
	trace.asked[trace.nr_asked++] = (struct asked) {
		.cookie = cookie.cookie,
		.tid = record->tid,
		.type = cookie.event,
		.number = slot->number,
	};
}

/* -------------------------------------------------------- stacks and programs */

static void on_stack(const struct raw_record *record)
{
	static struct stack_record part;
	struct stack *stack;

	if (!stack_record_parse(&part, &trace.layout, record->data, record->len))
		errx(2, "a stack record of %zu bytes", record->len);
	trace.stacks = grow(trace.stacks, trace.nr_stacks, &trace.max_stacks,
			    sizeof(*trace.stacks));
	stack = &trace.stacks[trace.nr_stacks++];
	*stack = (struct stack) {
		.cookie = part.cookie,
		.tid = record->tid,
		.nr = part.nr,
		.have = part.first ? 0 : part.count,
		.stop = part.stop,
		.frames = calloc(part.count + 1, sizeof(*part.frames)),
	};
	if (!stack->frames)
		err(2, "memory");
	memcpy(stack->frames, part.frames, part.count * sizeof(*part.frames));
}

static void on_file(const struct raw_record *record, const char *program)
{
	static struct file_record file;

	trace.maps++;
	if (!file_record_parse(&file, &trace.layout, record->data, record->len))
		errx(2, "a file record of %zu bytes", record->len);
	if (strcmp(file.path, program))
		return;
	if (!file.verified)
		errx(1, "the name of %s is not verified", program);
	for (int i = 0; i < trace.nr_ids; i++)
		if (trace.ids[i] == file.id)
			return;
	if (trace.nr_ids < 16)
		trace.ids[trace.nr_ids++] = file.id;
}

static void on_record(void *program, const struct raw_record *record)
{
	if (record->lost)
		trace.generation[record->cpu]++;
	if (record->type == trace.layout.cookie_type)
		on_cookie(record);
	else if (record->type == trace.layout.stack_type)
		on_stack(record);
	else if (record->type == trace.layout.file_type)
		on_file(record, program);
	else
		on_event(record);
}

/* ------------------------------------------------------------------ comparing */

static void read_map(const char *path)
{
	FILE *file = fopen(path, "r");
	struct span span;
	char kind[8];
	unsigned int i;
	int nr = 0;

	if (!file)
		err(2, "%s", path);
	while (fscanf(file, "%7s %u %lx %lx", kind, &i, &span.start,
		      &span.end) == 4) {
		if (i >= TRUTH_OUTER)
			errx(2, "%s: function %u", path, i);
		(strcmp(kind, "outer") ? trace.inner : trace.outer)[i] = span;
		nr++;
	}
	fclose(file);
	if (nr != TRUTH_OUTER + TRUTH_INNER)
		errx(2, "%s has %d functions", path, nr);
}

static bool is_program(uint64_t id)
{
	for (int i = 0; i < trace.nr_ids; i++)
		if (trace.ids[i] == id)
			return true;
	return false;
}

static int find_span(const struct span *spans, int nr, uint64_t offset)
{
	for (int i = 0; i < nr; i++)
		if (offset >= spans[i].start && offset < spans[i].end)
			return i;
	return NO_NUMBER;
}

/* The number encoded by the two functions on the stack, one calling the other. */
static int stack_number(const struct stack *stack)
{
	for (uint32_t i = 1; i + 1 < stack->have; i++) {
		const struct frame *frame = &stack->frames[i];
		int inner, outer;

		if (!is_program(frame[0].id) || !is_program(frame[1].id))
			continue;
		inner = find_span(trace.inner, TRUTH_INNER, frame[0].offset - 1);
		outer = find_span(trace.outer, TRUTH_OUTER, frame[1].offset - 1);
		if (inner >= 0 && outer >= 0)
			return outer * TRUTH_INNER + inner;
	}
	return NO_NUMBER;
}

static int by_cookie(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_all(void)
{
	qsort(trace.asked, trace.nr_asked, sizeof(*trace.asked), by_cookie);
	qsort(trace.stacks, trace.nr_stacks, sizeof(*trace.stacks), by_cookie);
}

/* Calls @fn for each event whose stack is there. */
static void join_all(void (*fn)(const struct asked *asked, struct stack *stack))
{
	size_t at = 0;

	sort_all();
	for (size_t i = 0; i < trace.nr_asked; i++) {
		while (at < trace.nr_stacks &&
		       trace.stacks[at].cookie < trace.asked[i].cookie)
			at++;
		if (at == trace.nr_stacks)
			return;
		if (trace.stacks[at].cookie == trace.asked[i].cookie)
			fn(&trace.asked[i], &trace.stacks[at]);
	}
}

static void count_joined(const struct asked *asked, struct stack *stack)
{
	if (asked->number == NO_NUMBER || stack->joined)
		return;
	stack->joined = true;
	trace.joined_stacks++;
}

/* Joining is expensive: do it only when there may be enough. */
static bool enough(unsigned long wanted)
{
	static unsigned long next;

	if (trace.nr_stacks < wanted + next)
		return false;
	join_all(count_joined);
	next = trace.nr_stacks - wanted + wanted / 4 + 1;
	return trace.joined_stacks >= wanted;
}

static void print_wrong(const struct asked *asked, const struct stack *stack,
			int number)
{
	const char *name = tep_find_event(trace.reader.tep, asked->type)->name;

	if (trace.wrong++ >= 5)
		return;
	printf("# cookie %#lx: %s of task %d says %d, the stack of task %d %d\n",
	       (unsigned long)asked->cookie, name, asked->tid, asked->number,
	       stack->tid, number);
	for (uint32_t i = 0; i < stack->have; i++)
		printf("#   %#lx : %#lx\n",
		       (unsigned long)stack->frames[i].offset,
		       (unsigned long)stack->frames[i].id);
}

static void compare(const struct asked *asked, struct stack *stack)
{
	int number = stack_number(stack);

	if (asked->tid != stack->tid) {
		print_wrong(asked, stack, number);
		return;
	}
	if (stack->have != stack->nr) {
		trace.incomplete++;
		return;
	}
	if (asked->number == NO_NUMBER) {
		trace.unknown++;
		return;
	}
	if (stack->stop && number == NO_NUMBER) {
		if (trace.truncated++ < 5)
			printf("# cookie %#lx: %s after %u frames\n",
			       (unsigned long)asked->cookie,
			       stop_name(stack->stop), stack->nr);
		return;
	}
	trace.joined++;
	count_joined(asked, stack);
	if (asked->number != number)
		print_wrong(asked, stack, number);
}

static void exchange_cookies(void)
{
	for (size_t i = 0; i + 1 < trace.nr_stacks; i += 2) {
		uint64_t cookie = trace.stacks[i].cookie;

		trace.stacks[i].cookie = trace.stacks[i + 1].cookie;
		trace.stacks[i + 1].cookie = cookie;
	}
}

/* Only now is it known that the stacks counted so far may be incomplete. */
static void forget_joined(void)
{
	trace.joined_stacks = 0;
	for (size_t i = 0; i < trace.nr_stacks; i++)
		trace.stacks[i].joined = false;
}

/* Two stacks with one cookie are an error: stacks here are short, and have one part. */
static void check_cookies(void)
{
	sort_all();
	for (size_t i = 1; i < trace.nr_stacks; i++) {
		if (trace.stacks[i].cookie != trace.stacks[i - 1].cookie)
			continue;
		trace.wrong++;
		printf("# two stacks of cookie %#lx\n",
		       (unsigned long)trace.stacks[i].cookie);
	}
}

/* ----------------------------------------------------------------------- main */

static struct tep_format_field *find_field(const char *system, const char *name,
					   int *type, const char *field)
{
	struct tep_event *event;

	event = tep_find_event_by_name(trace.reader.tep, system, name);
	if (!event || !tep_find_field(event, field))
		errx(2, "no event %s with a %s", name, field);
	*type = event->id;
	return tep_find_field(event, field);
}

static void open_trace(const char *instance)
{
	static const char * const systems[] = { "ftrace", "syscalls", "sched",
						NULL };

	raw_reader_open(&trace.reader, instance, systems);
	if (!record_layout_read(&trace.layout, trace.reader.tep))
		errx(2, "no user stacks in the trace of this kernel");
	trace.count = find_field("syscalls", "sys_enter_write",
				 &trace.enter_type, "count");
	trace.ret = find_field("syscalls", "sys_exit_write", &trace.exit_type,
			       "ret");
	trace.text = find_field("ftrace", "print", &trace.marker_type, "buf");
	trace.slots = calloc(trace.reader.nr_cpus, sizeof(*trace.slots));
	if (!trace.slots)
		err(2, "memory");
	for (int cpu = 0; cpu < RAW_MAX_CPUS; cpu++)
		trace.generation[cpu] = 1;
}

static void wait_for(long usecs)
{
	struct timespec time = { usecs / 1000000, usecs % 1000000 * 1000 };

	nanosleep(&time, NULL);
}

static void drain(char *program)
{
	while (raw_reader_step(&trace.reader, on_record, program))
		;
}

static void print_sum(void)
{
	printf("# %lu events, %lu cookies (%lu stray), %zu stacks, %lu losses, %lu file maps\n",
	       trace.events, trace.cookies, trace.stray, trace.nr_stacks,
	       trace.reader.nr_lost, trace.maps);
	printf("# %lu stacks joined to %lu events with a number, and to %lu others\n",
	       trace.joined_stacks, trace.joined, trace.unknown);
	printf("# %lu truncated, %lu incomplete, %lu wrong\n", trace.truncated,
	       trace.incomplete, trace.wrong);
}

static bool set_in(const char *instance, const char *file, const char *value)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "instances/%s/%s", instance, file);
	return tracefs_instance_file_write(NULL, path, value) >= 0;
}

/* Not by turning events off: see drop_test.sh. */
static void silence(const char *instance)
{
	static const char * const filters[] = {
		"events/syscalls/sys_enter_write/filter",
		"events/syscalls/sys_exit_write/filter",
		"events/sched/sched_switch/filter",
	};

	for (int i = 0; i < 3; i++)
		if (!set_in(instance, filters[i], "common_pid == -1"))
			err(2, "%s", filters[i]);
	if (!set_in(instance, "options/markers", "0"))
		err(2, "options/markers");
}

/*
 * Such a small buffer loses most records that explain ids: request them again once nothing else is
 * written.
 */
static void learn_ids(const char *instance, char *program)
{
	silence(instance);
	drain(program);
	for (int i = 0; i < 100 && !trace.nr_ids; i++) {
		if (!set_in(instance, "code_replay", "1"))
			err(2, "code_replay");
		wait_for(10000);
		drain(program);
	}
	if (!trace.nr_ids)
		errx(1, "nothing explains the id of %s", program);
}

int main(int argc, char **argv)
{
	unsigned long stacks = LONG_MAX;
	long seconds = 60, usecs = 0;
	bool exchange = false;
	time_t end;
	int opt;

	while ((opt = getopt(argc, argv, "n:s:u:x")) != -1) {
		if (opt == 'n')
			stacks = strtoul(optarg, NULL, 10);
		else if (opt == 's')
			seconds = strtol(optarg, NULL, 10);
		else if (opt == 'u')
			usecs = strtol(optarg, NULL, 10);
		else if (opt == 'x')
			exchange = true;
		else
			return 2;
	}
	if (argc - optind != 3)
		errx(2, "usage: truth_join [OPTION]... INSTANCE PROGRAM MAP");
	open_trace(argv[optind]);
	read_map(argv[optind + 2]);
	end = time(NULL) + seconds;
	while (!enough(stacks) && time(NULL) < end) {
		raw_reader_step(&trace.reader, on_record, argv[optind + 1]);
		wait_for(usecs);
	}
	learn_ids(argv[optind], argv[optind + 1]);
	if (exchange)
		exchange_cookies();
	check_cookies();
	forget_joined();
	join_all(compare);
	print_sum();
	return trace.wrong || !trace.joined ||
	       (stacks != LONG_MAX && trace.joined_stacks < stacks);
}
