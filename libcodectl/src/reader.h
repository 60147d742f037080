/* SPDX-License-Identifier: MIT */
#ifndef CODECTL_READER_H
#define CODECTL_READER_H

#define jit_find	codectl_jit_find

#include "jit.h"

#endif /* CODECTL_READER_H */
