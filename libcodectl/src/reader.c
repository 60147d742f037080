// SPDX-License-Identifier: MIT
/*
 * The kernel's own reader of tables, under names that are this library's.
 */
#include "reader.h"

#include "granules.c"
#include "jit.c"
