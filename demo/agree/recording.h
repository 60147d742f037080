/* SPDX-License-Identifier: MIT */
/* Reads what stackdump has written. */
#ifndef RECORDING_H
#define RECORDING_H

#include "stackdump.h"

struct recording_reader {
	void (*on_map)(void *arg, const struct dump_map *map);
	/* For recordings of more than one process; may be NULL. */
	void (*on_fork)(void *arg, const struct dump_fork *fork);
	void (*on_exec)(void *arg, const struct dump_exec *exec);
	void (*on_vdso)(void *arg, const struct dump_vdso *vdso);
	/* A sample and the chain that belongs to it. */
	void (*on_stack)(void *arg, const struct dump_sample *sample,
			 const struct dump_chain *chain);
};

/*
 * Exits if the file is no whole recording of a command that succeeded.  What
 * the readers get stays there.  Return: samples of user mode for which no chain
 * came, but for as many as records were lost; if they are more than
 * RECORDING_FEW, it prints why.  In the kernel there are others:
 * the events of a task are closed before the walk at its exit, those enabled by
 * execve() miss the walk before it, and a sample within a walk belongs to a chain
 * that is written by then.
 */
unsigned long recording_read(const char *path,
			     const struct recording_reader *reader, void *arg);

_Noreturn void recording_fail(const char *what, const char *why);

/* So many samples are below what a share can tell: taken amid exec or exit. */
#define RECORDING_FEW	2

#endif /* RECORDING_H */
