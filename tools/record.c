// SPDX-License-Identifier: MIT
/*
 * codectl record: the user stacks of events.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "attach_child.h"
#include "blocked.h"
#include "child.h"
#include "code_names.h"
#include "interrupt.h"
#include "process.h"
#include "report/writers.h"
#include "record_cpu.h"
#include "record_options.h"
#include "record_outputs.h"
#include "session.h"
#include "stacks.h"
#include "tool.h"
#include "wait_kind.h"

/* Between two looks at the buffers. */
#define PERIOD_MS	50
/* Number of passes at the end, for what is on its way back to user space. */
#define LAST_PASSES	4
/* Records between two looks at the clock. */
#define RECORDS_PER_LOOK	1024
/* Records of names in a pass: programs may write them as fast as they are read. */
#define NAMES_PER_PASS	(1 << 20)

struct recording {
	struct session session;
	struct record_layout layout;
	struct name_layout name_layout;
	struct wait_layout wait_layout;	/* type -1: waits are not recorded */
	struct wait_layout wake_layout;	/* nor who ends them */
	struct kernel_layout kernel_layout;	/* nor kernel stacks */
	struct attach_child attach;
	pid_t child;
	int process;		/* the one that is recorded, with its threads; -1: it has ended */
	uint64_t released;	/* when it had become the command, in ns */
	pid_t waiter;		/* whose waits are recorded; 0: nobody's, or everybody's */
	struct blocked *blocked;	/* its threads that wait at the end, or NULL */
	uint64_t since;		/* the end, in ns; 0: not yet */
	struct join *join;
	struct stacks *stacks;
	struct kernel_stacks *kernel;	/* NULL: not recorded */
	struct frames *frames;
	struct code_names *names;	/* NULL: only those of the perf map */
	uint64_t name_time;	/* of the latest record of names */
	struct profile *profile;	/* what is reported */
	double end;		/* by the monotonic clock, 0: none */
	bool any;		/* record has come */
	bool stopped;
	unsigned long records, name_records;
	unsigned long lost;	/* at least that many */
	unsigned long lost_names;
	unsigned long malformed;
	unsigned long ours, ours_truncated;	/* waits for this program, which are not reported */
	unsigned long left_out;
};

/* ------------------------------------------------------------------ records */

static double now(void)
{
	return now_ns() / 1e9;
}

static void note_threads(void *context, unsigned long nr, const char *text)
{
	struct recording *recording = context;

	outputs_note(recording->profile, nr, text);
}

/* Their stacks come only when they continue. */
static void find_blocked(struct recording *recording)
{
	recording->blocked = blocked_find(recording->waiter);
	blocked_deadlocks(recording->blocked, note_threads, recording);
	blocked_interrupt(recording->blocked);
}

/* Continues to record while stacks of threads that wait are to come. */
static void stop(struct recording *recording)
{
	if (recording->stopped)
		return;
	if (!recording->since) {
		recording->since = now_ns();
		/* Another process may have its number by now. */
		if (recording->waiter && !process_has_ended(recording->process))
			find_blocked(recording);
	}
	if (recording->blocked && blocked_will_run(recording->blocked))
		return;
	if (recording->blocked)
		blocked_left(recording->blocked, note_threads, recording);
	recording->stopped = true;
	session_stop(&recording->session);
}

/* Events may come faster than they are read: check within a pass, too. */
static bool must_stop(struct recording *recording)
{
	if (!interrupted && (!recording->end || now() < recording->end))
		return false;
	stop(recording);
	return true;
}

/* Its compiled code has the names of that time. */
static void add_stack(void *context, const struct traced_event *event, unsigned long count,
		      struct join_stack *stack)
{
	struct recording *recording = context;
	struct process_id process = stacks_process(recording->stacks, stack->tid, stack->tid);

	if (event->kind == WAIT_OURS) {
		recording->ours += count;
		recording->ours_truncated += stack->stop == STOP_COMPLETE ? 0 : count;
		return;
	}
	frames_note(recording->frames, stack->frames, stack->nr, process);
	frames_number(recording->frames, stack->frames, stack->nr, process, stack->time);
	if (!stacks_add(recording->stacks, event, count, stack))
		recording->left_out += count;
}

/* The process is the same as long as one of its threads exists. */
static void take_file(struct recording *recording, const struct file_record *file, int32_t tid)
{
	frames_add_file(recording->frames, file,
			stacks_process(recording->stacks, tid, tid).pid);
}

/* Is it of what came after the end, to have stacks of threads that waited then? */
static bool is_late(struct recording *recording, uint64_t time)
{
	return recording->blocked && time >= recording->since;
}

static bool take_wait(struct recording *recording, struct traced_event *event, int32_t tid,
		      const struct tep_record *record)
{
	struct wait_record wait;
	uint64_t start;

	if (!wait_record_parse(&wait, &recording->wait_layout, record->data, record->size))
		return false;
	start = record->ts - wait.ns;
	event->ns = wait.ns;
	event->kind = wait_kind(&wait);
	if (is_late(recording, start) ||
	    (tid == recording->child && start < recording->released)) {
		event->kind = WAIT_OURS;
	} else if (is_late(recording, record->ts)) {
		event->kind |= WAIT_STILL;
		event->ns = recording->since - start;
	}
	return true;
}

/* This program wakes the command that it starts, and threads that it has interrupted. */
static bool take_wake(struct recording *recording, struct traced_event *event, int32_t tid,
		      const struct tep_record *record)
{
	struct wait_record wait;
	bool ours = tid == getpid() || is_late(recording, record->ts);

	if (!wait_record_parse(&wait, &recording->wake_layout, record->data, record->size))
		return false;
	event->ns = wait.ns;
	event->kind = ours ? WAIT_OURS : wait_kind(&wait) | WAIT_WOKEN;
	event->woken = wait.tid;
	return true;
}

/* What the records that come with an event have in common with it. */
static uint32_t context_of(struct recording *recording, struct tep_record *record)
{
	struct tep_handle *tep = recording->session.tep;

	return tep_data_flags(tep, record) << 8 | tep_data_preempt_count(tep, record);
}

static bool take_event(struct recording *recording, int type, int32_t tid, int cpu,
		       struct tep_record *record)
{
	struct traced_event event = { .type = type };

	if (type == recording->wait_layout.type && !take_wait(recording, &event, tid, record))
		return false;
	if (type == recording->wake_layout.type && !take_wake(recording, &event, tid, record))
		return false;
	join_event(recording->join, cpu, tid, context_of(recording, record), &event);
	return true;
}

static bool take_kernel(struct recording *recording, int32_t tid, int cpu,
			struct tep_record *record)
{
	static struct kernel_record kernel;

	if (!kernel_record_parse(&kernel, &recording->kernel_layout, record->data,
				 record->size))
		return false;
	join_kernel(recording->join, cpu, tid, context_of(recording, record),
		    kernel_stacks_add(recording->kernel, kernel.address, kernel.nr));
	return true;
}

static bool take_record(struct recording *recording, int type, int32_t tid,
			int cpu, struct tep_record *record)
{
	const struct record_layout *layout = &recording->layout;
	struct cookie_record cookie;
	struct stack_record stack;
	struct file_record file;

	if (type == layout->cookie_type) {
		if (!cookie_record_parse(&cookie, layout, record->data,
					 record->size))
			return false;
		join_cookie(recording->join, cpu, tid, &cookie);
	} else if (type == layout->stack_type) {
		if (!stack_record_parse(&stack, layout, record->data,
					record->size))
			return false;
		stack.time = record->ts;
		join_stack(recording->join, tid, &stack);
	} else if (type == layout->file_type) {
		if (!file_record_parse(&file, layout, record->data, record->size))
			return false;
		take_file(recording, &file, tid);
	} else if (type == recording->kernel_layout.type) {
		return take_kernel(recording, tid, cpu, record);
	} else {
		return take_event(recording, type, tid, cpu, record);
	}
	return true;
}

static int on_record(struct tep_event *event, struct tep_record *record, int cpu,
		     void *context)
{
	struct recording *recording = context;
	int32_t tid = tep_data_pid(recording->session.tep, record);

	if (!recording->any)
		stacks_begin(recording->stacks, record->ts);
	recording->any = true;
	if (record->missed_events) {
		recording->lost += record->missed_events > 0 ?
				   record->missed_events : 1;
		join_lost(recording->join, cpu);
	}
	if (!take_record(recording, event->id, tid, cpu, record))
		recording->malformed++;
	if (++recording->records % RECORDS_PER_LOOK == 0)
		must_stop(recording);
	return 0;
}

/* A process in a container has another number for itself than its threads have here. */
static struct process_id teller(struct recording *recording, struct tep_record *record,
				uint32_t pid)
{
	return stacks_process(recording->stacks, tep_data_pid(recording->session.tep, record),
			      pid);
}

static int on_name(struct tep_event *event, struct tep_record *record, int cpu, void *context)
{
	struct recording *recording = context;
	const bool full = ++recording->name_records == NAMES_PER_PASS;
	struct name_record name;

	(void)cpu;
	/* What has been read beyond the last record of a pass is lost. */
	if (record->missed_events || full) {
		recording->lost_names += record->missed_events > 0 ? record->missed_events : 1;
		code_names_lost(recording->names, recording->name_time);
	}
	if (event->id != recording->name_layout.type)
		return full;
	recording->name_time = record->ts;
	if (name_record_parse(&name, &recording->name_layout, record->data, record->size))
		code_names_add(recording->names, teller(recording, record, name.pid),
			       record->ts, &name);
	else
		recording->malformed++;
	return full;
}

typedef int (*record_fn)(struct tep_event *event, struct tep_record *record, int cpu,
			 void *context);

static void read_buffer(struct recording *recording, struct tracefs_instance *instance,
			record_fn take)
{
	if (tracefs_iterate_raw_events(recording->session.tep, instance, NULL, 0, take,
				       recording) < 0 && errno != EINTR)
		die("cannot read the trace: %s", strerror(errno));
}

static void read_names(struct recording *recording)
{
	recording->name_records = 0;
	read_buffer(recording, recording->session.names, on_name);
}

/*
 * What is reported about the code in a stack that was read here came before, or just
 * now.
 */
static void read_buffers(struct recording *recording)
{
	read_buffer(recording, recording->session.instance, on_record);
	if (recording->names)
		read_names(recording);
	join_pass(recording->join);
}

static void pause_ms(int milliseconds)
{
	poll(NULL, 0, milliseconds);
}

/* ---------------------------------------------------------------- recording */

static bool has_ended(const struct recording *recording, const struct record_options *options,
		      struct child *child)
{
	if (options->command)
		return child_has_ended(child);
	return options->pid && process_has_ended(recording->process);
}

static void end(struct recording *recording)
{
	for (stop(recording); !recording->stopped; stop(recording)) {
		pause_ms(PERIOD_MS);
		read_buffers(recording);
	}
}

static void record(struct recording *recording, const struct record_options *options,
		   struct child *child)
{
	bool ended = false;

	if (options->duration)
		recording->end = now() + options->duration;
	while (!must_stop(recording) && !ended) {
		pause_ms(PERIOD_MS);
		ended = has_ended(recording, options, child);
		read_buffers(recording);
	}
	/* Before that is told to end. */
	if (recording->waiter)
		end(recording);
	if (options->command)
		child_terminate(child);
	end(recording);
}

/* Stacks come when their tasks return to user space, ids with the first of them. */
static void read_rest(struct recording *recording)
{
	for (int pass = 0; pass < LAST_PASSES; pass++) {
		read_buffers(recording);
		if (pass && !join_counts(recording->join)->pending)
			break;
		pause_ms(PERIOD_MS);
	}
	join_finish(recording->join);
	if (!stacks_lack_ids(recording->stacks, recording->frames))
		return;
	session_explain_ids(&recording->session);
	read_buffers(recording);
}

static void find_processes(struct recording *recording)
{
	char *tgids = tracefs_instance_file_read(NULL, "saved_tgids", NULL);
	char *names = tracefs_instance_file_read(NULL, "saved_cmdlines", NULL);

	if (tgids)
		stacks_find_processes(recording->stacks, tgids);
	if (names)
		stacks_find_names(recording->stacks, names);
	free(tgids);
	free(names);
}

/* ------------------------------------------------------------------- report */

static struct profile_event describe_event(void *context, uint32_t type, uint32_t kind)
{
	static char name[256];
	struct session *session = context;
	struct tep_event *event = tep_find_event(session->tep, type);

	if (kind)
		return (struct profile_event){ .name = wait_kind_name(kind), .timed = true };
	if (event)
		snprintf(name, sizeof(name), "%s:%s", event->system, event->name);
	return (struct profile_event){ .name = event ? name : "unknown event" };
}

static void note_losses(struct recording *recording)
{
	const struct join_counts *counts = join_counts(recording->join);
	struct profile *profile = recording->profile;

	outputs_note(profile, counts->truncated - recording->ours_truncated,
		     "stacks are truncated");
	outputs_note(profile, counts->incomplete,
		     "events left out: parts of their stack are lost");
	outputs_note(profile, recording->left_out,
		     "events left out: there are too many different stacks");
	if (recording->kernel)
		outputs_note(profile, kernel_stacks_left_out(recording->kernel),
			     "events lack the kernel's frames: there are too many different stacks");
	outputs_note(profile, counts->events - counts->asked,
		     "events asked for no stack, as those of the kernel's threads");
	outputs_note(profile, counts->pending,
		     "events without a stack: lost, or still to come");
	outputs_note(profile, counts->stray_cookies, "cookies of events that are lost");
	outputs_note(profile, counts->stray_stacks, "stacks of events that were lost");
	outputs_note(profile, recording->lost,
		     "records lost at least; a larger --buffer may help");
	outputs_note(profile, recording->lost_names,
		     "names lost at least, of compiled code; a larger --buffer may help");
	outputs_note(profile, frames_lost(recording->frames),
		     "files lack names: who reads them did not answer in time, or in full");
	outputs_note(profile, recording->malformed,
		     "records of the trace could not be made out");
}

static void report(struct recording *recording, struct outputs *outputs,
		   const struct record_options *options)
{
	const struct event_names names = { describe_event, &recording->session, recording->kernel };
	const struct join_counts *counts = join_counts(recording->join);
	struct selection selection = select_all(recording->profile);
	size_t different;

	find_processes(recording);
	interrupt_names();
	recording->left_out += stacks_fill(recording->stacks, recording->frames, &names,
					   recording->profile);
	select_unit(&selection);
	different = outputs_list(outputs, &selection);
	fprintf(stderr, "codectl: %lu events, %lu with their stack (%zu different)\n",
		counts->events - recording->ours, counts->joined - recording->ours, different);
	note_losses(recording);
	outputs_write(outputs, &selection, options);
}

/* ------------------------------------------------------------------ main */

/* For the records that are wanted. */
static void read_layouts(struct recording *recording, const struct record_options *options)
{
	struct tep_handle *tep = recording->session.tep;

	recording->wait_layout.type = -1;
	recording->wake_layout.type = -1;
	recording->kernel_layout.type = -1;
	if (!record_layout_read(&recording->layout, tep))
		die("this kernel's records of user stacks have another form");
	if (options->names && !name_layout_read(&recording->name_layout, tep))
		die("there is another event codectl_name, of other fields");
	if ((options->wait && !wait_layout_read(&recording->wait_layout, tep, "task_waited")) ||
	    (options->wakers && !wait_layout_read(&recording->wake_layout, tep, "task_wakes")))
		die("this kernel's tasks tell of their waits in another form");
	if (options->kernel && !kernel_layout_read(&recording->kernel_layout, tep))
		die("this kernel's records of its own stacks have another form");
}

static void open_recording(struct recording *recording,
			   const struct record_options *options)
{
	struct session *session = &recording->session;

	*recording = (struct recording){ 0 };
	session_check();
	if (options->wait)
		session_add_waits(session, options->min_wait_us, options->wakers);
	else if (options->futex || !options->nr_events)
		session_add_event(session, "syscalls:sys_enter_futex");
	for (size_t i = 0; i < options->nr_events; i++)
		session_add_event(session, options->events[i]);
	session->kernel = options->kernel;
	session_open(session, options->buffer_kib, options->names);
	read_layouts(recording, options);
	recording->kernel = options->kernel ? kernel_stacks_new() : NULL;
	recording->names = options->names ? code_names_new() : NULL;
	recording->stacks = stacks_new();
	recording->profile = profile_new();
	recording->frames = frames_new(recording->names);
	recording->join = join_new(add_stack, recording);
}

static void start(struct recording *recording, const struct record_options *options,
		  struct child *child)
{
	struct session *session = &recording->session;

	if (options->command) {
		child_prepare(child, options->command);
		session_follow_thread(session, child->pid);
		recording->process = process_open(child->pid);
		recording->waiter = options->wait ? child->pid : 0;
	} else if (options->pid) {
		struct process_id process = stacks_process(recording->stacks, options->pid,
							   options->pid);

		recording->process = process_open(process.pid);
		/* It may have ended when its first stack is read. */
		frames_note_process(recording->frames, process);
		session_follow_process(session, options->pid);
		recording->waiter = options->wait ? options->pid : 0;
	} else {
		session_leave_out(session, getpid());
	}
	if (!options->no_attach)
		attach_child_start(&recording->attach,
				   options->command ? child->pid : options->pid);
	session_start(session);
	if (!options->command)
		return;
	if (interrupted)
		die("interrupted");
	recording->child = child->pid;
	child_release(child, options->command[0]);
	recording->released = now_ns();
}

static void close_recording(struct recording *recording)
{
	join_free(recording->join);
	stacks_free(recording->stacks);
	profile_free(recording->profile);
	frames_free(recording->frames);
	if (recording->kernel)
		kernel_stacks_free(recording->kernel);
	if (recording->blocked)
		blocked_free(recording->blocked);
	if (recording->names)
		code_names_free(recording->names);
	session_close(&recording->session);
}

static void record_all(struct recording *recording, const struct record_options *options,
		       struct child *child)
{
	struct profile_about *about = profile_about(recording->profile, false);
	const uint64_t started = now_ns();
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	about->start = time.tv_sec * 1000000000ULL + time.tv_nsec;
	start(recording, options, child);
	record(recording, options, child);
	about->duration = recording->since - started;
	read_rest(recording);
	attach_child_end(&recording->attach);
}

int cmd_record(int argc, char **argv)
{
	struct recording recording;
	struct record_options options;
	struct child child = { 0 };
	struct outputs outputs;

	record_options_parse(&options, argc, argv);
	if (options.cpu) {
		record_cpu(&options);
		record_options_free(&options);
		return 0;
	}
	need_codectl();
	interrupt_catch();
	open_recording(&recording, &options);
	outputs = outputs_open(&options);
	record_all(&recording, &options, &child);
	report(&recording, &outputs, &options);
	close_recording(&recording);
	record_options_free(&options);
	return 0;
}
