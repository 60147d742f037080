/* SPDX-License-Identifier: GPL-2.0 */
/* Stepping through code, for tests with the fixture of unwind_fixture.h. */
#ifndef CODECTL_STEP_FIXTURE_H
#define CODECTL_STEP_FIXTURE_H

#include "step.h"
#include "unwind_fixture.h"

/*
 * Steps through @code.  Its caller is the innermost frame that is known
 * throughout, so the base is what truth_callers() finds here.
 */
static noinline void step_through(struct __test_metadata *_metadata,
				  FIXTURE_DATA(unwind) * self,
				  void (*code)(void), unsigned int at_least)
{
	/* Once without stepping: nothing is left to resolve or to fault in. */
	code();
	truth_callers();
	ASSERT_LE(3, truth.nr);
	ASSERT_EQ(0, step_prepare(&self->sampler));
	step_on();
	code();
	step_off();
	TH_LOG("%u instructions, %u in a static PLT", step_result.steps,
	       step_result.plt);
	EXPECT_LE(at_least, step_result.steps);
	EXPECT_EQ(0, step_result.none);
	EXPECT_EQ(0, step_result.wrong);
	EXPECT_EQ(0, step_result.untold);
}

#endif /* CODECTL_STEP_FIXTURE_H */
