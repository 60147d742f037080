// SPDX-License-Identifier: MIT
/*
 * The kernel's own reader of tables, with its names prefixed for this library.
 */
#include "reader.h"

#include "granules.c"
#include "jit.c"
