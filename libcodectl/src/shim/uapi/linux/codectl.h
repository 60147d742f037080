/* SPDX-License-Identifier: MIT */
#include <linux/codectl.h>
