// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/codectl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool.h"

#ifndef SYS_codectl
#define SYS_codectl	473
#endif

/* Bytes of the name of a task that the kernel keeps. */
#define MAX_COMM	15

static void complain(const char *message, va_list arguments)
{
	fflush(stdout);
	fputs("codectl: ", stderr);
	vfprintf(stderr, message, arguments);
	fputc('\n', stderr);
}

void die(const char *message, ...)
{
	va_list arguments;

	va_start(arguments, message);
	complain(message, arguments);
	va_end(arguments);
	exit(EXIT_FAILED);
}

void die_usage(const char *message, ...)
{
	va_list arguments;

	va_start(arguments, message);
	complain(message, arguments);
	va_end(arguments);
	fputs("codectl: 'codectl --help' shows how it is called\n", stderr);
	exit(EXIT_USAGE);
}

int finish_output(void)
{
	if (fflush(stdout) || ferror(stdout))
		die("cannot write the output: %s", strerror(errno));
	return 0;
}

void *need(void *memory)
{
	if (!memory)
		die("out of memory");
	return memory;
}

char *format(const char *text, ...)
{
	va_list arguments;
	char *string;
	int len;

	va_start(arguments, text);
	len = vasprintf(&string, text, arguments);
	va_end(arguments);
	return need(len < 0 ? NULL : string);
}

const char *why_no_codectl(void)
{
	if (access("/proc/self/codectl", F_OK))
		return "this kernel has no codectl: there is no /proc/self/codectl";
	if (syscall(SYS_codectl, CODE_UNREGISTER, NULL, 0, CODE_FLAG_INVALID) &&
	    errno == ENOSYS)
		return "codectl is switched off (codectl=off at boot, or sysctl kernel.codectl)";
	return NULL;
}

void need_codectl(void)
{
	const char *why_not = why_no_codectl();

	if (why_not)
		die("%s", why_not);
}

unsigned long need_number(const char *what, const char *text)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || *end || text[0] < '0' || text[0] > '9' || !number)
		die_usage("not %s: %s", what, text);
	return number;
}

/* Compares with the kernel's name, which may be cut. */
static bool is_called(const char *pid, const char *name)
{
	char *path = format("/proc/%s/comm", pid), comm[64] = "";
	FILE *file = fopen(path, "re");

	free(path);
	if (!file)
		return false;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
	return *comm && !strncmp(comm, name, MAX_COMM);
}

static pid_t find_process(const char *name)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	unsigned int found = 0;
	pid_t pid = 0;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_called(entry->d_name, name)) {
			pid = atoi(entry->d_name);
			found++;
		}
	if (dir)
		closedir(dir);
	if (!found)
		die("no process is called %s", name);
	if (found > 1)
		die("%u processes are called %s: give the id of one", found, name);
	return pid;
}

pid_t need_pid(const char *text)
{
	unsigned long number;
	pid_t pid, process;

	if (!strcmp(text, "self"))
		return getpid();
	if (text[0] < '0' || text[0] > '9')
		return find_process(text);
	number = need_number("the id of a process", text);
	pid = number;
	if (pid < 0 || (unsigned long)pid != number ||
	    (kill(pid, 0) && errno == ESRCH))
		die("no process has the id %lu", number);
	/* Threads have numbers of the same kind. */
	process = proc_tgid(pid);
	if (process && process != pid)
		die("no process has the id %d: it is that of a thread of process %d", pid,
		    process);
	return pid;
}

void die_proc(pid_t pid, const char *name, int error)
{
	if (error == EACCES || error == EPERM)
		die("not permitted to read /proc/%d/%s, which takes its user or root",
		    pid, name);
	if (error == ENOENT || error == ESRCH)
		die("process %d has ended", pid);
	die("cannot read /proc/%d/%s: %s", pid, name, strerror(error));
}

char *proc_value(pid_t pid, const char *name, const char *key)
{
	char *path = format("/proc/%d/%s", pid, name), *line = NULL, *found = NULL;
	FILE *file = fopen(path, "re");
	size_t room = 0;

	free(path);
	if (!file)
		return NULL;
	while (!found && getline(&line, &room, file) > 0)
		if (!strncmp(line, key, strlen(key)))
			found = need(strdup(line + strlen(key)));
	fclose(file);
	free(line);
	if (found)
		found[strcspn(found, "\n")] = '\0';
	return found;
}

pid_t proc_tgid(pid_t tid)
{
	char *text = proc_value(tid, "status", "Tgid:");
	pid_t pid = text ? atoi(text) : 0;

	free(text);
	return pid;
}

int open_proc(pid_t pid, const char *name)
{
	char *path = format("/proc/%d/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	if (fd < 0)
		die_proc(pid, name, errno);
	return fd;
}

/* One of U+0080 to U+009F, in two bytes. */
static bool is_c1(const char *text)
{
	return text[0] == '\302' && (text[1] & 0xe0) == 0x80;
}

char *escape(const char *text, size_t len, const char *also)
{
	char *copy = need(malloc(4 * len + 1)), *to = copy;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = text[i];

		if (c < ' ' || c == 127 || (c && strchr(also, c)) ||
		    (i + 1 < len && is_c1(text + i)) || (i && is_c1(text + i - 1)))
			to += sprintf(to, "\\%03o", c);
		else
			*to++ = c;
	}
	*to++ = '\0';
	return need(realloc(copy, to - copy));
}

void be_first_to_go(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		dprintf(fd, "1000");
		close(fd);
	}
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

int64_t now_ms(void)
{
	return now_ns() / 1000000;
}

time_t now_seconds(void)
{
	return now_ns() / 1000000000;
}

char *hex_build_id(const uint8_t *id, size_t len)
{
	char *text = need(malloc(2 * len + 1));

	for (size_t i = 0; i < len; i++)
		sprintf(text + 2 * i, "%02x", id[i]);
	text[2 * len] = '\0';
	return text;
}
