/* SPDX-License-Identifier: MIT */
/* Why two stacks of the same instant may differ. */
#ifndef DISAGREE_H
#define DISAGREE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_FRAMES	1024

struct trace {
	unsigned int nr;
	uint64_t ips[MAX_FRAMES];
	bool past_dump;			/* libdwfl read beyond the dumped stack */
	bool ended;			/* libdwfl saw an outermost frame */
};

/*
 * The first difference between two traces.  The caller sets the first eight fields;
 * disagree_classify() sets the others, for the last common frame, which determines the
 * next one.
 */
struct divergence {
	unsigned int frame;		/* the first different one */
	bool user_mode;			/* where the sample was taken */
	bool past_compiled;		/* a common frame is in code of no file */
	bool nowhere;			/* the next address of DWARF is not mapped */
	uint64_t ip;			/* of the sample */
	uint64_t saved_ip;		/* where rt_sigreturn() would continue */
	const struct trace *kernel, *dwarf;

	const char *symbol, *section, *object;
	bool attached;			/* the kernel used tables made of CFI */
	bool has_cfi;			/* the address has DWARF CFI */
	bool past_no_cfi;		/* the address of a common frame has none */
	bool has_fde;			/* the address has an SFrame FDE */
	bool by_register;		/* its CFA counts from a register that is not SP or FP */
	bool beyond;			/* SFrame cannot express its CFI */
	bool at_sigreturn;		/* the address is in a signal handler's restorer */
	bool in_no_object;		/* the address is in no object */
	bool at_entry;			/* no common frame: the chain begins at an entry point */
	bool in_sigreturn;		/* ... the sample is in rt_sigreturn() */
};

#define DISAGREE_MAX	13

/*
 * Return: the class of a divergence, or -1 if it is not explained.  @attached: the kernel
 * used a table made of the file's CFI, not its SFrame section.
 */
int disagree_classify(Dwfl *dwfl, struct divergence *d, bool attached);

/* Is libdwfl, too, unreliable in that class: has it only frame pointers, or wrong CFI? */
bool disagree_is_guess(int class);

/* The name of a class, or NULL after the last one. */
const char *disagree_name(int class);

#endif /* DISAGREE_H */
