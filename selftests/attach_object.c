// SPDX-License-Identifier: GPL-2.0
/* A shared object that only its table tells of the frames of. */

void attach_call(void (*function)(void));

__attribute__((__optimize__("omit-frame-pointer")))
void attach_call(void (*function)(void))
{
	function();
	asm volatile("");
}
