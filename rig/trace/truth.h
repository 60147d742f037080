/* SPDX-License-Identifier: GPL-2.0 */
/* What truth_load and truth_join agree on. */
#ifndef TRUTH_H
#define TRUTH_H

#define TRUTH_OUTER	16
#define TRUTH_INNER	16
#define TRUTH_NUMBERS	(TRUTH_OUTER * TRUTH_INNER)

/* A write of number n is so much longer than n. */
#define TRUTH_LENGTH	16

#endif /* TRUTH_H */
