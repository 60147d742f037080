/* SPDX-License-Identifier: MIT */
/*
 * Debugging information from the servers in DEBUGINFOD_URLS, by debuginfod-find(1) of
 * elfutils.
 */
#ifndef DEBUGINFOD_H
#define DEBUGINFOD_H

#include "plain.h"

/*
 * False if there are no servers, or none has it.  Run by root, it asks as an otherwise
 * unused user, who keeps the files in /var/cache/codectl/debuginfod.  Meanwhile a byte
 * HOLDER_ALIVE is written to @alive now and then.
 */
bool debuginfod_find(struct plain *file, const uint8_t *build_id, size_t len,
		     int alive);

/*
 * Opens @path, which may be hostile output, if it is below @cache and the file is
 * @owner's.
 */
bool debuginfod_open(struct plain *file, const char *cache, uid_t owner, const char *path);

#endif
