// SPDX-License-Identifier: MIT
/*
 * CPython 3.15 has a frame of its own for each time that its interpreter was called from C,
 * and that is a variable of _PyEval_EvalFrameDefault(): it has to lie in a C frame that the
 * walk finds there, one for each, and always as far below its CFA, if all frames up to it
 * are right.  What is compiled has been called by a function that has one.
 *
 * The offsets for debuggers, at the start of _PyRuntime, say where these are.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../walk/walk.h"

/* FRAME_OWNED_BY_INTERPRETER */
#define OWNED_BY_INTERPRETER	3
#define MAX_PYTHON_FRAMES	4096
#define MAX_PYTHON_FRAME	256
/* No frame of the interpreter has more bytes. */
#define INNERMOST		4096

/* The part that is used; pycore_debug_offsets.h */
struct offsets {
	char cookie[8];
	uint64_t version;
	uint64_t free_threaded;
	uint64_t runtime[3];
	uint64_t interpreter[16];
	struct {
		uint64_t size, prev, next, interp, current_frame, others[11];
	} thread;
	uint64_t exc_value;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
};

static const struct offsets *offsets;
/* From the CFA down to the variable; 0: not seen yet. */
static uint64_t depth;
static char *(*current_thread)(void);

static struct {
	unsigned long entries, checked;
} seen;

static bool known(void)
{
	static const char cookie[8] = "xdebugpy";

	if (!offsets || memcmp(offsets->cookie, cookie, sizeof(cookie)) ||
	    offsets->version >> 16 != 0x30f)
		return false;
	return current_thread && offsets->frame.size <= MAX_PYTHON_FRAME;
}

__attribute__((__constructor__)) static void begin(void)
{
	offsets = dlsym(RTLD_DEFAULT, "_PyRuntime");
	current_thread = (char *(*)(void))dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
}

bool truth_ready(void)
{
	return known() && current_thread();
}

bool truth_has_none(uint64_t ip)
{
	(void)ip;
	return false;
}

static bool copy(void *to, uint64_t from, size_t len)
{
	struct iovec local = { to, len }, remote = { (void *)(uintptr_t)from, len };

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)len;
}

/* The frame in whose part of the stack @addr is; -1 if it is in none. */
static int frame_with(const struct walk_frame *frames, int nr, uint64_t addr)
{
	int i;

	for (i = 1; i < nr; i++) {
		if (addr >= frames[i - 1].cfa && addr < frames[i].cfa)
			return i;
	}
	/* For the innermost one only the end is known. */
	return nr > 1 && addr < frames[0].cfa && addr + INNERMOST >= frames[0].cfa ? 0 : -1;
}

/* The next frame of Python, of which as much as is used is put into @bytes. */
static bool next_frame(unsigned char *bytes, uint64_t *at)
{
	memcpy(at, bytes + offsets->frame.previous, sizeof(*at));
	return *at && copy(bytes, *at, offsets->frame.size);
}

/*
 * Marks in @has the frames that have a variable of the interpreter.  base_frame is none: it
 * is not on the stack.
 */
static bool find_entries(const struct walk_frame *frames, int nr, bool *has)
{
	unsigned char bytes[MAX_PYTHON_FRAME] = { 0 };
	int i, last = -1, in;
	uint64_t at;

	if (!copy(bytes + offsets->frame.previous,
		  (uint64_t)(uintptr_t)current_thread() + offsets->thread.current_frame, 8))
		return false;
	for (i = 0; i < MAX_PYTHON_FRAMES && next_frame(bytes, &at); i++) {
		if (bytes[offsets->frame.owner] != OWNED_BY_INTERPRETER ||
		    at < frames[0].cfa - INNERMOST || at >= frames[nr - 2].cfa)
			continue;
		in = frame_with(frames, nr, at);
		if (in > last && !depth)
			depth = frames[in].cfa - at;
		if (in <= last || frames[in].cfa - at != depth)
			return false;
		has[in] = true;
		last = in;
		seen.entries++;
	}
	return true;
}

bool truth_judge(const struct walk_frame *frames, int nr, const char **why)
{
	static bool has[WALK_MAX_FRAMES + 1];
	int i;

	memset(has, 0, sizeof(has));
	if (!find_entries(frames, nr, has)) {
		*why = "the interpreter's variable is in another frame";
		return false;
	}
	for (i = 0; i < nr; i++) {
		if (!frames[i].compiled)
			continue;
		if (!has[i + 1]) {
			*why = "compiled code was called by something else";
			return false;
		}
		seen.checked++;
	}
	return true;
}

void truth_report(void)
{
	dprintf(2, "checked %lu entries %lu\n", seen.checked, seen.entries);
}
