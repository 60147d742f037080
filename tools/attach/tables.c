// SPDX-License-Identifier: MIT
#include <errno.h>
#include <limits.h>
#include <linux/codectl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../sframe/image.h"
#include "../sframe/store.h"
#include "../sframe/table_load.h"
#include "../sframe/work.h"
#include "../tool.h"
#include "tables.h"

#ifndef __NR_codectl
#define __NR_codectl	473
#endif

/* How long useless things may stay, in seconds. */
#define STALE_SECONDS	60
/* How often to look for unmapped files, and for those that have lost another's table. */
#define UNMAPPED_SECONDS 300
/* How many converters may end before they get to a file. */
#define TRIES		3
/* Files to look at before checking for anything else: how many, bytes hashed, how long. */
#define LOOK_AT		64
#define LOOK_AT_BYTES	(64L << 20)
#define LOOK_AT_SECONDS	10
/* How often the delay of a retry is doubled: up to an hour. */
#define MOST_DOUBLED	6

static const char written[] = "it was written to meanwhile";
static const char busy[] = "somebody can write to it";
static const char gone[] = "its table has gone from the store";
static const char unmade[] = "nobody gets to make its table";

/* Problems that another table may solve. */
static const char damaged[] = "its table in the store is damaged, or of another version";
static const char refused[] = "the kernel refuses its table";

static const char too_large[] = "its table has too many rules, or few for so much code";
static const char otherwise[] = "another file has its build-id, and is laid out otherwise";
/* Another process of this program, or of another one, may have attached that. */
static const char elsewhere[] = "it has a table already";

static const char no_room[] = "no room: see kernel.codectl_attached_kb";
static const char no_share[] = "no room but for other files: see kernel.codectl_attached_kb";

/* ------------------------------------------------------------------- one file */

static char *path_of(const struct file *file)
{
	return format("/proc/self/fd/%d", file->fd);
}

/* The number after "bytes:" in the fdinfo of an attached table. */
static unsigned long long bytes_of(int attached)
{
	char *path = format("/proc/self/fdinfo/%d", attached), line[128];
	unsigned long long bytes = 0;
	FILE *info = fopen(path, "re");

	while (info && fgets(line, sizeof(line), info))
		if (sscanf(line, "bytes: %llu", &bytes) == 1)
			break;
	if (info)
		fclose(info);
	free(path);
	return bytes;
}

static const char *attach_table(struct file *file, const struct loaded_table *table)
{
	struct code_file_info info = {
		.fd = file->fd,
		.unwind_format = CODE_UNWIND_FORMAT_SFRAME,
		.table = (uintptr_t)table->data,
		.table_len = table->size,
		.table_addr = table->addr,
		.segments = (uintptr_t)table->segments,
		.nr_segments = table->nr_segments,
	};

	_Static_assert(sizeof(struct segment) == sizeof(struct code_file_segment),
		       "a segment is stored as the kernel takes it");
	file->attached = syscall(__NR_codectl, CODE_ATTACH_FILE, &info, sizeof(info), 0);
	if (file->attached >= 0)
		return NULL;
	if (errno == ENOSPC)
		return no_room;
	if (errno == E2BIG)
		return too_large;
	return errno == EEXIST ? elsewhere :
	       errno == EINVAL || errno == EOPNOTSUPP ? refused :
	       errno == EAGAIN ? written :
	       errno == ETXTBSY ? busy : strerror(errno);
}

/* patchelf(1) keeps the build-id of the files that it changes. */
static bool fits(const struct known *known, const struct loaded_table *table)
{
	return !known->nr_segments ||
	       (known->nr_segments == table->nr_segments &&
		!memcmp(known->segments, table->segments,
			known->nr_segments * sizeof(*known->segments)));
}

static const char *attach_stored(struct file *file, int stored)
{
	struct loaded_table table;
	const char *wrong;

	if (!table_load(stored, &table))
		return damaged;
	wrong = fits(&file->known, &table) ? attach_table(file, &table) : otherwise;
	table_unload(&table);
	return wrong;
}

static const char *key_of(const struct tables *t, struct file *file)
{
	const char *wrong;
	struct stat st;
	char *path;

	if (fstat(file->fd, &st))
		return strerror(errno);
	file->size = st.st_size;
	file->written = st.st_mtim;
	file->changed = st.st_ctim;
	path = path_of(file);
	wrong = work_know(path, &file->known, t->ended);
	free(path);
	return wrong;
}

/*
 * Once it has a table the kernel checks.  The owner can set one of the times at will;
 * the other one also changes when the file is renamed.
 */
static bool is_written_to(const struct file *file)
{
	struct stat st;

	return fstat(file->fd, &st) || st.st_size != file->size ||
	       files_differ(st.st_mtim, file->written) ||
	       files_differ(st.st_ctim, file->changed);
}

static void detach(struct file *file)
{
	close(file->attached);
	file->attached = -1;
}

static const char *attached_kb = "/proc/sys/kernel/codectl_attached_kb";
static const char *attached_files = "/proc/codectl_files";

/* The limit for all tables, in quarters. */
static unsigned long long quarter_of_room(void)
{
	FILE *limit = fopen(attached_kb, "re");
	unsigned long long kb = ULLONG_MAX / 1024;

	if (limit && fscanf(limit, "%llu", &kb) != 1)
		kb = 0;
	if (limit)
		fclose(limit);
	return kb / 4 * 1024;
}

/* What all tables take, including those of other processes like this one. */
static unsigned long long taken_room(void)
{
	FILE *files = fopen(attached_files, "re");
	unsigned long long all = 0, bytes;

	while (files && fscanf(files, "%*s %*s %*s %*s %llu%*[^\n]", &bytes) == 1)
		all += bytes;
	if (files)
		fclose(files);
	return all;
}

/* Counts its table; false if that is too much. */
static bool takes_its_share(struct tables *t, struct file *file)
{
	unsigned long long quarter;

	file->bytes = bytes_of(file->attached);
	if (!files_is_anybodys(file))
		return true;
	quarter = quarter_of_room();
	if (file->bytes + t->files.anybodys_bytes > t->quarters * quarter ||
	    taken_room() > TABLES_ANYBODYS * quarter)
		return false;
	t->files.anybodys_bytes += file->bytes;
	return true;
}

/* With the table that is now in the store. */
static const char *attach_file(struct tables *t, struct file *file)
{
	const char *wrong;
	int stored;

	stored = store_read(t->store, &file->known.key);
	if (stored < 0)
		return gone;
	wrong = attach_stored(file, stored);
	close(stored);
	if (wrong)
		return wrong;
	wrong = is_written_to(file) ? written : takes_its_share(t, file) ? NULL : no_share;
	if (wrong)
		detach(file);
	return wrong;
}

/* ------------------------------------------------------------------ all files */

/* No table until it is changed?  A @lasting problem was there before any table. */
static bool is_hopeless(const char *wrong, bool lasting)
{
	return lasting || wrong == damaged || wrong == refused || wrong == too_large;
}

/*
 * Nobody reports when another table goes: keep looking; retry others less and less
 * often.
 */
static void put_off(struct file *file, const char *wrong)
{
	unsigned int doubled = file->failed < MOST_DOUBLED ? file->failed : MOST_DOUBLED;

	file->failed++;
	file->again = now_seconds() + (wrong == elsewhere || wrong == otherwise ?
				       UNMAPPED_SECONDS : STALE_SECONDS << doubled);
}

/*
 * It now has a table, or none for now or for good; but a table that is no good is made
 * again.
 */
static void settle(struct tables *t, struct file *file, const char *wrong)
{
	bool lasting = wrong && file->known.lasting;

	file->pending = false;
	if (!wrong)
		wrong = attach_file(t, file);
	file->elsewhere = wrong == elsewhere;
	if (!wrong) {
		file->failed = 0;
		return;
	}
	if ((wrong == damaged || wrong == refused) && !file->remade) {
		store_remove(t->store, &file->known.key);
		file->remade = true;
		file->pending = true;
		file->given = false;
		return;
	}
	t->full |= wrong == no_room;
	file->hopeless = is_hopeless(wrong, lasting);
	if (file->hopeless) {
		close(file->fd);
		file->fd = -1;
	} else {
		put_off(file, wrong);
	}
	if ((t->verbose && wrong != elsewhere) || file->named)
		fprintf(stderr, "codectl: %s: %s\n", file->name, wrong);
}

/* Either a table is available at once, or it is to be converted, or has none. */
static void look_at(struct tables *t, struct file *file)
{
	const char *wrong = key_of(t, file);

	/* It may have been given up because of that. */
	if (*t->ended)
		return;
	file->given = false;
	file->tries = 0;
	file->remade = false;
	if (wrong || store_has(t->store, &file->known.key))
		settle(t, file, wrong);
	else
		file->pending = true;
}

static bool is_due(const struct file *file)
{
	return file->fd >= 0 && file->attached < 0 && !file->pending &&
	       now_seconds() >= file->again;
}

/* Some of what was added, and of what is to be retried. */
static void look_at_some(struct tables *t)
{
	struct files *files = &t->files;
	time_t end = now_seconds() + LOOK_AT_SECONDS;
	size_t left = LOOK_AT;
	off_t bytes = LOOK_AT_BYTES;

	for (size_t i = 0; i < files->nr && left && bytes > 0 && !*t->ended &&
	     now_seconds() < end; i++) {
		struct file *file = &files->file[i];

		if (i == files->old)
			files->old++;
		else if (!is_due(file))
			continue;
		left--;
		/*
		 * What is known of it need not be found out again, say by reading all
		 * of it.
		 */
		if (file->elsewhere) {
			settle(t, file, NULL);
			continue;
		}
		look_at(t, file);
		if (file->known.key.is_hash)
			bytes -= file->size;
	}
}

/* A file that a converter which has ended has left without a table. */
static void settle_without(struct tables *t, struct file *file)
{
	char *wrong = converter_wrong(&t->converter, file, &file->known.lasting);

	file->given = false;
	if (wrong || ++file->tries == TRIES)
		settle(t, file, wrong ? wrong : unmade);
	free(wrong);
}

/* Those whose table has come; with @last, all that a converter was given. */
static void settle_pending(struct tables *t, bool last)
{
	for (size_t i = 0; i < t->files.nr; i++) {
		struct file *file = &t->files.file[i];

		if (!file->pending || !file->given)
			continue;
		if (store_has(t->store, &file->known.key))
			settle(t, file, NULL);
		else if (last)
			settle_without(t, file);
	}
}

struct tables_sum tables_sum(const struct tables *t)
{
	struct tables_sum sum = { .only_anybodys = t->files.old == t->files.nr };

	for (size_t i = 0; i < t->files.old; i++) {
		const struct file *file = &t->files.file[i];

		if (file->attached >= 0) {
			sum.nr++;
			sum.bytes += file->bytes;
		} else if (file->pending) {
			sum.pending++;
			sum.only_anybodys &= files_is_anybodys(file);
		} else {
			sum.without += !file->elsewhere || file->named;
		}
	}
	return sum;
}

bool tables_make(struct tables *t)
{
	size_t pending;
	bool last;

	look_at_some(t);
	if (t->converter.pid) {
		last = converter_has_ended(&t->converter);
		settle_pending(t, last);
		if (last)
			converter_free(&t->converter);
	}
	pending = tables_sum(t).pending;
	if (!t->converter.pid && pending &&
	    !converter_start(&t->converter, &t->files, t->store) && !t->all)
		die("cannot start a process: %s", strerror(errno));
	return t->converter.pid || pending || t->files.old < t->files.nr;
}

static void try_all_again(struct tables *t)
{
	for (size_t i = 0; i < t->files.nr; i++) {
		t->files.file[i].failed = 0;
		t->files.file[i].again = 0;
	}
}

void tables_drop_stale(struct tables *t, bool asked)
{
	time_t now = now_seconds();
	int unmapped = -1;

	if (!t->looked) {
		t->looked = now;
		t->looked_unmapped = now;
	}
	if (!asked && now - t->looked < STALE_SECONDS)
		return;
	if (t->all && (asked || t->full || now - t->looked_unmapped >= UNMAPPED_SECONDS)) {
		unmapped = asked || t->full ? 0 : FILES_UNMAPPED;
		t->looked_unmapped = now;
	}
	if (asked)
		try_all_again(t);
	t->full = false;
	if ((files_drop_stale(&t->files, unmapped) || asked || t->unseen) && t->all)
		t->unseen = !files_add_all(&t->files);
	t->looked = now;
}
