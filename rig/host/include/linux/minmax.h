/* SPDX-License-Identifier: GPL-2.0 */
#ifndef HOST_LINUX_MINMAX_H
#define HOST_LINUX_MINMAX_H

#define max(a, b)		((a) > (b) ? (a) : (b))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define min_t(type, a, b)	((type)(a) < (type)(b) ? (type)(a) : (type)(b))
#define min3(a, b, c)		min_t(__typeof__(a), min_t(__typeof__(a), a, b), c)

#endif /* HOST_LINUX_MINMAX_H */
