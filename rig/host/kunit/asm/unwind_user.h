/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_KUNIT_ASM_UNWIND_USER_H
#define HOST_KUNIT_ASM_UNWIND_USER_H

/* DWARF's numbers. */
#define UNWIND_USER_REG_FP	6
#define UNWIND_USER_REG_SP	7

#endif /* HOST_KUNIT_ASM_UNWIND_USER_H */
