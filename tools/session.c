// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guard.h"
#include "interrupt.h"
#include "session.h"
#include "tool.h"

#define STACKS	"options/userstacktrace_delay"
/* Suffix of the instance for names. */
#define OF_NAMES "-names"
/* A clock that all CPUs agree on. */
#define CLOCK	"mono"
/* All names of a program come at once. */
#define NAMES_KIB	16384
/* codectl_names_event(3) */
#define NAME_EVENT "user_events/codectl_name"
#define MIN_WAIT "code_wait_min_us"
#define EVENTS "dynamic_events"
/* How often to look for threads that are not followed. */
#define MOST_PASSES	1000
#define NAME_FIELDS	" u64 copy; u64 id; u64 start; u64 len; " \
			"u32 pid; u32 action; __rel_loc char[] name"
#define DEFINE_NAMES	"u:codectl_name" NAME_FIELDS
/* An event that has fields is not found without them. */
#define REMOVE_NAMES	"-:" NAME_EVENT NAME_FIELDS

/* ----------------------------------------------------------------- tracefs */

void session_check(void)
{
	const char *dir = NULL;

	if (tracefs_tracing_dir_is_mounted(false, &dir) != 1)
		die("no tracefs is mounted: 'mount -t tracefs none %s' mounts it",
		    "/sys/kernel/tracing");
	dir = tracefs_tracing_dir();
	if (!dir)
		die("tracefs cannot be found");
	if (access(dir, R_OK | W_OK | X_OK))
		die("not permitted to use tracefs at %s: it takes root (%s)", dir,
		    strerror(errno));
	if (!tracefs_file_exists(NULL, STACKS))
		die("this kernel's tracefs has no deferred user stacks (" STACKS ")");
}

static void write_file(struct tracefs_instance *instance, const char *name,
		       const char *text, bool append)
{
	int written = append ?
		tracefs_instance_file_append(instance, name, text) :
		tracefs_instance_file_write(instance, name, text);

	if (written < 0)
		die("cannot write %s to %s of tracefs: %s", text, name,
		    strerror(errno));
}

/* ------------------------------------------------------------------ events */

static size_t list_len(char **list)
{
	size_t len = 0;

	while (list && list[len])
		len++;
	return len;
}

static void list_add(char ***list, const char *text)
{
	size_t len = list_len(*list);

	for (size_t i = 0; i < len; i++)
		if (!strcmp((*list)[i], text))
			return;
	*list = need(reallocarray(*list, len + 2, sizeof(**list)));
	(*list)[len] = need(strdup(text));
	(*list)[len + 1] = NULL;
}

/* Does that event exist, and can it be enabled? */
static bool try_event(struct session *session, const char *system,
		      const char *event)
{
	char *name;

	if (!*system || !*event || strchr(system, '/') || strchr(event, '/') ||
	    !tracefs_event_file_exists(NULL, system, event, "enable"))
		return false;
	name = format("%s:%s", system, event);
	list_add(&session->events, name);
	free(name);
	return true;
}

void session_add_event(struct session *session, const char *name)
{
	const char *colon = strchr(name, ':');
	bool found = false;
	char **systems;

	if (colon) {
		char *system = need(strndup(name, colon - name));

		found = try_event(session, system, colon + 1);
		free(system);
	} else {
		systems = need(tracefs_event_systems(NULL));
		for (size_t i = 0; systems[i]; i++)
			found |= try_event(session, systems[i], name);
		tracefs_list_free(systems);
	}
	if (!found)
		die("no such event: %s (%s/available_events lists them)", name,
		    tracefs_tracing_dir());
}

void session_add_waits(struct session *session, unsigned long min_us, bool wakers)
{
	if (!try_event(session, "codectl", "task_waited") ||
	    (wakers && !try_event(session, "codectl", "task_wakes")))
		die("this kernel's tasks do not tell of their waits (codectl:task_waited)");
	session->min_wait_us = min_us;
}

typedef int (*event_fn)(struct session *session, const char *system,
			const char *event);

/* Dies if @function fails and @what it is to do is given. */
static void use_events(struct session *session, const char *what,
		       event_fn function)
{
	for (size_t i = 0; session->events && session->events[i]; i++) {
		char *system = need(strdup(session->events[i]));
		char *event = strchr(system, ':');

		*event++ = '\0';
		if (function(session, system, event) && what)
			die("cannot %s the event %s: %s", what,
			    session->events[i], strerror(errno));
		free(system);
	}
}

static int enable_event(struct session *session, const char *system,
			const char *event)
{
	return tracefs_event_enable(session->instance, system, event);
}

static int disable_event(struct session *session, const char *system,
			 const char *event)
{
	return tracefs_event_disable(session->instance, system, event);
}

/* One by one: a system may have hundreds that are not wanted. */
static int read_format(struct session *session, const char *system,
		       const char *event)
{
	char *text;
	int len;

	text = tracefs_event_file_read(NULL, system, event, "format", &len);
	if (text)
		tep_parse_event(session->tep, text, len, system);
	free(text);
	return tep_find_event_by_name(session->tep, system, event) ? 0 : -1;
}

static void read_formats(struct session *session)
{
	const char * const ours[] = { "ftrace", NULL };

	session->tep = tracefs_local_events_system(NULL, ours);
	if (!session->tep)
		die("cannot read the formats of events in %s",
		    tracefs_tracing_dir());
	use_events(session, "read the format of", read_format);
}

/* ---------------------------------------------------------------- instance */

static struct tracefs_instance *make_instance(const char *suffix)
{
	char *name = format("codectl-%d%s", getpid(), suffix);
	struct tracefs_instance *instance = tracefs_instance_create(name);

	if (!instance)
		die("cannot make an instance of tracefs: %s", strerror(errno));
	if (!tracefs_instance_is_new(instance))
		die("there is an instance of that name, which 'rmdir %s' removes",
		    tracefs_instance_get_dir(instance));
	free(name);
	return instance;
}

/* Must all tasks report fewer waits than they do now? */
static bool must_set_min(const struct session *session)
{
	char *text = tracefs_instance_file_read(NULL, MIN_WAIT, NULL);
	unsigned long long now = text ? strtoull(text, NULL, 10) : 0;

	free(text);
	return session->min_wait_us && (!now || now > session->min_wait_us);
}

static bool has_name_event(void)
{
	return tracefs_event_file_exists(NULL, "user_events", "codectl_name", "enable");
}

/*
 * From here on the instances go with this process, that for names once it exists.
 * Settings for all instances last as long.
 */
static void guard_instances(const struct session *session, bool names)
{
	char *dir = need(tracefs_instance_get_dir(session->instance));
	char *other = format("%s" OF_NAMES, dir), *ours = format("%lu", session->min_wait_us);
	const char *const dirs[] = { dir, names ? other : NULL, NULL };
	char *path = need(tracefs_get_tracing_file(MIN_WAIT));
	char *events = need(tracefs_get_tracing_file(EVENTS));
	const struct guard_setting min = { path, ours, "0" };
	const struct guard_line last = { events, REMOVE_NAMES };
	bool set = must_set_min(session);

	/* The event stays while programs have it. */
	guard_start(dirs, set ? &min : NULL, names && !has_name_event() ? &last : NULL);
	if (set)
		write_file(NULL, MIN_WAIT, ours, false);
	tracefs_put_tracing_file(path);
	tracefs_put_tracing_file(events);
	tracefs_put_tracing_file(dir);
	free(ours);
	free(other);
}

/* Somebody else may want shorter ones. */
static int filter_waits(struct session *session, const char *system, const char *event)
{
	char *filter = format("ns >= %lu000", session->min_wait_us);
	int written = tracefs_event_file_write(session->instance, system, event, "filter",
					       filter);

	free(filter);
	return written < 0 ? -1 : 0;
}

static void set_buffer(struct tracefs_instance *instance, unsigned long kib)
{
	char *size = format("%lu", kib);

	write_file(instance, "buffer_size_kb", size, false);
	free(size);
}

/* ------------------------------------------------------------------- names */

/* It also exists while a process has it, which may not have started yet. */
static void define_names(struct session *session)
{
	if (!has_name_event() && tracefs_instance_file_append(NULL, EVENTS, DEFINE_NAMES) < 0)
		die("cannot define the event codectl_name: %s", strerror(errno));
	if (read_format(session, "user_events", "codectl_name"))
		die("cannot read the format of the event codectl_name");
}

static void open_names(struct session *session, unsigned long buffer_kib)
{
	session->names = make_instance(OF_NAMES);
	set_buffer(session->names, buffer_kib > NAMES_KIB ? buffer_kib : NAMES_KIB);
	write_file(session->names, "trace_clock", CLOCK, false);
	write_file(session->instance, "trace_clock", CLOCK, false);
	if (tracefs_event_enable(session->names, "user_events", "codectl_name"))
		die("cannot enable the event codectl_name: %s", strerror(errno));
}

void session_open(struct session *session, unsigned long buffer_kib, bool names)
{
	read_formats(session);
	session->instance = make_instance("");
	guard_instances(session, names);
	if (names)
		define_names(session);
	write_file(session->instance, STACKS, "1", false);
	if (tracefs_option_enable(session->instance, TRACEFS_OPTION_RECORD_TGID))
		die("cannot set options/record-tgid of tracefs: %s", strerror(errno));
	if (buffer_kib)
		set_buffer(session->instance, buffer_kib);
	if (names)
		open_names(session, buffer_kib);
	if (session->kernel &&
	    tracefs_option_enable(session->instance, TRACEFS_OPTION_STACKTRACE))
		die("cannot set options/stacktrace of tracefs: %s", strerror(errno));
	if (session->min_wait_us) {
		use_events(session, "set a filter of", filter_waits);
		write_file(session->instance, "trace_clock", CLOCK, false);
	}
}

void session_follow_thread(struct session *session, pid_t tid)
{
	char *text = format("%d", tid);

	if (tracefs_option_enable(session->instance, TRACEFS_OPTION_EVENT_FORK))
		die("cannot set options/event-fork of tracefs: %s",
		    strerror(errno));
	write_file(session->instance, "set_event_pid", text, true);
	free(text);
}

struct tids {
	pid_t *tid;
	size_t nr;
};

static void add_tid(struct tids *tids, pid_t tid)
{
	tids->tid = need(reallocarray(tids->tid, tids->nr + 1, sizeof(tid)));
	tids->tid[tids->nr++] = tid;
}

static struct tids threads_of(pid_t pid)
{
	char *path = format("/proc/%d/task", pid);
	struct tids tids = { 0 };
	DIR *dir = opendir(path);
	struct dirent *entry;

	free(path);
	if (!dir)
		die_proc(pid, "task", errno);
	while ((entry = readdir(dir)))
		if (atoi(entry->d_name) > 0)
			add_tid(&tids, atoi(entry->d_name));
	closedir(dir);
	return tids;
}

/* In ascending order, as the kernel lists them. */
static struct tids followed_threads(struct session *session)
{
	char *text = tracefs_instance_file_read(session->instance, "set_event_pid", NULL);
	char *rest = text, *line;
	struct tids tids = { 0 };

	while ((line = strsep(&rest, "\n")))
		if (*line)
			add_tid(&tids, atoi(line));
	free(text);
	return tids;
}

static int by_tid(const void *one, const void *other)
{
	const pid_t *a = one, *b = other;

	return *a < *b ? -1 : *a > *b;
}

/* Following one that has ended would follow whoever gets its number. */
static bool is_there(pid_t pid, pid_t tid)
{
	char *path = format("/proc/%d/task/%d", pid, tid);
	const bool there = !access(path, F_OK);

	free(path);
	return there;
}

static bool follow_new_threads(struct session *session, pid_t pid)
{
	struct tids all = threads_of(pid), followed = followed_threads(session);
	bool any = false;

	for (size_t i = 0; i < all.nr; i++) {
		if ((followed.nr && bsearch(&all.tid[i], followed.tid, followed.nr,
					    sizeof(pid_t), by_tid)) || !is_there(pid, all.tid[i]))
			continue;
		session_follow_thread(session, all.tid[i]);
		any = true;
	}
	free(all.tid);
	free(followed.tid);
	return any;
}

/*
 * Tasks that a followed task starts are followed, too: once there is no other thread,
 * none can come from an unfollowed one.  A program may try to have one whenever that is
 * checked.
 */
void session_follow_process(struct session *session, pid_t pid)
{
	for (int passes = 0; passes < MOST_PASSES && !interrupted; passes++)
		if (!follow_new_threads(session, pid))
			break;
}

void session_leave_out(struct session *session, pid_t tid)
{
	char *text = format("%d", tid);

	if (tracefs_option_enable(session->instance, TRACEFS_OPTION_EVENT_FORK))
		die("cannot set options/event-fork of tracefs: %s", strerror(errno));
	write_file(session->instance, "set_event_notrace_pid", text, false);
	free(text);
}

void session_start(struct session *session)
{
	use_events(session, "enable", enable_event);
}

void session_stop(struct session *session)
{
	use_events(session, NULL, disable_event);
}

void session_explain_ids(struct session *session)
{
	tracefs_instance_file_write(session->instance, "code_replay", "1");
}

void session_close(struct session *session)
{
	char *dir = need(tracefs_instance_get_dir(session->instance));

	tracefs_instance_free(session->instance);
	if (session->names)
		tracefs_instance_free(session->names);
	tep_free(session->tep);
	if (!guard_end())
		die("cannot remove the instance of tracefs: 'rmdir %s' may", dir);
	tracefs_put_tracing_file(dir);
}
