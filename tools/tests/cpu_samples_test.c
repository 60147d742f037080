// SPDX-License-Identifier: MIT
/*
 * Samples on CPUs as profiles: their frames and tasks, and the kernel's names.
 */
#include "check.h"
#include "cpu_samples.h"
#include "kernel_names.h"
#include "mapping.h"
#include "perf_records.h"
#include "perf_stream.h"
#include "tool.h"

struct run {
	struct cpu_samples *samples;
	struct profile *profile;
	unsigned long refused;
};

static struct bytes start(void)
{
	struct bytes bytes = { 0 };

	put_file_header(&bytes);
	put_attr(&bytes, ALL_FIELDS, 1);
	return bytes;
}

static struct run run(const struct bytes *bytes, bool kernel)
{
	struct run run = { cpu_samples_new(kernel), profile_new(), 0 };
	struct perf_stream *stream = perf_stream_new(cpu_samples_take, run.samples);

	CHECK(!perf_stream_feed(stream, bytes->data, bytes->len));
	perf_stream_end(stream);
	CHECK(!perf_stream_malformed(stream));
	perf_stream_free(stream);
	cpu_samples_settle(run.samples, UINT64_MAX);
	run.refused = cpu_samples_fill(run.samples, run.profile);
	return run;
}

static void end(struct run run)
{
	cpu_samples_free(run.samples);
	profile_free(run.profile);
}

static uint32_t nr_samples(const struct run *run)
{
	return profile_counts(run->profile).samples;
}

/* "a;b" of the sample, the innermost first: the offset where there is no function. */
static char *stack_of(const struct run *run, uint32_t nr)
{
	uint32_t stack = profile_sample_at(run->profile, nr)->stack;
	char *text = format("%s", "");

	for (; stack != PROFILE_NO_STACK; stack = profile_stack_caller(run->profile, stack)) {
		const struct profile_frame frame =
			profile_frame_at(run->profile, profile_stack_frame(run->profile, stack));
		char *more = frame.function ? format("%s%s;", text, frame.function) :
			format("%s%s%llx;", text, frame.flags & PROFILE_KERNEL ? "k" : "",
			       (unsigned long long)frame.offset);

		free(text);
		text = more;
	}
	return text;
}

static struct put_sample in_user(uint64_t time, uint32_t tid)
{
	return (struct put_sample){ .time = time, .ip = 0x10, .period = 100, .pid = tid,
		.tid = tid, .nr = 3, .ips = { PERF_CONTEXT_USER, 0x10, 0x20 } };
}

/* A sample whose user stack comes later. */
static struct put_sample in_kernel(uint64_t time, uint32_t tid, uint64_t cookie)
{
	return (struct put_sample){ .time = time, .period = 100, .pid = tid, .tid = tid,
		.misc = PERF_RECORD_MISC_KERNEL, .nr = 5,
		.ips = { PERF_CONTEXT_KERNEL, -1ULL << 32, (-1ULL << 32) + 1, USER_DEFERRED,
			 cookie } };
}

static void adds_up_what_is_the_same(void)
{
	struct bytes bytes = start();
	struct run seen;

	put_comm(&bytes, 5, 5, "a\n\033[1mb", false, 1);
	put_cgroup(&bytes, 6, "/c\033");
	for (int i = 0; i < 3; i++) {
		struct put_sample sample = in_user(10 + i, 5);

		sample.cgroup = 6;
		put_sample(&bytes, sample);
	}
	seen = run(&bytes, false);
	CHECK(nr_samples(&seen) == 1 && cpu_samples_counts(seen.samples).events == 3);
	CHECK(profile_sample_at(seen.profile, 0)->events == 3);
	CHECK(profile_sample_at(seen.profile, 0)->ns == 300);
	CHECK(!strcmp(profile_task_at(seen.profile, 0).comm, "a\\012\\033[1mb"));
	CHECK(!strcmp(profile_task_at(seen.profile, 0).cgroup, "/c\\033"));
	CHECK(profile_event_at(seen.profile, 0).timed);
	CHECK(is(stack_of(&seen, 0), "10;20;"));
	end(seen);
}

/* Joined by cookie and thread; each sample has its own kernel frames. */
static void joins_user_stacks_that_come_later(void)
{
	struct bytes bytes = start();
	struct run seen;

	put_sample(&bytes, in_kernel(10, 1, 7));
	put_sample(&bytes, in_kernel(11, 2, 7));
	put_sample(&bytes, in_kernel(12, 1, 7));
	put_chain(&bytes, 2, 7, 0x30, 0x40, 13);
	put_chain(&bytes, 1, 7, 0x50, 0x60, 14);
	put_chain(&bytes, 1, 7, 0x70, 0x80, 15);
	/* There may be a marker for user space. */
	put_sample(&bytes, in_kernel(16, 3, 7));
	put_chain(&bytes, 3, 7, PERF_CONTEXT_USER, 0x90, 17);
	seen = run(&bytes, true);
	CHECK(nr_samples(&seen) == 3 && !cpu_samples_counts(seen.samples).no_stack);
	CHECK(profile_sample_at(seen.profile, 0)->events == 1);
	CHECK(profile_sample_at(seen.profile, 1)->events == 2);
	CHECK(is(stack_of(&seen, 0), "kffffffff00000000;kffffffff00000001;30;40;"));
	CHECK(is(stack_of(&seen, 1), "kffffffff00000000;kffffffff00000001;50;60;"));
	CHECK(is(stack_of(&seen, 2), "kffffffff00000000;kffffffff00000001;90;"));
	end(seen);
	seen = run(&bytes, false);
	CHECK(is(stack_of(&seen, 0), "30;40;") && is(stack_of(&seen, 1), "50;60;"));
	end(seen);
}

static void counts_user_stacks_that_do_not_come(void)
{
	struct bytes bytes = start();
	struct run seen;

	put_sample(&bytes, in_kernel(10, 1, 7));
	put_chain(&bytes, 1, 8, 0x30, 0x40, 13);
	put_chain(&bytes, 2, 7, 0x30, 0x40, 14);
	put_lost(&bytes, 4, 15);
	seen = run(&bytes, true);
	CHECK(nr_samples(&seen) == 1 && cpu_samples_counts(seen.samples).no_stack == 1);
	CHECK(cpu_samples_counts(seen.samples).lost == 4);
	CHECK(is(stack_of(&seen, 0), "kffffffff00000000;kffffffff00000001;[no user stack];"));
	end(seen);
}

static void knows_the_kernel_from_idle(void)
{
	struct put_sample thread = { .time = 10, .period = 100, .pid = 3, .tid = 3,
		.misc = PERF_RECORD_MISC_KERNEL };
	struct put_sample gone = thread, idle = in_user(11, 0);
	struct bytes bytes = start();
	struct run seen;

	gone.pid = -1;
	gone.tid = -1;
	put_sample(&bytes, thread);
	put_sample(&bytes, idle);
	put_sample(&bytes, gone);
	seen = run(&bytes, false);
	CHECK(nr_samples(&seen) == 2 && cpu_samples_counts(seen.samples).events == 2);
	CHECK(is(stack_of(&seen, 0), "[kernel];") && is(stack_of(&seen, 1), "[kernel];"));
	CHECK(profile_task_at(seen.profile, 1).pid == 0);
	end(seen);
}

static void leaves_out_guests_and_odd_marks(void)
{
	struct bytes bytes = start();
	struct run seen;

	PUT_SAMPLE(&bytes, .time = 10, .pid = 1, .tid = 1, .nr = 7, .ips = { 0x1,
		   PERF_CONTEXT_GUEST, 0x2, PERF_CONTEXT_USER, 0x10, PERF_CONTEXT_MAX, 0x3 });
	/* A cookie that is cut off. */
	PUT_SAMPLE(&bytes, .time = 11, .ip = 0x40, .pid = 2, .tid = 2, .nr = 1,
		   .ips = { USER_DEFERRED });
	seen = run(&bytes, true);
	CHECK(is(stack_of(&seen, 0), "10;") && is(stack_of(&seen, 1), "40;"));
	end(seen);
}

static void keeps_no_more_than_it_may(void)
{
	const size_t nodes = cpu_samples_max_nodes, pending = cpu_samples_max_pending;
	struct bytes bytes = start();
	struct run seen;

	for (int i = 0; i < 6; i++)
		put_sample(&bytes, in_kernel(10 + i, 1, 100 + i));
	put_chain(&bytes, 1, 105, 0x30, 0x40, 20);
	cpu_samples_max_pending = 6;
	seen = run(&bytes, true);
	CHECK(cpu_samples_counts(seen.samples).no_stack == 5);
	CHECK(profile_sample_at(seen.profile, 0)->events == 5 && nr_samples(&seen) == 2);
	end(seen);
	cpu_samples_max_pending = pending;
	cpu_samples_max_nodes = 3;
	seen = run(&bytes, true);
	CHECK(cpu_samples_counts(seen.samples).left_out == 6 && !nr_samples(&seen));
	/* Each of them is counted once. */
	CHECK(!cpu_samples_counts(seen.samples).no_stack);
	end(seen);
	cpu_samples_max_nodes = nodes;
}

/* A program may call itself anything, and often. */
static void counts_files_without_room_for_their_names(void)
{
	struct cpu_samples *samples = cpu_samples_new(false);
	static char name[1 << 20];
	const struct perf_record named = {
		.kind = PERF_KIND_COMM, .pid = 1, .tid = 1, .comm.name = name,
	};
	const struct perf_record mapped = {
		.kind = PERF_KIND_MMAP, .pid = 1, .tid = 1,
		.mmap = { .start = 0x1000, .len = 0x1000, .inode = 1, .path = "/bin/demo" },
	};

	memset(name, 'n', sizeof(name) - 1);
	for (int i = 0; i < 128; i++) {
		*name = 1 + i;
		cpu_samples_take(samples, &named);
	}
	while (*name) {
		name[strlen(name) / 2] = '\0';
		cpu_samples_take(samples, &named);
	}
	CHECK(!cpu_samples_unnamed(samples));
	cpu_samples_take(samples, &mapped);
	CHECK(cpu_samples_unnamed(samples) == 1);
	cpu_samples_free(samples);
}

static void forgets_samples_and_goes_on(void)
{
	struct cpu_samples *samples = cpu_samples_new(false);
	struct profile *profile = profile_new();
	struct perf_record record = { .kind = PERF_KIND_SAMPLE, .pid = 1, .tid = 1, .time = 5 };

	cpu_samples_take(samples, &record);
	CHECK(cpu_samples_latest(samples) == 5);
	cpu_samples_clear(samples);
	record.sample.ip = 0x77;
	cpu_samples_take(samples, &record);
	CHECK(!cpu_samples_fill(samples, profile) && profile_counts(profile).samples == 1);
	CHECK(cpu_samples_counts(samples).events == 2);
	profile_free(profile);
	cpu_samples_free(samples);
}

/* ------------------------------------------------------------------ own names */

/* A function of which only the address is used. */
static void __attribute__((noinline)) known_function(void)
{
	__asm__ volatile("nop");
}

/* The line of /proc/self/maps that has the address. */
static struct mapping own_mapping(uint64_t address, char *line, size_t size)
{
	FILE *file = fopen("/proc/self/maps", "r");
	struct mapping mapping;

	while (fgets(line, size, file)) {
		line[strcspn(line, "\n")] = '\0';
		if (mapping_parse(&mapping, line, strlen(line)) && mapping.start <= address &&
		    address < mapping.end)
			break;
	}
	fclose(file);
	return mapping;
}

/* The file is identified by device and inode, as there is no build-id. */
static void names_functions_and_lines(void)
{
	const uint64_t address = (uintptr_t)known_function;
	char line[4096];
	const struct mapping map = own_mapping(address, line, sizeof(line));
	struct put_sample sample = in_user(10, getpid());
	struct bytes bytes = start();
	struct profile_frame frame;
	uint32_t stack;
	struct run seen;

	PUT_MMAP(&bytes, .pid = getpid(), .tid = getpid(), .start = map.start,
		 .len = map.end - map.start, .offset = map.offset, .inode = map.inode,
		 .major = map.major, .minor = map.minor, .path = map.path.at);
	sample.ips[1] = address;
	/* A return address just past the end of the function belongs to it. */
	sample.ips[2] = address + 1;
	put_sample(&bytes, sample);
	seen = run(&bytes, false);
	CHECK(is(stack_of(&seen, 0), "known_function;known_function;"));
	stack = profile_sample_at(seen.profile, 0)->stack;
	frame = profile_frame_at(seen.profile, profile_stack_frame(seen.profile, stack));
	CHECK(frame.source && strstr(frame.source, "cpu_samples_test.c") && frame.line > 100);
	CHECK(frame.distance == 0 && frame.offset == address - map.start + map.offset);
	CHECK(!cpu_samples_unnamed(seen.samples));
	end(seen);
}

/* --------------------------------------------------------------- kernel's names */

static const char kallsyms[] =
	"ffffffff81000000 T _text\n"
	"ffffffff81000000 T startup\n"
	"ffffffff81000100 d data\n"
	"ffffffff81000200 t local\n"
	"0000000000000040 A percpu\n"
	"ffffffffc0000000 t in_module\t[some]\n"
	"nonsense\n"
	"ffffffff81000300 T\040\n"
	"ffffffff81000400 T \0cut\n"
	"ffffffff81000500 \0 no_type\n"
	"ffffffff81000080 W weak";

static bool finds(const struct kernel_names *names, uint64_t address, const char *function,
		  const char *module, uint64_t distance)
{
	const char *found, *in;
	uint64_t from;

	if (!kernel_names_find(names, address, &found, &in, &from))
		return !function;
	return function && !strcmp(found, function) && from == distance &&
	       (module ? in && !strcmp(in, module) : !in);
}

/* The present perf map was written by the process that now has the number. */
static void names_code_of_two_processes_with_one_number(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	struct bytes bytes = start();
	FILE *file = fopen(map, "w");
	struct run seen;

	CHECK(file && fputs("0 100 jit\n", file) >= 0 && !fclose(file));
	put_sample(&bytes, in_user(10, getpid()));
	put_fork(&bytes, PERF_RECORD_FORK, 0, getpid(), getpid(), 15);
	put_sample(&bytes, in_user(20, getpid()));
	put_fork(&bytes, PERF_RECORD_FORK, 0, getpid(), 1, 25);
	put_sample(&bytes, in_user(30, getpid()));
	seen = run(&bytes, false);
	CHECK(nr_samples(&seen) == 2);
	CHECK(profile_sample_at(seen.profile, 0)->events == 2);
	CHECK(is(stack_of(&seen, 0), "10;20;"));
	CHECK(is(stack_of(&seen, 1), "jit;jit;"));
	end(seen);
	unlink(map);
	free(map);
}

static void finds_functions_of_the_kernel(void)
{
	char *text = exact_copy(kallsyms, sizeof(kallsyms) - 1);
	struct kernel_names *names = kernel_names_parse(text, sizeof(kallsyms) - 1);

	CHECK(finds(names, 0xffffffff80ffffff, NULL, NULL, 0));
	CHECK(finds(names, 0xffffffff81000000, "_text", NULL, 0));
	CHECK(finds(names, 0xffffffff8100007f, "_text", NULL, 0x7f));
	CHECK(finds(names, 0xffffffff81000100, "weak", NULL, 0x80));
	CHECK(finds(names, 0xffffffff81000305, "local", NULL, 0x105));
	CHECK(finds(names, 0xffffffff81000505, "local", NULL, 0x305));
	CHECK(finds(names, 0xffffffffc0000001, "in_module", "[some]", 1));
	kernel_names_free(names);
	free(text);
}

/* Without the right to see addresses they are zeros. */
static void has_no_names_without_addresses(void)
{
	static const char hidden[] = "0000000000000000 T _text\n0000000000000000 T other\n";
	struct kernel_names *names = kernel_names_parse(hidden, sizeof(hidden) - 1);

	CHECK(finds(names, 0xffffffff81000000, NULL, NULL, 0) && finds(names, 0, NULL, NULL, 0));
	kernel_names_free(names);
	names = kernel_names_read("/nonexistent");
	CHECK(finds(names, -1, NULL, NULL, 0));
	kernel_names_free(names);
}

int main(void)
{
	RUN(adds_up_what_is_the_same);
	RUN(joins_user_stacks_that_come_later);
	RUN(counts_user_stacks_that_do_not_come);
	RUN(knows_the_kernel_from_idle);
	RUN(leaves_out_guests_and_odd_marks);
	RUN(keeps_no_more_than_it_may);
	RUN(counts_files_without_room_for_their_names);
	RUN(forgets_samples_and_goes_on);
	RUN(names_functions_and_lines);
	RUN(names_code_of_two_processes_with_one_number);
	RUN(finds_functions_of_the_kernel);
	RUN(has_no_names_without_addresses);
	return check_end();
}
