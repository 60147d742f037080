/* SPDX-License-Identifier: GPL-2.0 */
/* A file of a FUSE server that answers for the first bytes only. */
#ifndef CODECTL_FUSE_FILE_H
#define CODECTL_FUSE_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fuse_file {
	char mount[64];
	char path[80];
	pid_t server;
};

/*
 * Serves @size bytes of @contents from a separate process; takes reads at or after
 * @silent_from and never answers them.  0 or a negative errno.
 */
int fuse_file_serve(struct fuse_file *f, const uint8_t *contents, size_t size,
		    size_t silent_from);
void fuse_file_stop(struct fuse_file *f);

#endif /* CODECTL_FUSE_FILE_H */
