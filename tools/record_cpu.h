/* SPDX-License-Identifier: MIT */
/*
 * codectl record --cpu: what runs on CPUs, as perf samples it.
 */
#ifndef RECORD_CPU_H
#define RECORD_CPU_H

#include "record_options.h"

void record_cpu(const struct record_options *options);

#endif
