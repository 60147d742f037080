// SPDX-License-Identifier: GPL-2.0
/* For programs with nothing registered: their files have tables. */
#include "attach.h"

__attribute__((constructor)) static void have_attached(void)
{
	if (!have_codectl())
		return;
	if (!attach_instead()) {
		fprintf(stderr, "cannot attach tables\n");
		_exit(1);
	}
}
