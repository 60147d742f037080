// SPDX-License-Identifier: MIT
/*
 * For each call of its interpreter from C, CPython 3.15 has an entry frame, which is a local
 * variable of _PyEval_EvalFrameDefault().  If a walk is right, each entry frame lies in a
 * different C frame of the walk, always at the same distance from its CFA, and compiled code
 * was called by a function that has an entry frame.
 *
 * The offsets for debuggers, at the start of _PyRuntime, say where the entry frames are.
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
/* Maximum size of a frame of the interpreter's C function. */
#define INNERMOST		4096

/* The part of pycore_debug_offsets.h that is used. */
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
/* Distance from the CFA down to the variable; 0: not seen yet. */
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

/* Return: the frame whose part of the stack contains @addr; -1: none. */
static int frame_with(const struct walk_frame *frames, int nr, uint64_t addr)
{
	int i;

	for (i = 1; i < nr; i++) {
		if (addr >= frames[i - 1].cfa && addr < frames[i].cfa)
			return i;
	}
	/* Only the end of the innermost one is known. */
	return nr > 1 && addr < frames[0].cfa && addr + INNERMOST >= frames[0].cfa ? 0 : -1;
}

/* Copies the used part of the next Python frame to @bytes. */
static bool next_frame(unsigned char *bytes, uint64_t *at)
{
	memcpy(at, bytes + offsets->frame.previous, sizeof(*at));
	return *at && copy(bytes, *at, offsets->frame.size);
}

/*
 * Marks in @has the frames that contain an entry frame.  base_frame does not count: it is not
 * on the stack.
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
