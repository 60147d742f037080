/* SPDX-License-Identifier: MIT */
#ifndef IMAGE_H
#define IMAGE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "store.h"

/*
 * An ELF file in memory.  @trusted: it belongs to root or this user, nobody else can
 * write to it, and root has made its mount for this mount namespace.  Otherwise it is a
 * copy, which does not change while it is read.  @secret: not everybody can read it.
 * @lasting: what is wrong stays so until the file is changed.
 */
struct image {
	void *data;
	size_t size;
	bool trusted, secret, lasting;
};

/*
 * Opens the regular file @path; with @no_links no symbolic link in it is followed.
 * Returns what is wrong, or NULL; *@elf is false if it is no ELF program or library for
 * x86-64.
 */
const char *image_open(const char *path, bool no_links, struct image *image, bool *elf);

/*
 * Opens the regular file @path if it is trusted; otherwise returns its key, without
 * holding all of it in memory, and there is nothing to close.  Returns what is wrong,
 * or NULL.  Ends soon, with an error, once a signal handler sets *@stop.
 */
const char *image_key(const char *path, struct image *image, struct store_key *key,
		      const volatile sig_atomic_t *stop);

/* The same key for the first @size bytes of any file. */
const char *image_hash_file(const char *path, size_t size, struct store_key *key,
			    const volatile sig_atomic_t *stop);

/* The key of its contents: their SHA-256.  False without memory. */
bool image_hash(const struct image *image, struct store_key *key);

void image_close(struct image *image);

#endif
