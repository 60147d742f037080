/* SPDX-License-Identifier: MIT */
/*
 * Debugging information of the servers in DEBUGINFOD_URLS, by debuginfod-find(1) of elfutils.
 */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H

#include "plain.h"

/*
 * False where there are no servers, or none has it.  Run by root, it asks as a user that
 * nobody is, who keeps the files in /var/cache/codectl/debuginfod.  Meanwhile a
 * byte HOLDER_ALIVE goes to @alive now and then.
 */
bool debuginfod_find(struct plain *file, const uint8_t *build_id, size_t len,
		     int alive);

/* @path, as who may be hostile has printed it, if it is below @cache and the file is @owner's. */
bool debuginfod_open(struct plain *file, const char *cache, uid_t owner, const char *path);

#endif
