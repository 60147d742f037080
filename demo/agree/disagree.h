/* SPDX-License-Identifier: MIT */
/* Why two unwinds of one instant may differ. */
#ifndef DISAGREE_H
#define DISAGREE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdint.h>

#define MAX_FRAMES	1024

struct trace {
	unsigned int nr;
	uint64_t ips[MAX_FRAMES];
	bool past_dump;			/* a read beyond the dumped stack */
	bool ended;			/* libdwfl saw an outermost frame */
};

/*
 * Where two traces part.  The caller sets the first eight fields, the rest is
 * found out about the last frame that both have, which decides what comes next.
 */
struct divergence {
	unsigned int frame;		/* the first that differs */
	bool user_mode;			/* where the sample was taken */
	bool past_compiled;		/* a common frame is in code of no file */
	bool nowhere;			/* the next address of DWARF is not mapped */
	uint64_t ip;			/* of the sample */
	uint64_t saved_ip;		/* where rt_sigreturn() would go on, were it that */
	const struct trace *kernel, *dwarf;

	const char *symbol, *section, *object;
	bool attached;			/* tables that were made of CFI count */
	bool has_cfi;			/* the address has DWARF CFI */
	bool past_no_cfi;		/* that of a common frame has none */
	bool has_fde;			/* the address has an SFrame FDE */
	bool by_register;		/* its CFA counts from a register that is not SP or FP */
	bool beyond;			/* SFrame has no form for what its CFI says */
	bool at_sigreturn;		/* the address is that of a signal handler's restorer */
	bool in_no_object;		/* nor is it in any object */
	bool at_entry;			/* of no common frame: the chain begins at an entry point */
	bool in_sigreturn;		/* ... and the sample is of the system call rt_sigreturn */
};

#define DISAGREE_MAX	13

/*
 * The class of a divergence, or -1 if it is not explained.  With @attached it is not
 * the SFrame section of the file that counts, but a table made of its CFI.
 */
int disagree_classify(Dwfl *dwfl, struct divergence *d, bool attached);

/* Whether libdwfl, too, has but the frame pointer to go by in that class. */
bool disagree_is_guess(int class);

/* The name of a class, or NULL after the last one. */
const char *disagree_name(int class);

#endif /* DISAGREE_H */
