/* SPDX-License-Identifier: MIT */
#ifndef TOOL_H
#define TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

/* Documented in codectl(1). */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

int cmd_list(int argc, char **argv);
int cmd_where(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_sframe(int argc, char **argv);
int cmd_attach(int argc, char **argv);

/* Prints one line on standard error, and exits with EXIT_FAILED or EXIT_USAGE. */
void die(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void die_usage(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));

/* 0 if all of standard output could be written. */
int finish_output(void);

/* @memory, unless there was none. */
void *need(void *memory);

/* For calls that can only fail for lack of memory. */
static inline void need_done(int failed)
{
	if (failed)
		need(NULL);
}

/* A string of its own, formatted as by printf(). */
char *format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* NULL if the kernel has codectl, and it is not switched off. */
const char *why_no_codectl(void);

/* Exits, and says why, unless the kernel has codectl. */
void need_codectl(void);

/*
 * The process with the id @text, the only one with that name, or this one for "self";
 * exits unless it exists.
 */
pid_t need_pid(const char *text);

/* A number of at least 1; exits if @text is none. */
unsigned long need_number(const char *what, const char *text);

/* Exits with the meaning of @error when using /proc/PID/NAME. */
void die_proc(pid_t pid, const char *name, int error)
	__attribute__((noreturn));

/* What follows @key in a line of /proc/PID/NAME, as a string of its own, or NULL. */
char *proc_value(pid_t pid, const char *name, const char *key);

/* The process of a thread; 0 if the thread is gone. */
pid_t proc_tgid(pid_t tid);

/* /proc/PID/NAME opened for reading; exits if it cannot be. */
int open_proc(pid_t pid, const char *name);

/*
 * The @len bytes at @text, which somebody else made, as a string of its own: control
 * characters, and those in @also, become \ooo.
 */
char *escape(const char *text, size_t len, const char *also);

/* If memory runs out, kill this process: its work can be repeated. */
void be_first_to_go(void);

/* A clock that nobody sets, and that stops during suspend. */
time_t now_seconds(void);
int64_t now_ms(void);
uint64_t now_ns(void);

/* Adds to @sum, saturating at UINT64_MAX. */
static inline void add_ns(uint64_t *sum, uint64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = UINT64_MAX;
}

/* Build-id in hexadecimal digits, as a string of its own. */
char *hex_build_id(const uint8_t *id, size_t len);

#endif
