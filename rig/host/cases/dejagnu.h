/* SPDX-License-Identifier: GPL-2.0 */
/* What libsframe's tests use of DejaGnu, with TAP for output. */
#ifndef HOST_DEJAGNU_H
#define HOST_DEJAGNU_H

void pass(const char *format, ...);
void fail(const char *format, ...);

#endif /* HOST_DEJAGNU_H */
