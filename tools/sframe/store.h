/* SPDX-License-Identifier: MIT */
/*
 * A directory of tables.  That of a file with a build-id is XX/YYYY.sframe, in
 * hexadecimal digits as in /usr/lib/debug/.build-id; that of another one
 * sha256/XX/YYYY.sframe, by the SHA-256 of the file.  The modification time of a table
 * says when it was last used.
 */
#ifndef SFRAME_STORE_H
#define SFRAME_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "rows.h"
#include "table.h"

#define STORE_CACHE	"/var/cache/codectl/sframe"
#define STORE_PACKAGED	"/usr/lib/codectl/sframe"
#define STORE_SUFFIX	".sframe"
/* Directory of tables by SHA-256. */
#define STORE_HASHES	"sha256"
/* A table that is being written is named .DIGITS and this. */
#define STORE_NEW	".new"
#define STORE_MAX_MIB	1024
#define STORE_MAX_DAYS	90

struct store_key {
	bool is_hash;
	uint8_t bytes[MAX_BUILD_ID];
	size_t len;		/* at least 2 */
};

/*
 * Opens the directory @path, creating it if necessary; exits unless it belongs to this
 * user or to root, and nobody else can write to it.
 */
int store_open(const char *path);

/*
 * From now on store_has() and store_read() look into the directory @path first, which
 * is never changed; but not if it does not exist, or somebody else can write to it.
 */
void store_look_into(const char *path);

/* The descriptor of that directory, or -1. */
int store_packaged(void);

/* Is the table there?  One in the store counts as used just now. */
bool store_has(int store, const struct store_key *key);

/* The file of the table, open for reading; -1 with errno.  Counts as used just now. */
int store_read(int store, const struct store_key *key);

/* Removes an existing table, or stops looking into that directory if it has it. */
void store_remove(int store, const struct store_key *key);

/*
 * Stores a table, replacing an existing one; completely, or false with errno.  If its
 * file is @secret, or not trusted, only the user can read it.
 */
bool store_put(int store, const struct store_key *key, bool secret,
	       const struct object *object, const struct table *table);

/* The same for a file named @path, which need not be in a store. */
bool store_write(const char *path, const struct object *object,
		 const struct table *table);

struct store_pruned {
	uint64_t kept, kept_bytes;
	uint64_t removed, removed_bytes;
};

/*
 * Removes what was not used for @days, and then what was not used for longest until
 * @bytes are left, half of them by hash, as well as the remains of killed processes.
 * Leaves alone what has no name of a table: the directory may be a wrong one.  False
 * with errno if something could not be removed.
 */
bool store_prune(int store, uint64_t bytes, unsigned long days,
		 struct store_pruned *pruned);

#endif
