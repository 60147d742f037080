/* SPDX-License-Identifier: GPL-2.0 */
/* What the plugin of unwind_dl_test calls back, and where it is. */
#ifndef CODECTL_UNWIND_PLUGIN_H
#define CODECTL_UNWIND_PLUGIN_H

enum plugin_event {
	PLUGIN_CONSTRUCTOR,
	PLUGIN_IFUNC_RESOLVER,
	PLUGIN_FUNCTION,
	PLUGIN_CALLBACK,
	PLUGIN_DESTRUCTOR,
	NR_PLUGIN_EVENTS,
};

/* In the program: takes a stack. */
void plugin_event(enum plugin_event event);
/* In the program: called through the plugin's PLT, for the first time once. */
int lazy_target(int x);

typedef int (*plugin_function)(int n);

#endif /* CODECTL_UNWIND_PLUGIN_H */
