/* SPDX-License-Identifier: GPL-2.0 */
/* How the targets read their input. */
#ifndef FUZZ_INPUT_H
#define FUZZ_INPUT_H

#include <linux/types.h>
#include <stdlib.h>

struct input {
	const u8 *pos;
	const u8 *end;
};

static inline void require(bool ok)
{
	if (!ok)
		abort();
}

/* 0 if there is nothing left. */
static inline u8 next_byte(struct input *in)
{
	return in->pos < in->end ? *in->pos++ : 0;
}

static inline u64 next_word(struct input *in)
{
	u64 word = 0;
	int i;

	for (i = 0; i < 8; i++)
		word = word << 8 | next_byte(in);

	return word;
}

#endif /* FUZZ_INPUT_H */
