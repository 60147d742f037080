/* SPDX-License-Identifier: MIT */
/*
 * Walks the stack of an unchanged program at each tick of a timer, and has code that knows
 * the engine say whether the result is right.
 */
#ifndef WALK_H
#define WALK_H

#include <stdbool.h>
#include <stdint.h>

#define WALK_MAX_FRAMES	400

/**
 * struct walk_frame - one function of a stack
 * @ip: where it is, or, but for the first one, where it will go on
 * @cfa: its CFA: the caller's SP
 * @fp: the frame pointer in it
 * @compiled: it is in no object that was loaded at the start
 */
struct walk_frame {
	uint64_t ip;
	uint64_t cfa;
	uint64_t fp;
	bool compiled;
};

/*
 * Of the engine. In the handler: whether it has begun so far that stacks can be judged, and
 * whether the frames are right, of which the last is the one in which the program starts. If
 * not, @why is set to what is wrong.
 */
bool truth_ready(void);
bool truth_judge(const struct walk_frame *frames, int nr, const char **why);
/* Is compiled code known to have no rule at @ip, so that a stack ends there? */
bool truth_has_none(uint64_t ip);
/* What else there is to count, printed after what walk.c has counted, in one line. */
void truth_report(void);

#endif /* WALK_H */
