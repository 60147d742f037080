// SPDX-License-Identifier: GPL-2.0
#include <ctype.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "codectl_test.h"
#include "tracefs.h"

void tracefs_top(struct tracefs *t)
{
	snprintf(t->dir, sizeof(t->dir), TRACEFS_DIR);
}

static int mount_tracefs(void)
{
	if (access(TRACEFS_DIR "/instances", F_OK) &&
	    mount("tracefs", TRACEFS_DIR, "tracefs", 0, NULL))
		return -errno;
	return 0;
}

int tracefs_open(struct tracefs *t, const char *name)
{
	int err = mount_tracefs();

	if (err)
		return err;
	snprintf(t->dir, sizeof(t->dir), TRACEFS_DIR "/instances/%s", name);
	rmdir(t->dir);
	return mkdir(t->dir, 0755) ? -errno : 0;
}

/* A child that was forked in between has files of it open until it exits. */
int tracefs_close(struct tracefs *t)
{
	double end = now() + scaled_seconds(10);

	while (rmdir(t->dir)) {
		if (errno != EBUSY || now() > end)
			return -errno;
		usleep(20000);
	}
	return 0;
}

static int tracefs_open_file(const struct tracefs *t, const char *file,
			     int flags)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", t->dir, file);
	return open(path, flags | O_CLOEXEC);
}

int tracefs_write(const struct tracefs *t, const char *file, const char *text)
{
	int fd = tracefs_open_file(t, file, O_WRONLY);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		err = -errno;
	close(fd);
	return err;
}

int tracefs_write_number(const struct tracefs *t, const char *file, long nr)
{
	char text[24];

	snprintf(text, sizeof(text), "%ld", nr);
	return tracefs_write(t, file, text);
}

char *tracefs_read(const struct tracefs *t, const char *file)
{
	int fd = tracefs_open_file(t, file, O_RDONLY);
	size_t len = 0, room = 0;
	char *buf = NULL;
	ssize_t n = fd < 0 ? 0 : 1;

	while (n > 0) {
		if (room - len < 2 * PAGE) {
			room = 2 * room + 16 * PAGE;
			buf = realloc(buf, room);
		}
		n = read(fd, buf + len, room - len - 1);
		len += n > 0 ? n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (buf)
		buf[len] = '\0';
	return buf;
}

long tracefs_number(const struct tracefs *t, const char *file)
{
	char *text = tracefs_read(t, file);
	long nr = text && *text ? atol(text) : -EIO;

	free(text);
	return nr;
}

int tracefs_enable(const struct tracefs *t, const char *event)
{
	char file[128];

	snprintf(file, sizeof(file), "events/%s/enable", event);
	return tracefs_write(t, file, "1");
}

long tracefs_event_type(const char *event)
{
	struct tracefs top;
	char file[128];
	char *format, *id;
	long type;

	tracefs_top(&top);
	snprintf(file, sizeof(file), "events/%s/format", event);
	format = tracefs_read(&top, file);
	id = format ? strstr(format, "\nID: ") : NULL;
	type = id ? atol(id + 5) : -ENOENT;
	free(format);
	return type;
}

int tracefs_trace_syscall(const struct tracefs *t, long nr, pid_t tid,
			  bool exit)
{
	const char *const names[] = { "sys_enter", "sys_exit" };
	char file[64], filter[64];
	int err = 0;

	snprintf(filter, sizeof(filter), "id == %ld && common_pid %s %d", nr,
		 tid ? "==" : "!=", tid);
	for (int i = 0; i <= exit && !err; i++) {
		snprintf(file, sizeof(file), "events/raw_syscalls/%s/filter",
			 names[i]);
		err = tracefs_write(t, file, filter);
		snprintf(file, sizeof(file), "raw_syscalls/%s", names[i]);
		err = err ?: tracefs_enable(t, file);
	}
	return err;
}

static int truncate_file(const struct tracefs *t, const char *file)
{
	int fd = tracefs_open_file(t, file, O_WRONLY | O_TRUNC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int tracefs_clear(const struct tracefs *t)
{
	return truncate_file(t, "trace");
}

/* ---------------------------------------------- the instance of a program's tests */

/* Of what tests change: a new instance has these values. */
static const struct {
	const char *file;
	const char *value;
} defaults[] = {
	{ "tracing_on", "0" },
	{ USER_STACKS, "0" },
	{ "options/sym-userobj", "0" },
	{ "options/overwrite", "1" },
	{ "events/enable", "0" },
	{ "events/raw_syscalls/filter", "0" },
	{ "events/codectl/filter", "0" },
	{ "snapshot", "0" },
	{ "buffer_subbuf_size_kb", "4" },
	{ "buffer_size_kb", "1408" },
	/* This empties the trace as well. */
	{ "trace_clock", "local" },
	{ "tracing_on", "1" },
};

static pid_t program;
static struct tracefs borrowed;

static __attribute__((constructor)) void name_borrowed(void)
{
	program = getpid();
	snprintf(borrowed.dir, sizeof(borrowed.dir), TRACEFS_DIR "/instances/codectl_test_%d",
		 program);
}

/* If it stays, something holds it for good: the program has failed. */
static __attribute__((destructor)) void remove_borrowed(void)
{
	if (getpid() != program || access(borrowed.dir, F_OK) || !tracefs_close(&borrowed))
		return;
	printf("# cannot remove %s: %s\n", borrowed.dir, strerror(errno));
	fflush(stdout);
	_exit(1);
}

int tracefs_return(const struct tracefs *t)
{
	int err = truncate_file(t, "set_event_pid");

	for (size_t i = 0; i < ARRAY_SIZE(defaults) && !err; i++)
		err = tracefs_write(t, defaults[i].file, defaults[i].value);
	return err;
}

/* A test that was killed has not returned it. */
int tracefs_borrow(struct tracefs *t)
{
	int err = mount_tracefs();

	if (err)
		return err;
	*t = borrowed;
	if (!mkdir(t->dir, 0755))
		return 0;
	return errno == EEXIST ? tracefs_return(t) : -errno;
}

/* "  COMM-PID     [CPU] FLAGS  TIME: TEXT", or not a new entry. */
static bool parse_line(char *line, struct trace_entry *e)
{
	char *cpu, *text, *pid;

	if (*line == '#' || *line == '\0' || !strncmp(line, " => ", 4) ||
	    !strncmp(line, "cookie=", 7) || !strncmp(line, "CPU:", 4))
		return false;
	cpu = strstr(line, " [");
	text = cpu ? strstr(cpu, ": ") : NULL;
	if (!text)
		return false;
	for (pid = cpu; pid > line && *pid == ' '; pid--)
		;
	while (pid > line && isdigit(*pid))
		pid--;
	if (*pid != '-')
		return false;
	e->pid = atoi(pid + 1);
	e->cpu = atoi(cpu + 2);
	e->text = text + 2;
	return true;
}

/* Cuts the text into entries, some of which have several lines. */
static void log_parse(struct trace_log *log)
{
	char *line = log->buf, *next;
	struct trace_entry e;

	for (; line && *line; line = next) {
		bool comment = *line == '#' || !strncmp(line, "CPU:", 4);

		next = strchr(line, '\n');
		if (parse_line(line, &e)) {
			log->entry[log->nr++] = e;
			if (line > log->buf)
				line[-1] = '\0';
		} else if (comment && line > log->buf) {
			line[-1] = '\0';
		}
		if (next)
			next++;
	}
	if (log->nr) {
		char *last = (char *)log->entry[log->nr - 1].text;
		size_t len = strlen(last);

		if (len && last[len - 1] == '\n')
			last[len - 1] = '\0';
	}
}

void trace_log_free(struct trace_log *log)
{
	free(log->buf);
	free(log->entry);
	*log = (struct trace_log) {};
}

int trace_log_read(struct trace_log *log, const struct tracefs *t)
{
	size_t lines = 1;

	trace_log_free(log);
	log->buf = tracefs_read(t, "trace");
	if (!log->buf)
		return -EIO;
	for (const char *c = log->buf; *c; c++)
		lines += *c == '\n';
	log->entry = calloc(lines, sizeof(*log->entry));
	log_parse(log);
	return 0;
}

void trace_log_print(const struct trace_log *log)
{
	for (unsigned int i = 0; i < log->nr && i < 60; i++)
		printf("#   %d [%d] %s\n", log->entry[i].pid, log->entry[i].cpu,
		       log->entry[i].text);
}

const struct trace_entry *trace_find(const struct trace_log *log,
				     const struct trace_entry *after,
				     const char *prefix)
{
	const struct trace_entry *e = after ? after + 1 : log->entry;

	for (; e < log->entry + log->nr; e++)
		if (!strncmp(e->text, prefix, strlen(prefix)))
			return e;
	return NULL;
}

unsigned int trace_count(const struct trace_log *log, const char *prefix)
{
	const struct trace_entry *e = NULL;
	unsigned int nr = 0;

	while ((e = trace_find(log, e, prefix)))
		nr++;
	return nr;
}

/* @unit: of offsets, or NULL where the event does not say it. */
static bool parse_names(const char *text, struct trace_names *n, char unit[16])
{
	const char *build_id, *path;
	int end = 0;

	if (sscanf(text, "dev=%x:%x inode=%lu names=%15s %n", &n->dev_major,
		   &n->dev_minor, &n->inode, n->names, &end) != 4 || !end)
		return false;
	text += end;
	end = 0;
	if (unit && sscanf(text, "unit=%15s %n", unit, &end) != 1)
		return false;
	build_id = text + end;
	if (strncmp(build_id, "build_id=", 9))
		return false;
	build_id += 9;
	path = strchr(build_id, ' ');
	if (!path || strncmp(path, " path=", 6) ||
	    path - build_id >= sizeof(n->build_id) ||
	    strlen(path + 6) >= sizeof(n->path))
		return false;
	snprintf(n->build_id, sizeof(n->build_id), "%.*s",
		 (int)(path - build_id), build_id);
	snprintf(n->path, sizeof(n->path), "%s", path + 6);
	return true;
}

bool trace_parse_register(const struct trace_entry *e,
			  struct trace_register *r)
{
	int end = 0;

	memset(r, 0, sizeof(*r));
	return sscanf(e->text,
		      "code_register: pid=%d kind=%7s text=0x%lx-0x%lx elf=0x%lx-0x%lx table=0x%lx-0x%lx flags=0x%x id=0x%lx file=0x%lx %n",
		      &r->pid, r->kind, &r->text_start, &r->text_end,
		      &r->elf_start, &r->elf_end, &r->table, &r->table_end,
		      &r->flags, &r->id, &r->file_id, &end) == 11 &&
	       end && parse_names(e->text + end, &r->n, NULL);
}

bool trace_parse_unregister(const struct trace_entry *e,
			    struct trace_unregister *u)
{
	int end = 0;

	memset(u, 0, sizeof(*u));
	return sscanf(e->text,
		      "code_unregister: pid=%d text=0x%lx-0x%lx id=0x%lx reason=%15s%n",
		      &u->pid, &u->text_start, &u->text_end, &u->id, u->reason,
		      &end) == 5 && !e->text[end];
}

bool trace_parse_stop(const struct trace_entry *e, struct trace_stop *s)
{
	int end = 0;

	memset(s, 0, sizeof(*s));
	return sscanf(e->text,
		      "unwind_stop: ip=0x%lx sp=0x%lx frames=%u reason=%15s%n",
		      &s->ip, &s->sp, &s->nr, s->reason, &end) == 4 &&
	       !e->text[end];
}

bool trace_parse_file(const struct trace_entry *e, struct trace_file *f)
{
	int end = 0;

	memset(f, 0, sizeof(*f));
	return sscanf(e->text, "file_map: id=0x%lx %n", &f->id, &end) == 1 &&
	       end && parse_names(e->text + end, &f->n, f->unit);
}
