// SPDX-License-Identifier: GPL-2.0
/* For programs that nothing is registered for: their files have tables. */
#include "attach.h"
#include "proc_file.h"

__attribute__((constructor)) static void have_attached(void)
{
	if (!have_codectl())
		return;
	if (attach_loaded() < 2 || proc_unregister_all()) {
		fprintf(stderr, "cannot attach tables\n");
		_exit(1);
	}
}
