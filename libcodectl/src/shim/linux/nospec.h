/* SPDX-License-Identifier: MIT */
#ifndef CODECTL_SHIM_NOSPEC_H
#define CODECTL_SHIM_NOSPEC_H

/* Nothing here is secret to who may run it. */
#define array_index_nospec(index, size)	(index)

#endif /* CODECTL_SHIM_NOSPEC_H */
