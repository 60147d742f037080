// SPDX-License-Identifier: GPL-2.0
/* A shared object whose frames only its table describes. */

void attach_first(void);
void attach_call(void (*function)(void));

/* Makes the text take two pages. */
void attach_first(void)
{
}

__attribute__((__optimize__("omit-frame-pointer"), __aligned__(4096)))
void attach_call(void (*function)(void))
{
	function();
	asm volatile("");
}
