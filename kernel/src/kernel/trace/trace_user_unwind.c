// SPDX-License-Identifier: GPL-2.0
/*
 * User stacks in the trace, taken when the task returns to user space
 *
 * Each event of an instance with the option userstacktrace_delay is followed by a
 * record with the cookie of the stack; the stack comes later, once for all events of
 * the same entry to the kernel. Its frames are offsets in files that have ids, and a
 * record of its own explains each id, before the first stack of the instance that has
 * it.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/codectl.h>
#include <linux/fs.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/trace_events.h>
#include <linux/tracefs.h>
#include <linux/uaccess.h>
#include <linux/unwind_deferred.h>

#include "trace.h"
#include "trace_output.h"

/*
 * What fits into the text of a record, which is two pages at most, and into the
 * bits of its field exact
 */
#define FRAMES_PER_RECORD	64
static_assert(FRAMES_PER_RECORD <= BITS_PER_LONG);

/* Ids that have been explained, in sets by their low bits, the last ones of each */
#define KNOWN_SETS		128
#define KNOWN_WAYS		4

/**
 * struct trace_user_known - ids that have been explained in the buffer of a CPU
 * @resets: the instance's count of resets when @ids was last emptied
 * @overrun: records of this CPU that had been overwritten by then
 * @entries: records that were in its buffer then
 * @ids: the ids; one that had to make room is explained again
 */
struct trace_user_known {
	int			resets;
	unsigned long		overrun;
	unsigned long		entries;
	u64			ids[KNOWN_SETS][KNOWN_WAYS];
};

/**
 * struct trace_user_unwind - the stacks of an instance
 * @tr: the instance
 * @work: asks for stacks
 * @resets: how often the trace was emptied
 * @known: what has been explained
 */
struct trace_user_unwind {
	struct trace_array	*tr;
	struct unwind_work	work;
	atomic_t		resets;
	struct trace_user_known __percpu *known;
};

static bool is_known(const struct trace_user_known *known, u64 id)
{
	const u64 *set = known->ids[id % KNOWN_SETS];
	unsigned int i;

	for (i = 0; i < KNOWN_WAYS; i++) {
		if (READ_ONCE(set[i]) == id)
			return true;
	}

	return false;
}

/* If two tasks do so at a time, one id may be forgotten: it is explained again. */
static void make_known(struct trace_user_known *known, u64 id)
{
	u64 *set = known->ids[id % KNOWN_SETS];
	unsigned int i;

	for (i = KNOWN_WAYS - 1; i; i--)
		WRITE_ONCE(set[i], READ_ONCE(set[i - 1]));
	WRITE_ONCE(set[0], id);
}

/**
 * __trace_user_unwind_event() - ask for the user stack of an event
 * @tr: the instance
 * @buffer: where the event was written
 * @type: its type
 * @trace_ctx: its context
 *
 * Context: any; preemption has been disabled since the event was written, so that only
 * interrupts write between the two records.
 */
void __trace_user_unwind_event(struct trace_array *tr,
			       struct trace_buffer *buffer, unsigned int type,
			       unsigned int trace_ctx)
{
	struct trace_user_unwind *unwind;
	struct user_unwind_entry *entry;
	struct ring_buffer_event *event;
	u64 cookie;

	/* Where RCU does not watch, it does not keep @unwind either. */
	if (!rcu_is_watching())
		return;
	unwind = rcu_dereference_sched(tr->user_unwind);
	if (!unwind || unwind_deferred_request(&unwind->work, &cookie) < 0)
		return;

	event = __trace_buffer_lock_reserve(buffer, TRACE_USER_UNWIND,
					    sizeof(*entry), trace_ctx);
	if (!event)
		return;
	entry = ring_buffer_event_data(event);
	entry->cookie = cookie;
	entry->event = type;
	__buffer_unlock_commit(buffer, event);
}

static void forget_ids(struct trace_user_known *known)
{
	unsigned int i, j;

	for (i = 0; i < KNOWN_SETS; i++)
		for (j = 0; j < KNOWN_WAYS; j++)
			WRITE_ONCE(known->ids[i][j], 0);
}

/*
 * What explains an id comes after everything that was in the CPU's buffer when ids were
 * last forgotten: it is there until that many records have been overwritten.  Ids are
 * forgotten after half of them, or half of those that fit in now.
 */
static bool is_overwritten(const struct trace_user_known *known,
			   unsigned long overrun, unsigned long entries)
{
	unsigned long lost = overrun - READ_ONCE(known->overrun);

	return lost && lost >= min(READ_ONCE(known->entries), entries) / 2;
}

/* Runs on the CPU of @known. */
static void forget_lost(struct trace_user_unwind *unwind,
			struct trace_user_known *known)
{
	struct trace_buffer *buffer = unwind->tr->array_buffer.buffer;
	int resets = atomic_read(&unwind->resets), cpu = smp_processor_id();
	unsigned long overrun = ring_buffer_overrun_cpu(buffer, cpu);
	unsigned long entries = ring_buffer_entries_cpu(buffer, cpu);

	if (READ_ONCE(known->resets) == resets &&
	    !is_overwritten(known, overrun, entries))
		return;

	WRITE_ONCE(known->resets, resets);
	WRITE_ONCE(known->overrun, overrun);
	WRITE_ONCE(known->entries, entries);
	forget_ids(known);
}

/* Returns whether there was room for it. */
static bool write_names(struct trace_array *tr,
			const struct codectl_names *names)
{
	struct trace_buffer *buffer = tr->array_buffer.buffer;
	size_t len = strlen(names->path) + 1;
	struct ring_buffer_event *event;
	struct file_map_entry *entry;

	event = __trace_buffer_lock_reserve(buffer, TRACE_FILE_MAP,
					    struct_size(entry, path, len),
					    tracing_gen_ctx());
	if (!event)
		return false;

	entry = ring_buffer_event_data(event);
	entry->id = names->id;
	entry->inode = names->ino;
	entry->dev_major = MAJOR(names->dev);
	entry->dev_minor = MINOR(names->dev);
	entry->names = names->names;
	entry->unit = names->unit;
	entry->build_id_len = names->build_id_len;
	memcpy(entry->build_id, names->build_id, sizeof(entry->build_id));
	memcpy(entry->path, names->path, len);
	__buffer_unlock_commit(buffer, event);

	return true;
}

/* Explains what the buffer of this CPU does not yet.  Two tasks may both do so. */
static void explain_ids(struct trace_user_unwind *unwind,
			struct trace_user_known *known,
			const struct codectl_stack *codes)
{
	struct codectl_names *names __free(kfree) = NULL;
	const struct codectl_range *range;
	unsigned int i;

	for (i = 0; i < codes->nr_ranges; i++) {
		range = &codes->ranges[i];
		if (!range->id || is_known(known, range->id))
			continue;

		if (!names)
			names = kmalloc_obj(*names);
		if (!names)
			return;
		if (!codectl_range_names(range, names))
			continue;
		/* Otherwise the id would stay known if the buffer is emptied in between. */
		guard(preempt)();
		if (write_names(unwind->tr, names))
			make_known(known, range->id);
	}
}

/* How many frames before @end have a number of compiled code. */
static unsigned int codes_before(const struct codectl_stack *codes,
				 unsigned int end)
{
	unsigned int nr = codes ? codes->nr_codes : 0;

	while (nr && codes->codes[nr - 1].frame >= end)
		nr--;

	return nr;
}

static_assert(sizeof(struct codectl_frame) == 2 * sizeof(u64));
static_assert(sizeof(struct codectl_code) == 2 * sizeof(u64));

/* Returns how many frames were written. */
static unsigned int write_frames(struct trace_array *tr,
				 const struct unwind_stacktrace *trace,
				 unsigned int first, u64 cookie)
{
	struct trace_buffer *buffer = tr->array_buffer.buffer;
	struct user_unwind_stack_entry *entry;
	unsigned int count = 0, code, codes;
	struct ring_buffer_event *event;

	if (trace->codes)
		count = min(trace->nr - first, FRAMES_PER_RECORD);
	code = codes_before(trace->codes, first);
	codes = codes_before(trace->codes, first + count) - code;

	event = __trace_buffer_lock_reserve(buffer, TRACE_USER_UNWIND_STACK,
					    struct_size(entry, frames,
							2 * (count + codes)),
					    tracing_gen_ctx());
	if (!event)
		return 0;

	entry = ring_buffer_event_data(event);
	entry->cookie = cookie;
	entry->nr = trace->nr;
	entry->first = first;
	entry->stop = trace->codes ? trace->stop : UNWIND_USER_STOP_NO_MEMORY;
	entry->count = count;
	entry->exact = bitmap_read(trace->exact, first, count);
	entry->codes = codes;
	if (count)
		memcpy(entry->frames, &trace->codes->frames[first],
		       count * sizeof(trace->codes->frames[0]));
	if (codes)
		memcpy(&entry->frames[2 * count], &trace->codes->codes[code],
		       codes * sizeof(trace->codes->codes[0]));
	__buffer_unlock_commit(buffer, event);

	return count;
}

/*
 * A stack is in the same buffer as what explains it.  If there is no room, the rest of
 * the stack is left out.
 */
static void write_stack(struct unwind_work *work,
			struct unwind_stacktrace *trace, u64 cookie)
{
	struct trace_user_unwind *unwind =
		container_of(work, struct trace_user_unwind, work);
	struct trace_user_known *known;
	unsigned int first = 0, count;

	guard(migrate)();
	known = this_cpu_ptr(unwind->known);
	forget_lost(unwind, known);
	if (trace->codes)
		explain_ids(unwind, known, trace->codes);

	do {
		count = write_frames(unwind->tr, trace, first, cookie);
		first += count;
	} while (count && first < trace->nr);
}

static void trace_user_unwind_free(struct trace_user_unwind *unwind)
{
	free_percpu(unwind->known);
	kfree(unwind);
}

/**
 * trace_user_unwind_start() - begin to ask for user stacks
 * @tr: the instance, which does not do so yet
 *
 * Return: 0, -ENOMEM, or -EBUSY if too many do.
 */
int trace_user_unwind_start(struct trace_array *tr)
{
	struct trace_user_unwind *unwind;
	int ret;

	unwind = kzalloc_obj(*unwind);
	if (!unwind)
		return -ENOMEM;
	unwind->tr = tr;
	unwind->known = alloc_percpu(struct trace_user_known);
	if (!unwind->known) {
		kfree(unwind);
		return -ENOMEM;
	}

	ret = unwind_deferred_init(&unwind->work, write_stack);
	if (ret) {
		trace_user_unwind_free(unwind);
		return ret;
	}
	unwind_deferred_want_codes(&unwind->work);
	codectl_keep_ids();
	rcu_assign_pointer(tr->user_unwind, unwind);

	return 0;
}

/**
 * trace_user_unwind_stop() - stop asking for user stacks
 * @tr: the instance
 *
 * Stacks that were asked for and have not come yet will not.
 */
void trace_user_unwind_stop(struct trace_array *tr)
{
	struct trace_user_unwind *unwind =
		rcu_replace_pointer(tr->user_unwind, NULL, true);

	/* Whoever asks does so with preemption disabled. */
	synchronize_rcu();
	unwind_deferred_cancel(&unwind->work);
	trace_user_unwind_free(unwind);
	codectl_drop_ids();
}

/**
 * trace_user_unwind_reset() - explain ids again, after the trace was emptied
 * @tr: the instance, or NULL
 */
void trace_user_unwind_reset(struct trace_array *tr)
{
	struct trace_user_unwind *unwind;

	if (!tr)
		return;

	guard(preempt_notrace)();
	unwind = rcu_dereference_sched(tr->user_unwind);
	if (unwind)
		atomic_inc(&unwind->resets);
}

/**
 * struct replay - what to report to an instance
 * @tr: the instance
 * @file: its event code_register, if that is enabled, or NULL
 * @ids: whether it has ids in its stacks
 */
struct replay {
	struct trace_array	*tr;
	struct trace_event_file	*file;
	bool			ids;
};

static void replay_file(const struct codectl_names *names, void *data)
{
	write_names(data, names);
}

/* Writes the event alone, as tracepoints are shared by all instances. */
static void replay_region(pid_t pid, const struct codectl_region *region,
			  struct codectl_names *names, void *data)
{
	const struct replay *replay = data;
	void (*probe)(void *file, pid_t pid,
		      const struct codectl_region *region,
		      const struct codectl_names *names);

	if (replay->file) {
		probe = replay->file->event_call->class->probe;
		probe(replay->file, pid, region, names);
	}

	if (replay->ids && codectl_own_names(region, names))
		write_names(replay->tr, names);
}

static struct trace_event_file *find_register_event(struct trace_array *tr)
{
	struct trace_event_file *file;

	guard(mutex)(&event_mutex);
	file = find_event_file(tr, "codectl", "code_register");

	return file && file->flags & EVENT_FILE_FL_ENABLED ? file : NULL;
}

static ssize_t code_replay_write(struct file *filp, const char __user *ubuf,
				 size_t cnt, loff_t *ppos)
{
	struct trace_array *tr = filp->private_data;
	struct replay replay = {
		.tr	= tr,
		.file	= find_register_event(tr),
		.ids	= tr->trace_flags & TRACE_ITER(USERSTACKTRACE_DELAY),
	};
	bool yes;
	int ret;

	ret = kstrtobool_from_user(ubuf, cnt, &yes);
	if (ret)
		return ret;
	if (!yes)
		return -EINVAL;

	ret = codectl_replay(replay_region, &replay);
	if (ret)
		return ret;
	if (replay.ids)
		codectl_walk_files(replay_file, tr);
	trace_user_unwind_reset(tr);

	return cnt;
}

static const struct file_operations code_replay_fops = {
	.open		= tracing_open_generic_tr,
	.write		= code_replay_write,
	.llseek		= noop_llseek,
	.release	= tracing_release_generic_tr,
};

static struct trace_min_max_param wait_min_us = {
	.val	= &codectl_wait_min_us,
};

/**
 * trace_user_unwind_create_files() - create the files of an instance
 * @tr: the instance
 * @dir: its directory
 */
void trace_user_unwind_create_files(struct trace_array *tr, struct dentry *dir)
{
	trace_create_file("code_replay", TRACE_MODE_WRITE, dir, tr,
			  &code_replay_fops);
	if (tr->flags & TRACE_ARRAY_FL_GLOBAL)
		trace_create_file("code_wait_min_us", TRACE_MODE_WRITE, dir,
				  &wait_min_us, &trace_min_max_fops);
}

static enum print_line_t print_user_unwind(struct trace_iterator *iter,
					   int flags, struct trace_event *event)
{
	struct trace_seq *s = &iter->seq;
	struct user_unwind_entry *field;

	trace_assign_type(field, iter->ent);
	trace_seq_printf(s, "<user unwind> cookie=%llx event=%u\n",
			 field->cookie, field->event);

	return trace_handle_return(s);
}

static const char *stop_name(unsigned int stop)
{
	static const struct trace_print_flags names[] = {
		UNWIND_USER_STOP_NAMES
	};

	return stop < ARRAY_SIZE(names) ? names[stop].name : "unknown";
}

/* Prints a path if there is room for it, and for the ids of the frames after it. */
static void print_id(struct trace_array *tr, struct trace_seq *s, u64 id,
		     unsigned int room)
{
	unsigned int len = s->seq.len;

	/* The ids of the last boot stand for other things now. */
	if (tr->trace_flags & TRACE_ITER(SYM_USEROBJ) &&
	    !(tr->flags & TRACE_ARRAY_FL_LAST_BOOT) &&
	    !codectl_id_print(&s->seq, id)) {
		if (!seq_buf_has_overflowed(&s->seq) &&
		    seq_buf_buffer_left(&s->seq) > room)
			return;
		s->seq.len = len;
	}
	trace_seq_printf(s, "0x%llx", id);
}

/* A record of the last boot may claim to have more than it has room for. */
static unsigned int room_for_frames(const struct trace_iterator *iter)
{
	const unsigned int head = offsetof(struct user_unwind_stack_entry, frames);

	if (iter->ent_size < head)
		return 0;
	return (iter->ent_size - head) / (2 * sizeof(u64));
}

static enum print_line_t print_user_unwind_stack(struct trace_iterator *iter,
						 int flags,
						 struct trace_event *event)
{
	/* " =>  <0123456789abcdef> : 0x0123456789abcdef code=0x" as many " exact\n" */
	const unsigned int line = 76;
	struct user_unwind_stack_entry *field;
	struct trace_seq *s = &iter->seq;
	unsigned int i, count, codes, room = room_for_frames(iter);
	const u64 *code;

	trace_assign_type(field, iter->ent);
	count = min3(field->count, FRAMES_PER_RECORD, room);
	codes = min(field->codes, room - count);
	code = &field->frames[2 * count];

	trace_seq_printf(s, "<user stack unwind>\ncookie=%llx", field->cookie);
	if (field->first || field->count < field->nr)
		trace_seq_printf(s, " first=%u frames=%u", field->first,
				 field->nr);
	if (field->stop)
		trace_seq_printf(s, " stop=%s", stop_name(field->stop));
	trace_seq_putc(s, '\n');

	for (i = 0; i < count; i++) {
		trace_seq_printf(s, " =>  <%016llx> : ", field->frames[2 * i]);
		print_id(iter->tr, s, field->frames[2 * i + 1],
			 (count - i) * line);
		if (codes && code[0] == field->first + i) {
			trace_seq_printf(s, " code=0x%llx", code[1]);
			code += 2;
			codes--;
		}
		trace_seq_puts(s, field->exact & BIT_ULL(i) ? " exact\n" : "\n");
	}

	return trace_handle_return(s);
}

static enum print_line_t print_file_map(struct trace_iterator *iter, int flags,
					struct trace_event *event)
{
	static const char * const names[] = { "none", "verified", "claimed" };
	static const char * const units[] = { "address", "file", "object" };
	struct trace_seq *s = &iter->seq;
	struct file_map_entry *field;

	trace_assign_type(field, iter->ent);
	trace_seq_printf(s, "file_map: id=0x%llx dev=%02x:%02x inode=%llu",
			 field->id, field->dev_major, field->dev_minor,
			 field->inode);
	trace_seq_printf(s, " names=%s unit=%s build_id=%*phN path=%s\n",
			 field->names < ARRAY_SIZE(names) ?
			 names[field->names] : "unknown",
			 field->unit < ARRAY_SIZE(units) ?
			 units[field->unit] : "unknown",
			 min(field->build_id_len, BUILD_ID_SIZE_MAX),
			 field->build_id, field->path);

	return trace_handle_return(s);
}

static struct trace_event_functions user_unwind_funcs = {
	.trace	= print_user_unwind,
};

static struct trace_event_functions user_unwind_stack_funcs = {
	.trace	= print_user_unwind_stack,
};

static struct trace_event_functions file_map_funcs = {
	.trace	= print_file_map,
};

static struct trace_event user_unwind_events[] = {
	{ .type = TRACE_USER_UNWIND, .funcs = &user_unwind_funcs },
	{ .type = TRACE_USER_UNWIND_STACK, .funcs = &user_unwind_stack_funcs },
	{ .type = TRACE_FILE_MAP, .funcs = &file_map_funcs },
};

static int __init trace_user_unwind_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(user_unwind_events); i++) {
		if (!register_trace_event(&user_unwind_events[i]))
			pr_warn("no room for the event of user stacks\n");
	}

	return 0;
}
early_initcall(trace_user_unwind_init);
