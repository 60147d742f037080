// SPDX-License-Identifier: MIT
/*
 * The kernel's own reader of tables, under names that are this library's.
 */
#include "reader.h"

/* Where there is a counter, it is read before it is compared. */
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include "jit.c"
