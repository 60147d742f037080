/* SPDX-License-Identifier: GPL-2.0 */
/* Definitions shared by truth_load and truth_join. */
#ifndef TRUTH_H
#define TRUTH_H

#define TRUTH_OUTER	16
#define TRUTH_INNER	16
#define TRUTH_NUMBERS	(TRUTH_OUTER * TRUTH_INNER)

/* The length of the write of number n, minus n. */
#define TRUTH_LENGTH	16

#endif /* TRUTH_H */
