/* SPDX-License-Identifier: MIT */
/*
 * A folder of tables.  That of a file with a build-id is XX/YYYY.sframe, in hexadecimal
 * digits as in /usr/lib/debug/.build-id; that of another one sha256/XX/YYYY.sframe, by
 * the SHA-256 of the file.  When a table was last used is its time of modification.
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
/* Folder of tables by SHA-256. */
#define STORE_HASHES	"sha256"
/* What is being written is .DIGITS and this. */
#define STORE_NEW	".new"
#define STORE_MAX_MIB	1024
#define STORE_MAX_DAYS	90

struct store_key {
	bool is_hash;
	uint8_t bytes[MAX_BUILD_ID];
	size_t len;		/* at least 2 */
};

/*
 * Opens the folder @path, and makes it; exits unless it belongs to this user or to
 * root, and nobody else can write to it.
 */
int store_open(const char *path);

/*
 * From now on store_has() and store_read() look into the folder @path first, where nothing
 * is changed; not if it is not there, or somebody else can write to it.
 */
void store_look_into(const char *path);

/* The descriptor of that folder; -1: there is none. */
int store_packaged(void);

/* Whether the table is there; one that is kept counts as used just now. */
bool store_has(int store, const struct store_key *key);

/* The file of the table, open for reading; -1 with errno.  It was used just now. */
int store_read(int store, const struct store_key *key);

/* Removes a table that is there, or looks no more into that folder if it has it. */
void store_remove(int store, const struct store_key *key);

/*
 * Puts a table there, in place of one that there is; all of it or false with errno.  That
 * of a file which is @secret, or not believed, only the user can read.
 */
bool store_put(int store, const struct store_key *key, bool secret,
	       const struct object *object, const struct table *table);

/* The same for a file named @path, which need not lie in a store. */
bool store_write(const char *path, const struct object *object,
		 const struct table *table);

struct store_pruned {
	uint64_t kept, kept_bytes;
	uint64_t removed, removed_bytes;
};

/*
 * Removes what was not used for @days, and then what was not used for longest until
 * @bytes are left, half of them by hash, as well as what a process that was killed has
 * left behind.  What has a name that no table has is left as it is: the folder may be
 * another one.  False with errno if something could not be removed.
 */
bool store_prune(int store, uint64_t bytes, unsigned long days,
		 struct store_pruned *pruned);

#endif
