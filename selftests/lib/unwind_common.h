/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the tests that look at stacks. */
#ifndef CODECTL_UNWIND_COMMON_H
#define CODECTL_UNWIND_COMMON_H

#include "codectl_test.h"
#include "kselftest_harness.h"
#include "truth.h"

#define noinline __attribute__((noinline, noclone))

/* Stepping and sampling on an emulated debug kernel take their time. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 900

#endif /* CODECTL_UNWIND_COMMON_H */
