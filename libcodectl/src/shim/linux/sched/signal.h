/* SPDX-License-Identifier: MIT */
#ifndef CODECTL_SHIM_SIGNAL_H
#define CODECTL_SHIM_SIGNAL_H

#define fatal_signal_pending(task)	false

#endif /* CODECTL_SHIM_SIGNAL_H */
