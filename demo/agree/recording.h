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
	/* A sample and its chain. */
	void (*on_stack)(void *arg, const struct dump_sample *sample,
			 const struct dump_chain *chain);
};

/*
 * Exits if the file is not a complete recording of a command that succeeded.  The records
 * that the readers get stay in memory.
 *
 * Return: the number of samples in user mode for which no chain came, minus the number of
 * lost records; prints the reasons if it exceeds RECORDING_FEW.  Samples in the kernel do
 * not count, because some never get a chain: the events of a task are closed before the
 * walk at its exit, events that execve() enables miss the walk before it, and the chain
 * for a sample within a walk has been written already.
 */
unsigned long recording_read(const char *path,
			     const struct recording_reader *reader, void *arg);

_Noreturn void recording_fail(const char *what, const char *why);

/* Too few samples to matter: those taken during exec or exit. */
#define RECORDING_FEW	2

#endif /* RECORDING_H */
