/* SPDX-License-Identifier: MIT */
#ifndef CODECTL_READER_H
#define CODECTL_READER_H

#define jit_find_place	codectl_jit_find_place
#define jit_row_remains	codectl_jit_row_remains
#define jit_find_granule	codectl_jit_find_granule
#define jit_granule_remains	codectl_jit_granule_remains
#define jit_find_code_id	codectl_jit_find_code_id

#include "jit.h"

#endif /* CODECTL_READER_H */
