// SPDX-License-Identifier: MIT
/*
 * Preloaded together with the truth_*() functions of the engine.  The rules are those that the
 * process has published by libcodectl, either the program's or the copy that is linked in here
 * with libcodectl-preload.  For C code they are made from the .eh_frame of the objects that
 * are loaded at the start.  Only the main thread is sampled.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <codectl.h>

#include "step.h"
#include "walk.h"

#define EXPORT		__attribute__((__visibility__("default")))
#define MAX_OBJECTS	64
#define MAX_TOLD	10
#define TICK_NS		500000
/* Maximum length of the code before main(). */
#define START_SIZE	64

static struct {
	unsigned long samples, complete, no_rule, wrong;
	unsigned long compiled, called, deepest;
} seen;

static struct { uint64_t start, end; } objects[MAX_OBJECTS];
static unsigned int nr_objects;
static uint64_t entry;

/* --- the walk */

static bool in_object(uint64_t ip)
{
	unsigned int i;

	for (i = 0; i < nr_objects; i++) {
		if (ip >= objects[i].start && ip < objects[i].end)
			return true;
	}
	return false;
}

/* Return: whether the walk reached the start of the program. */
static bool walk(const greg_t *regs, struct walk_frame *frames, int *nr, int *error)
{
	uint64_t ip = regs[REG_RIP], sp = regs[REG_RSP], fp = regs[REG_RBP];
	struct codectl_rule rule;

	for (*nr = 0; *nr < WALK_MAX_FRAMES; ++*nr) {
		struct walk_frame *frame = &frames[*nr];

		frame->ip = ip;
		frame->fp = fp;
		frame->cfa = 0;
		frame->compiled = !in_object(ip);
		*error = codectl_lookup(ip - (*nr > 0), &rule);
		if (*error)
			return false;
		if (rule.info & CODE_FRE_OUTERMOST) {
			++*nr;
			return ip - entry < START_SIZE;
		}
		if (rule.info & CODE_FRE_FP_UNDEF ||
		    !step(&rule, &ip, &sp, &fp, &frame->cfa))
			return false;
	}
	return false;
}

/* --- a sample */

static void tell(const char *what, const struct walk_frame *frames, int nr, int error)
{
	static int told;
	int i;

	if (told++ >= MAX_TOLD)
		return;
	dprintf(2, "# %s, after %d frames, error %d:\n", what, nr, error);
	for (i = 0; i < nr || i == 0; i++)
		dprintf(2, "#   %#lx cfa %#lx%s\n", (long)frames[i].ip, (long)frames[i].cfa,
			frames[i].compiled ? " compiled" : "");
}

static void count(const struct walk_frame *frames, int nr)
{
	int i;

	seen.complete++;
	seen.deepest = (unsigned long)nr > seen.deepest ? (unsigned long)nr : seen.deepest;
	for (i = 0; i < nr && !frames[i].compiled; i++)
		;
	seen.compiled += i < nr;
	seen.called += i > 0 && i < nr;
}

/*
 * There is no rule where the CFA is an expression, as in the PLT, or in another register; by
 * chance, the innermost frame may be there.
 */
static void sample(const greg_t *regs)
{
	static struct walk_frame frames[WALK_MAX_FRAMES + 1];
	const char *why = "does not reach where the program starts";
	int nr, error;

	seen.samples++;
	if (walk(regs, frames, &nr, &error)) {
		if (truth_judge(frames, nr, &why)) {
			count(frames, nr);
			return;
		}
	} else {
		if (nr == 0 && (!frames[0].compiled || truth_has_none(frames[0].ip))) {
			seen.no_rule++;
			return;
		}
		nr++;
	}
	seen.wrong++;
	tell(why, frames, nr, error);
}

static void tick(int sig, siginfo_t *info, void *context)
{
	int saved = errno;

	(void)sig;
	(void)info;
	if (gettid() == getpid() && truth_ready())
		sample(((ucontext_t *)context)->uc_mcontext.gregs);
	errno = saved;
}

/* --- start and end */

/* See LSB 5.0, 10.6.2: version, three encodings, and where the section is, here relative. */
static void add_rules(const char *name, const char *hdr)
{
	struct codectl_eh_frame *added;
	int32_t off;

	memcpy(&off, hdr + 4, sizeof(off));
	if (hdr[1] != 0x1b || codectl_eh_frame_add(hdr + 4 + off, 0, &added))
		dprintf(2, "# no rules for %s\n", name);
}

static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	int i;

	(void)size;
	(void)data;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *phdr = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + phdr->p_vaddr;

		if (phdr->p_type == PT_GNU_EH_FRAME)
			add_rules(info->dlpi_name, (const char *)(uintptr_t)start);
		if (phdr->p_type != PT_LOAD || !(phdr->p_flags & PF_X) ||
		    nr_objects == MAX_OBJECTS)
			continue;
		objects[nr_objects].start = start;
		objects[nr_objects++].end = start + phdr->p_memsz;
	}
	return 0;
}

static __typeof__(sigaction) *next_sigaction(void)
{
	return (__typeof__(sigaction) *)dlsym(RTLD_NEXT, "sigaction");
}

/* The program must not take over the signal. */
EXPORT int sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	if (sig != SIGPROF)
		return next_sigaction()(sig, act, old);
	if (old)
		memset(old, 0, sizeof(*old));
	return 0;
}

/* Runs before the constructors of libraries that are linked in or preloaded later. */
__attribute__((__constructor__)) static void begin(void)
{
	struct sigaction action = { .sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec every = { { 0, TICK_NS }, { 0, TICK_NS } };
	timer_t timer;

	/* Do not preload into child processes. */
	unsetenv("LD_PRELOAD");
	entry = getauxval(AT_ENTRY);
	dl_iterate_phdr(add_object, NULL);
	if (next_sigaction()(SIGPROF, &action, NULL) ||
	    timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL)) {
		perror("walk: timer");
		exit(2);
	}
}

static void report(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	next_sigaction()(SIGPROF, &ignore, NULL);
	dprintf(2, "samples %lu complete %lu no-rule %lu wrong %lu ", seen.samples,
		seen.complete, seen.no_rule, seen.wrong);
	dprintf(2, "compiled %lu called %lu deepest %lu ", seen.compiled, seen.called,
		seen.deepest);
	truth_report();
}

static __attribute__((__destructor__)) void end(void)
{
	report();
	if (seen.wrong)
		_exit(1);
}

/* For programs that do not leave by exit(). */
EXPORT long syscall(long nr, ...)
{
	static __typeof__(syscall) *next;
	unsigned long arg[6];
	va_list args;
	size_t i;

	va_start(args, nr);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (!next)
		next = (__typeof__(next))dlsym(RTLD_NEXT, "syscall");
	if (nr == SYS_exit_group && getpid() == gettid()) {
		report();
		arg[0] = seen.wrong ? 1 : arg[0];
	}
	return next(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
