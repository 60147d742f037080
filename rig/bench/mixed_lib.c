// SPDX-License-Identifier: GPL-2.0
#include <alloca.h>

#include "mixed.h"

MIXED_STEPS(LIBRARY)
