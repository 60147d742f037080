// SPDX-License-Identifier: GPL-2.0
/* For programs whose stacks are taken at once. */
#include "attach.h"
#include "sampler.h"

bool sampler_at_once = true;

/* As long as the tracer requests; no more than that is kept. */
__attribute__((constructor)) static void want_long_stacks(void)
{
	sysctl_write("kernel/perf_event_max_stack", STACK_MAX);
}

/* Nobody waits for them. */
void sampler_touch_tables(void)
{
	touch_tables();
}
