/* SPDX-License-Identifier: MIT */
#ifndef CODECTL_SHIM_BARRIER_H
#define CODECTL_SHIM_BARRIER_H

#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)

#endif /* CODECTL_SHIM_BARRIER_H */
