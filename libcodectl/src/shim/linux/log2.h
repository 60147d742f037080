/* SPDX-License-Identifier: MIT */
#ifndef CODECTL_SHIM_LOG2_H
#define CODECTL_SHIM_LOG2_H

#define ilog2(n)		(63 - __builtin_clzl(n))
#define rounddown_pow_of_two(n)	(1UL << (63 - __builtin_clzl(n)))

#endif /* CODECTL_SHIM_LOG2_H */
