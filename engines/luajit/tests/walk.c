// SPDX-License-Identifier: MIT
/*
 * Walks the stack of LuaJIT at each tick of a timer, from a signal handler, by the rules that
 * libcodectl publishes, and compares the result with what LuaJIT itself knows.
 *
 * Linked with LuaJIT's program, and with libraries of LuaJIT and codectl whose calls of
 * luaL_newstate(), lua_close() and syscall() come here (ld's --wrap).  The rules for traces
 * are those that LuaJIT has published; those for C code and for the interpreter are made from
 * the .eh_frame of each loaded object.
 *
 * The truth: L->cframe of a lua_State points to its last C frame of the interpreter, and
 * SAVE_CFRAME in each of these frames to the previous one.  A trace runs in such a frame.
 * The frames in the interpreter and in traces that a walk finds have to be exactly these, in
 * that order, and the walk has to end in _start.
 */
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <codectl.h>

#include "../../walk/step.h"

#include "lj_obj.h"
#include "lj_ccall.h"
#include "lj_dispatch.h"
#include "lj_frame.h"
#include "lj_jit.h"
#include "lj_vm.h"

#ifndef SYS_codectl
#define SYS_codectl	473
#endif
#define MAX_FRAMES	250
#define MAX_TOLD	20
#define TICK_NS		200000

enum place { OBJECT, UNWINDER, INTERPRETER, TRACE };

struct frame {
	uint64_t ip;
	uint64_t cfa;
	enum place place;
};

enum verdict {
	COMPLETE,	/* and right */
	NO_RULE,	/* begins where there is known to be no rule */
	WRONG,
};

static struct {
	unsigned long samples, complete, no_rule, wrong;
	unsigned long in_trace, below_trace, interpreted, deepest;
} seen;

static lua_State *main_thread;
static uint64_t unwinder, unwinder_end;
extern char _start[];

lua_State *__real_luaL_newstate(void);
lua_State *__wrap_luaL_newstate(void);
void __real_lua_close(lua_State *L);
void __wrap_lua_close(lua_State *L);
long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);

/* --- where code is */

static bool in_area(uint64_t ip)
{
	const MCode *area = L2J(main_thread)->mcarea;

	for (; area; area = ((const MCLink *)area)->next) {
		if (ip - (uint64_t)(uintptr_t)area < ((const MCLink *)area)->size)
			return true;
	}
	return false;
}

static enum place place_of(uint64_t ip)
{
	if (ip >= (uint64_t)(uintptr_t)lj_vm_asm_begin && ip < (uint64_t)(uintptr_t)lj_vm_ffi_call)
		return INTERPRETER;
	if (in_area(ip))
		return TRACE;
	return ip >= unwinder && ip < unwinder_end ? UNWINDER : OBJECT;
}

static bool is_lua(const struct frame *frame)
{
	return frame->place >= INTERPRETER;
}

/* --- the walk */

/* Return: whether the walk reached the end of the stack. */
static bool walk(const greg_t *regs, struct frame *frames, int *nr, int *error)
{
	uint64_t ip = regs[REG_RIP], sp = regs[REG_RSP], fp = regs[REG_RBP];
	struct codectl_rule rule;

	for (*nr = 0; *nr < MAX_FRAMES; ++*nr) {
		struct frame *frame = &frames[*nr];

		frame->ip = ip;
		frame->place = place_of(ip);
		*error = codectl_lookup(ip - (*nr > 0), &rule);
		if (*error)
			return false;
		if (rule.info & CODE_FRE_OUTERMOST) {
			++*nr;
			return ip - (uint64_t)(uintptr_t)_start < 64;
		}
		if (!step(&rule, &ip, &sp, &fp, &frame->cfa))
			return false;
	}
	return false;
}

/* --- what LuaJIT knows */

static uint64_t base_of(const struct frame *frame)
{
	return frame->cfa - CFRAME_SIZE;
}

static uint64_t raw(void *cframe)
{
	return (uint64_t)(uintptr_t)cframe_raw(cframe);
}

/* NULL if there is none: while a frame is being made, the word may be anything. */
static lua_State *state_of(const struct frame *frame)
{
	lua_State *L = cframe_L((void *)(uintptr_t)base_of(frame)), copy;
	struct iovec from = { L, sizeof(copy) }, to = { &copy, sizeof(copy) };

	if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != sizeof(copy))
		return NULL;
	return copy.gct == ~LJ_TTHREAD && mref(copy.glref, void) == mref(main_thread->glref, void) ?
		L : NULL;
}

static bool is_last(const struct frame *frame)
{
	lua_State *L = state_of(frame);

	return L && base_of(frame) == raw(L->cframe);
}

/* Is each frame from @i on the next one of its lua_State? */
static bool are_chained(struct frame *const *lua, int nr, int i)
{
	void *prev = NULL;

	for (; i < nr; i++) {
		/* Without prev, a lua_State begins: one that runs, or that resumed the last one. */
		if (prev ? base_of(lua[i]) != raw(prev) : !is_last(lua[i]))
			return false;
		prev = cframe_prev((void *)(uintptr_t)base_of(lua[i]));
	}
	return !prev;
}

/*
 * While the interpreter, or a function that it calls for a callback, enters or leaves a frame,
 * the frame's lua_State does not know it: its last frame is the previous one.
 */
static bool are_right(struct frame *const *lua, int nr)
{
	if (are_chained(lua, nr, 0))
		return true;
	if (lua[0]->place != INTERPRETER)
		return false;
	return nr == 1 ? !main_thread->cframe : are_chained(lua, nr, 1);
}

/* --- a sample */

static void tell(const char *what, const struct frame *frames, int nr, int error)
{
	static int told;
	int i;

	if (told++ >= MAX_TOLD)
		return;
	dprintf(2, "# %s, after %d frames, error %d:\n", what, nr, error);
	for (i = 0; i < nr || i == 0; i++)
		dprintf(2, "#   %#lx cfa %#lx %s\n", (long)frames[i].ip, (long)frames[i].cfa,
			frames[i].place == TRACE ? "trace" :
			frames[i].place == INTERPRETER ? "interpreter" : "");
}

/*
 * There is no rule in exit stubs of traces, in the exit handler before it knows the frame, in
 * C code whose CFA is an expression, such as the PLT, and where GCC's unwinder has overwritten
 * its frame to leave for a landing pad.
 */
static bool has_none(const struct frame *frames, int nr, int error)
{
	if (frames[0].place == UNWINDER)
		return true;
	return nr == 0 && (is_lua(&frames[0]) ? error == -ENODATA || error == -ENOENT : !error);
}

static enum verdict judge(const greg_t *regs, struct frame *frames, int *nr)
{
	struct frame *lua[MAX_FRAMES];
	int error = 0, nr_lua = 0, i;
	bool ends = walk(regs, frames, nr, &error);

	for (i = 0; ends && i < *nr; i++) {
		if (is_lua(&frames[i]))
			lua[nr_lua++] = &frames[i];
	}
	if (ends && are_right(lua, nr_lua))
		return COMPLETE;
	if (has_none(frames, *nr, error))
		return NO_RULE;
	tell(ends ? "other frames than LuaJIT's" : "does not reach _start", frames,
	     ends ? *nr : *nr + 1, error);
	return WRONG;
}

static void tick(int sig, siginfo_t *info, void *context)
{
	static struct frame frames[MAX_FRAMES + 1];
	enum verdict verdict;
	int nr, i;

	(void)sig;
	(void)info;
	if (!main_thread)
		return;
	verdict = judge(((ucontext_t *)context)->uc_mcontext.gregs, frames, &nr);
	seen.samples++;
	seen.complete += verdict == COMPLETE;
	seen.no_rule += verdict == NO_RULE;
	seen.wrong += verdict == WRONG;
	if (verdict != COMPLETE)
		return;
	seen.in_trace += frames[0].place == TRACE;
	seen.interpreted += frames[0].place == INTERPRETER;
	seen.deepest = (unsigned long)nr > seen.deepest ? (unsigned long)nr : seen.deepest;
	for (i = 1; i < nr && !is_lua(&frames[i]); i++)
		;
	seen.below_trace += i > 0 && i < nr && frames[i].place == TRACE;
}

/* --- start and end */

/* Tables are only read in this process, so codectl() need not do more than succeed. */
long __wrap_syscall(long nr, ...)
{
	unsigned long arg[6];
	va_list args;
	size_t i;

	va_start(args, nr);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(args, unsigned long);
	va_end(args);
	if (nr != SYS_codectl)
		return __real_syscall(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if (arg[3] & CODE_FLAG_INVALID) {
		errno = EINVAL;
		return -1;
	}
	return 0;
}

static void note_unwinder(const struct dl_phdr_info *info, const Elf64_Phdr *phdr)
{
	uint64_t start = info->dlpi_addr + phdr->p_vaddr;
	uint64_t ip = (uint64_t)(uintptr_t)_Unwind_RaiseException;

	if (phdr->p_type == PT_LOAD && ip - start < phdr->p_memsz) {
		unwinder = start;
		unwinder_end = start + phdr->p_memsz;
	}
}

/* See LSB 5.0, 10.6.2: version, three encodings, and where the section is, here relative. */
static int add_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct codectl_eh_frame *added;
	int i;

	(void)size;
	(void)data;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const char *hdr = (char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		int32_t off;

		note_unwinder(info, &info->dlpi_phdr[i]);
		if (info->dlpi_phdr[i].p_type != PT_GNU_EH_FRAME || hdr[1] != 0x1b)
			continue;
		memcpy(&off, hdr + 4, sizeof(off));
		if (codectl_eh_frame_add(hdr + 4 + off, 0, &added))
			dprintf(2, "# no rules for %s\n", info->dlpi_name);
	}
	return 0;
}

static void start(void)
{
	struct sigaction action = { .sa_sigaction = tick, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF };
	struct itimerspec every = { { 0, TICK_NS }, { 0, TICK_NS } };
	timer_t timer;

	if (sigaction(SIGPROF, &action, NULL) || timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	    timer_settime(timer, 0, &every, NULL)) {
		perror("walk: timer");
		exit(2);
	}
}

lua_State *__wrap_luaL_newstate(void)
{
	lua_State *L;

	dl_iterate_phdr(add_object, NULL);
	L = __real_luaL_newstate();
	main_thread = L;
	start();
	return L;
}

/* Without the lua_State there is nothing to compare with. */
void __wrap_lua_close(lua_State *L)
{
	signal(SIGPROF, SIG_IGN);
	main_thread = NULL;
	__real_lua_close(L);
}

__attribute__((__destructor__)) static void report(void)
{
	dprintf(2, "samples %lu complete %lu no-rule %lu wrong %lu ", seen.samples,
		seen.complete, seen.no_rule, seen.wrong);
	dprintf(2, "in-trace %lu below-trace %lu interpreted %lu deepest %lu\n",
		seen.in_trace, seen.below_trace, seen.interpreted, seen.deepest);
	if (seen.wrong)
		_exit(1);
}
