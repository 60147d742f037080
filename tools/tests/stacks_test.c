// SPDX-License-Identifier: MIT
/*
 * Stacks with their events: which are equal, their tasks, and their times.
 */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "stacks.h"
#include "texts.h"
#include "tool.h"

static const struct traced_event one_event = { .type = 1 };

/* Threads that no longer exist: the kernel assigns no ids that high. */
enum { GONE = 1 << 28 };

static void add_stack(struct stacks *stacks, uint32_t type, int32_t tid,
		      uint32_t stop, uint32_t nr)
{
	struct join_stack *stack;

	stack = calloc(1, sizeof(*stack) + 3 * sizeof(stack->frames[0]));
	*stack = (struct join_stack){ .nr = nr, .stop = stop, .tid = tid };
	for (uint32_t i = 0; i < nr; i++)
		stack->frames[i] = (struct frame){ 0x1000 * (i + 1), i ? 5 : 0, !i, 0 };
	stacks_add(stacks, &(struct traced_event){ .type = type }, 1, stack);
	free(stack);
}

static struct profile_event describe_type(void *context, uint32_t type, uint32_t kind)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s%u", (char *)context, type + 100 * kind);
	return (struct profile_event){ .name = name, .timed = kind };
}

/* Return: @stacks as text; the caller frees it. */
static char *as_text(struct stacks *stacks, bool fold)
{
	const struct event_names names = { .describe = describe_type, .context = "event" };
	struct frames *frames = frames_new(NULL);
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	char *text;

	stacks_fill(stacks, frames, &names, profile);
	select_unit(&selection);
	text = fold ? folded(&selection) : listed(&selection);
	profile_free(profile);
	frames_free(frames);
	return text;
}

static void stacks_by_count(void)
{
	struct stacks *stacks = stacks_new();

	add_stack(stacks, 1, GONE, STOP_COMPLETE, 1);
	add_stack(stacks, 2, GONE, STOP_FAULT, 2);
	add_stack(stacks, 2, GONE + 1, STOP_FAULT, 2);
	add_stack(stacks, 2, GONE, STOP_COMPLETE, 2);
	add_stack(stacks, 3, getpid(), STOP_COMPLETE, 1);
	CHECK(is(as_text(stacks, true),
		 "event1;[unknown] 1\n"
		 "event2;[truncated: fault];[unknown];[unknown] 2\n"
		 "event2;[unknown];[unknown] 1\n"
		 "event3;[unknown] 1\n"));
	CHECK(is(as_text(stacks, false),
		 "2 event2\n\t0x1000\n\t0x2000, id 0x5\n\t[truncated: fault]\n\n"
		 "1 event1\n\t0x1000\n\n"
		 "1 event2\n\t0x1000\n\t0x2000, id 0x5\n\n"
		 "1 event3\n\t0x1000\n\n"));
	stacks_free(stacks);
}

static void no_stacks(void)
{
	struct stacks *stacks = stacks_new();

	CHECK(is(as_text(stacks, true), ""));
	CHECK(is(as_text(stacks, false), ""));
	stacks_free(stacks);
}

/* In any order, each is counted with those equal to it. */
static void many_stacks(void)
{
	struct stacks *stacks = stacks_new();
	char *all, *line;

	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 216; i++) {
			uint32_t n = round == 1 ? 215 - i : i * 77 % 216;

			add_stack(stacks, n / 36, GONE + n % 3, n / 12 % 3,
				  n / 3 % 4);
		}
	all = as_text(stacks, true);
	line = strtok(all, "\n");
	for (int i = 0; i < 72; i++, line = strtok(NULL, "\n"))
		CHECK(line && !strcmp(strrchr(line, ' '), " 9"));
	CHECK(!line);
	free(all);
	stacks_free(stacks);
}

/* The same frames may mean different things in different processes. */
/* Counting goes on for processes that still exist. */
static void more_stacks_than_there_is_room_for(void)
{
	const size_t room = stacks_max_bytes;
	struct join_stack *stack = calloc(1, sizeof(*stack) + 100 * sizeof(stack->frames[0]));
	struct stacks *stacks = stacks_new();
	int taken = 0;

	stacks_max_bytes = 20000;
	stack->tid = GONE;
	stack->nr = 100;
	for (int i = 0; i < 20; i++) {
		stack->frames[0].offset = i;
		taken += stacks_add(stacks, &one_event, 1, stack);
	}
	CHECK(taken > 2 && taken < 8);
	stack->frames[0].offset = 0;
	CHECK(stacks_add(stacks, &one_event, 1, stack));
	stacks_free(stacks);
	stacks_max_bytes = room;
	free(stack);
}

/* Nor for more threads, each of which may have a long name of its cgroup. */
static void more_threads_than_there_is_room_for(void)
{
	const size_t room = stacks_max_bytes;
	struct join_stack *stack = calloc(1, sizeof(*stack) + sizeof(stack->frames[0]));
	struct stacks *stacks = stacks_new();
	struct traced_event woken = one_event;
	int taken = 0;

	stacks_max_bytes = 20000;
	stack->nr = 1;
	for (stack->tid = GONE; stack->tid < GONE + 1000; stack->tid++)
		taken += stacks_add(stacks, &one_event, 1, stack);
	CHECK(taken > 10 && taken < 100);
	stack->tid = GONE;
	CHECK(stacks_add(stacks, &one_event, 1, stack));
	woken.woken = getpid();
	CHECK(!stacks_add(stacks, &woken, 1, stack));
	CHECK(stacks_process(stacks, getpid(), getpid()).pid == getpid());
	stacks_free(stacks);
	stacks_max_bytes = room;
	free(stack);
}

static void stacks_of_processes(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	pid_t tids[] = { start_process(), getpid(), start_process() };
	struct stacks *stacks = stacks_new();

	write_text(map, "1000 100 mine\n");
	for (size_t i = 0; i < 2 * ARRAY_SIZE(tids); i++)
		add_stack(stacks, 1, tids[i % ARRAY_SIZE(tids)], STOP_COMPLETE, 1);
	CHECK(is(as_text(stacks, true),
		 "event1;[unknown] 4\nevent1;mine 2\n"));
	stacks_free(stacks);
	unlink(map);
	free(map);
	for (size_t i = 0; i < ARRAY_SIZE(tids); i += 2) {
		kill(tids[i], SIGKILL);
		waitpid(tids[i], NULL, 0);
	}
}

static void stacks_that_differ_in_a_frame(void)
{
	struct stacks *stacks = stacks_new();
	struct join_stack *stack;

	stack = calloc(1, sizeof(*stack) + sizeof(stack->frames[0]));
	*stack = (struct join_stack){ .nr = 1, .tid = GONE };
	for (int i = 0; i < 6; i++) {
		stack->frames[0] = (struct frame){ 0x1000 * (i % 2), i % 3, 0, 0 };
		stacks_add(stacks, &one_event, 1, stack);
	}
	free(stack);
	CHECK(is(as_text(stacks, false),
		 "1 event1\n\t0x0\n\n1 event1\n\t0x1000, id 0x1\n\n"
		 "1 event1\n\t0x0, id 0x2\n\n1 event1\n\t0x1000\n\n"
		 "1 event1\n\t0x0, id 0x1\n\n1 event1\n\t0x1000, id 0x2\n\n"));
	stacks_free(stacks);
}

/* One address can be in two functions: the one that ends with a call, and the next one. */
static void stacks_that_differ_in_what_is_exact(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	struct stacks *stacks = stacks_new();
	struct join_stack *stack;

	write_text(map, "1000 100 before\n1100 100 after\n");
	stack = calloc(1, sizeof(*stack) + sizeof(stack->frames[0]));
	*stack = (struct join_stack){ .nr = 1, .tid = getpid() };
	for (int i = 0; i < 3; i++) {
		stack->frames[0] = (struct frame){ 0x1100, 0, i > 0, 0 };
		stacks_add(stacks, &one_event, 1, stack);
	}
	free(stack);
	CHECK(is(as_text(stacks, true), "event1;after 2\nevent1;before 1\n"));
	CHECK(is(as_text(stacks, false), "2 event1\n\tafter+0x0 (0x1100)\n\n"
		 "1 event1\n\tbefore+0x100 (0x1100)\n\n"));
	stacks_free(stacks);
	unlink(map);
	free(map);
}

static void ids_of_stacks(void)
{
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();

	add_stack(stacks, 1, GONE, STOP_COMPLETE, 1);
	CHECK(!stacks_lack_ids(stacks, frames));
	add_stack(stacks, 1, GONE, STOP_COMPLETE, 2);
	CHECK(stacks_lack_ids(stacks, frames));
	frames_add_file(frames, &(struct file_record){ .id = 5, .unit = UNIT_ADDRESS }, getpid());
	CHECK(!stacks_lack_ids(stacks, frames));
	stacks_free(stacks);
	frames_free(frames);
}

/* The perf map is that of the process, whichever thread the stack is of. */
static void processes_of_threads(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	char *tgids = format("%d 7\n%d %d\nno line\n%d 7\n", GONE + 5, GONE,
			     getpid(), GONE);
	struct stacks *stacks = stacks_new();

	write_text(map, "1000 100 mine\n");
	add_stack(stacks, 1, GONE, STOP_COMPLETE, 1);
	CHECK(is(as_text(stacks, true), "event1;[unknown] 1\n"));
	stacks_find_processes(stacks, tgids);
	CHECK(is(as_text(stacks, true), "event1;mine 1\n"));
	stacks_find_processes(stacks, "");
	stacks_free(stacks);
	unlink(map);
	free(map);
	free(tgids);
}

/* The name of samples. */
static bool has_task(struct profile *profile, uint32_t nr, const char *comm, int32_t pid,
		     int32_t tid)
{
	const struct profile_sample *sample = profile_sample_at(profile, nr);
	struct profile_task task = profile_task_at(profile, sample->task);

	return task.pid == pid && task.tid == tid &&
	       (comm ? task.comm && !strcmp(task.comm, comm) : !task.comm);
}

static void cgroups_of_threads(void)
{
	FILE *file = popen("sed -n s/^0:://p /proc/self/cgroup", "r");
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();
	const struct event_names events = { .describe = describe_type, .context = "event" };
	char wanted[1000] = "";
	const char *cgroup;

	CHECK(file && fgets(wanted, sizeof(wanted), file) && *wanted == '/');
	wanted[strcspn(wanted, "\n")] = '\0';
	pclose(file);
	add_stack(stacks, 1, getpid(), STOP_COMPLETE, 1);
	stacks_fill(stacks, frames, &events, profile);
	cgroup = profile_task_at(profile, 0).cgroup;
	CHECK(cgroup && !strcmp(cgroup, wanted));
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
}

/* Known names stay, whatever the names of others look like. */
static void names_of_threads(void)
{
	char *names = format("%d gone\n%d b c\nno line\n%d evil\n%d\n%d%c\n"
			     "%d e\n%d forged\n%d e\n", GONE, GONE + 1, getpid(), GONE + 2,
			     GONE + 3, ' ', GONE + 4, GONE + 4, GONE + 4);
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();
	const struct event_names events = { .describe = describe_type, .context = "event" };

	for (int32_t i = 0; i < 3; i++)
		add_stack(stacks, 1, GONE + i, STOP_COMPLETE, 1);
	add_stack(stacks, 1, getpid(), STOP_COMPLETE, 1);
	add_stack(stacks, 1, GONE + 4, STOP_COMPLETE, 1);
	stacks_find_names(stacks, names);
	stacks_find_names(stacks, "");
	stacks_fill(stacks, frames, &events, profile);
	CHECK(profile_counts(profile).samples == 5);
	CHECK(has_task(profile, 4, NULL, GONE + 4, GONE + 4));
	CHECK(has_task(profile, 0, "gone", GONE, GONE));
	CHECK(has_task(profile, 1, "b c", GONE + 1, GONE + 1));
	CHECK(has_task(profile, 2, NULL, GONE + 2, GONE + 2));
	CHECK(has_task(profile, 3, "stacks_test", getpid(), getpid()));
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
	free(names);
}

/* Starts a process with that id, which needs privileges. */
static bool start_as(pid_t pid, const char *comm)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1,
	};
	pid_t child = syscall(SYS_clone3, &args, sizeof(args));

	if (!child) {
		prctl(PR_SET_NAME, comm);
		pause();
		_exit(0);
	}
	if (child > 0)
		usleep(200000);
	return child == pid;
}

/* The perf map of each process has the names of its own code. */
static void maps_of_processes_with_one_id(void)
{
	const struct event_names events = { .describe = describe_type, .context = "event" };
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();
	pid_t pid = start_process();
	char *map = format("/tmp/perf-%d.map", pid);
	struct process_id first = stacks_process(stacks, pid, pid), second;
	bool again;

	write_text(map, "1000 100 first\n");
	add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	/* Its map is open once there is an answer. */
	frames_symbol(frames, (struct frame){ .offset = 0x9000 }, first);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(map);
	sleep(1);
	again = start_as(pid, "second");
	CHECK(again || errno == EPERM);
	if (again) {
		write_text(map, "1000 100 second\n");
		add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
		second = stacks_process(stacks, pid, pid);
		CHECK(second.pid == first.pid && second.life != first.life);
		frames_note_process(frames, second);
	}
	stacks_fill(stacks, frames, &events, profile);
	select_unit(&selection);
	CHECK(is(folded(&selection), again ? "event1;first 1\nevent1;second 1\n" :
		 "event1;first 1\n"));
	if (again) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
	unlink(map);
	free(map);
}

/* An id that is given again is not the same thread. */
static void threads_with_one_id(void)
{
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();
	const struct event_names events = { .describe = describe_type, .context = "event" };
	pid_t pid = start_process();
	bool again;

	CHECK(stacks_process(stacks, pid, 1).pid == pid);
	add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	sleep(1);
	add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sleep(1);
	add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	again = start_as(pid, "a) S 1 2 3");
	CHECK(again || errno == EPERM);
	sleep(1);
	if (again)
		add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	if (again) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	stacks_fill(stacks, frames, &events, profile);
	CHECK(profile_counts(profile).samples == 1U + again);
	CHECK(has_task(profile, 0, "stacks_test", pid, pid));
	CHECK(!again || has_task(profile, 1, "a) S 1 2 3", pid, pid));
	CHECK(profile_sample_at(profile, 0)->events == 3);
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
}

/* Samples of one tick count as one. */
static void times_of_stacks(void)
{
	static const uint64_t times[] = { 1, PROFILE_TICK_NS - 1, PROFILE_TICK_NS, 990000000 };
	/* The last one is not a whole number of steps: steps are counted from there. */
	static const uint64_t starts[] = { 0, PROFILE_TICK_NS, PROFILE_TICK_NS / 2 };
	static const uint64_t wanted[][3] = {
		{ 0, PROFILE_TICK_NS, 900000000 }, { 0, 0, 800000000 }, { 0, 0, 900000000 },
	};
	const struct event_names events = { .describe = describe_type, .context = "event" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct profile *profile = profile_new();
		struct frames *frames = frames_new(NULL);
		struct stacks *stacks = stacks_new();

		stacks_begin(stacks, starts[i]);
		for (size_t n = 0; n < ARRAY_SIZE(times); n++) {
			struct join_stack stack = { .time = times[n], .tid = GONE };

			stacks_add(stacks, &one_event, 1, &stack);
		}
		stacks_fill(stacks, frames, &events, profile);
		CHECK(profile_counts(profile).samples == 3 - !!i);
		for (size_t n = 0; n < 3 - !!i; n++)
			CHECK(profile_sample_at(profile, n)->time == wanted[i][n + !!i]);
		CHECK(profile_sample_at(profile, 0)->events == 2 + !!i);
		stacks_free(stacks);
		frames_free(frames);
		profile_free(profile);
	}
}

/* Kinds are distinguished; waits that are too long are left out, and counted. */
static void times_of_waits(void)
{
	static const struct traced_event events[] = {
		{ .type = 1, .kind = 2, .ns = 5 }, { .type = 1, .kind = 2, .ns = 7 },
		{ .type = 1, .kind = 3, .ns = 1 }, { .type = 1, .kind = 4, .ns = 1ULL << 63 },
	};
	const struct event_names names = { .describe = describe_type, .context = "event" };
	struct stacks *stacks = stacks_new();
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	struct join_stack stack = { .tid = GONE };

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		CHECK(stacks_add(stacks, &events[i], 2, &stack));
	CHECK(stacks_fill(stacks, frames, &names, profile) == 2);
	CHECK(profile_counts(profile).samples == 2);
	CHECK(profile_sample_at(profile, 0)->ns == 12);
	CHECK(profile_sample_at(profile, 0)->events == 4);
	CHECK(profile_sample_at(profile, 1)->ns == 1);
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
}

/* Wakeup events belong to the woken task, and tell who woke it. */
static void wakers(void)
{
	static const struct traced_event events[] = {
		{ .type = 1, .woken = GONE + 1 }, { .type = 1, .woken = GONE + 2 },
		{ .type = 1, .woken = GONE + 1 }, { .type = 1 },
	};
	struct stacks *stacks = stacks_new();
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	const struct event_names names = { .describe = describe_type, .context = "event" };
	struct join_stack *stack = calloc(1, sizeof(*stack) + sizeof(stack->frames[0]));
	struct selection selection = select_all(profile);
	char *text;

	*stack = (struct join_stack){ .tid = GONE, .nr = 1 };
	stack->frames[0].offset = 0x1000;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		CHECK(stacks_add(stacks, &events[i], 1, stack));
	stacks_find_names(stacks, "268435456 first\n268435457 second\n");
	CHECK(!stacks_fill(stacks, frames, &names, profile));
	CHECK(profile_counts(profile).samples == 3);
	CHECK(profile_task_at(profile, profile_sample_at(profile, 0)->task).tid == GONE + 1);
	CHECK(profile_sample_at(profile, 0)->events == 2);
	CHECK(profile_task_at(profile, profile_sample_at(profile, 1)->task).tid == GONE + 2);
	CHECK(profile_task_at(profile, profile_sample_at(profile, 2)->task).tid == GONE);
	text = folded(&selection);
	CHECK(!strcmp(text, "event1;[unknown] 1\n"
			    "event1;[woken by first];[unknown] 3\n"));
	free(text);
	free(stack);
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
}

/* Kernel frames are on top of the user's. */
static void stacks_of_the_kernel(void)
{
	const uint64_t one[] = { 0xffffffff00000010, 0xffffffff00000020 };
	struct kernel_stacks *kernel = kernel_stacks_new();
	const uint32_t number = kernel_stacks_add(kernel, one, 2);
	const struct traced_event events[] = {
		{ .type = 1, .kernel = number }, { .type = 1 }, { .type = 1, .kernel = number },
		{ .type = 1, .kernel = 99 },
	};
	const struct event_names names = { describe_type, "event", kernel };
	struct stacks *stacks = stacks_new();
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	struct join_stack *stack = calloc(1, sizeof(*stack) + sizeof(stack->frames[0]));
	const struct profile_sample *sample;

	CHECK(number && kernel_stacks_add(kernel, one, 2) == number);
	CHECK(kernel_stacks_add(kernel, one, 1) != number);
	CHECK(!kernel_stacks_add(kernel, one, 0) && !kernel_stacks_left_out(kernel));
	*stack = (struct join_stack){ .tid = GONE, .nr = 1 };
	stack->frames[0].offset = 0x1000;
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		CHECK(stacks_add(stacks, &events[i], 1, stack));
	CHECK(!stacks_fill(stacks, frames, &names, profile));
	CHECK(profile_counts(profile).samples == 2);
	sample = profile_sample_at(profile, 0);
	CHECK(sample->events == 2 && profile_depth(profile, sample->stack) == 3);
	CHECK(profile_depth(profile, profile_sample_at(profile, 1)->stack) == 1);
	free(stack);
	kernel_stacks_free(kernel);
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
}

static void more_stacks_of_the_kernel_than_are_kept(void)
{
	const uint32_t most = kernel_stacks_max;
	const uint64_t stacks[] = { 1, 2, 3, 1, 3 };
	struct kernel_stacks *kernel = kernel_stacks_new();

	kernel_stacks_max = 2;
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		CHECK(!kernel_stacks_add(kernel, &stacks[i], 1) == (stacks[i] == 3));
	CHECK(kernel_stacks_left_out(kernel) == 2);
	kernel_stacks_free(kernel);
	kernel_stacks_max = most;
}

int main(void)
{
	RUN(stacks_by_count);
	RUN(no_stacks);
	RUN(many_stacks);
	RUN(more_stacks_than_there_is_room_for);
	RUN(more_threads_than_there_is_room_for);
	RUN(stacks_of_processes);
	RUN(stacks_that_differ_in_a_frame);
	RUN(stacks_that_differ_in_what_is_exact);
	RUN(ids_of_stacks);
	RUN(processes_of_threads);
	RUN(cgroups_of_threads);
	RUN(names_of_threads);
	RUN(threads_with_one_id);
	RUN(maps_of_processes_with_one_id);
	RUN(times_of_stacks);
	RUN(times_of_waits);
	RUN(wakers);
	RUN(stacks_of_the_kernel);
	RUN(more_stacks_of_the_kernel_than_are_kept);
	return check_end();
}
