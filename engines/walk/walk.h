/* SPDX-License-Identifier: MIT */
/*
 * Walks the stack of an unchanged program at each tick of a timer, and asks code that knows the
 * engine whether the result is right.
 */
#ifndef WALK_H
#define WALK_H

#include <stdbool.h>
#include <stdint.h>

#define WALK_MAX_FRAMES	400

/**
 * struct walk_frame - one function of a stack
 * @ip: its address; in all but the first one, a return address
 * @cfa: its CFA: the caller's SP
 * @fp: its frame pointer
 * @compiled: it is in no object that was loaded at the start
 */
struct walk_frame {
	uint64_t ip;
	uint64_t cfa;
	uint64_t fp;
	bool compiled;
};

/*
 * The engine's part, called in the handler.  truth_ready(): has the program started, so that
 * stacks can be judged?  truth_judge(): are the frames right, up to the one in which the
 * program starts?  If not, @why says what is wrong.
 */
bool truth_ready(void);
bool truth_judge(const struct walk_frame *frames, int nr, const char **why);
/* Is compiled code known to have no rule at @ip, so that a stack ends there? */
bool truth_has_none(uint64_t ip);
/* Prints the engine's own counts, on the line of those of walk.c. */
void truth_report(void);

#endif /* WALK_H */
