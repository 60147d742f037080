/* SPDX-License-Identifier: MIT */
#ifndef CODECTL_SHIM_MINMAX_H
#define CODECTL_SHIM_MINMAX_H

#define max(a, b)		((a) > (b) ? (a) : (b))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define min3(a, b, c)		min_t(u64, min_t(u64, a, b), c)

#endif /* CODECTL_SHIM_MINMAX_H */
