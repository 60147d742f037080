/* SPDX-License-Identifier: MIT */
/* What the kernel's reader of tables takes from the kernel's headers. */
#ifndef CODECTL_SHIM_TYPES_H
#define CODECTL_SHIM_TYPES_H

#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;

#define __user
#undef __always_inline
#define __always_inline inline __attribute__((__always_inline__))

#endif /* CODECTL_SHIM_TYPES_H */
