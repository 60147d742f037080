// SPDX-License-Identifier: MIT
/* Files are distributed among processes, each of which takes the next one. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tool.h"
#include "image.h"
#include "work.h"

#define PROGRESS_US	200000

struct shared {
	atomic_size_t next;
	struct totals totals[];		/* of each process */
};

/* In one call, so that lines of several processes do not mix. */
static void complain(const char *path, const char *wrong)
{
	char *shown = escape(path, strlen(path), "");

	fprintf(stderr, "codectl: %s: %s\n", shown, wrong);
	free(shown);
}

static void tell(const struct work *work, size_t i, bool lasting, const char *wrong)
{
	if (!work->wrong)
		return;
	work->wrong[i].lasting = lasting;
	snprintf(work->wrong[i].text, WRONG_SIZE, "%s", wrong ? wrong : "");
}

/* ---------------------------------------------------------------- one file */

/* By build-id, if it has one. */
static bool get_id(const struct object *object, struct store_key *key)
{
	if (object->build_id_len < 2)
		return false;
	key->is_hash = false;
	key->len = object->build_id_len;
	memcpy(key->bytes, object->build_id, key->len);
	return true;
}

static const char *get_key(const struct work *work, const struct image *image,
			   const struct object *object, struct store_key *key)
{
	if (image->trusted && !work->by_content && get_id(object, key))
		return NULL;
	return image_hash(image, key) ? NULL : "cannot make its SHA-256";
}

static const char *keep(const struct work *work, const struct store_key *key, bool secret,
			const struct conversion *conversion)
{
	const struct object *object = &conversion->object;
	const struct table *table = &conversion->table;

	if (work->output)
		return store_write(work->output, object, table) ? NULL : strerror(errno);
	return store_put(work->store, key, secret, object, table) ? NULL : strerror(errno);
}

/* The rest of a conversion that has been started. */
static const char *finish(const struct work *work, const struct image *image,
			  struct conversion *conversion, struct totals *totals)
{
	struct store_key key;
	const char *wrong = NULL;

	if (!work->output)
		wrong = get_key(work, image, &conversion->object, &key);
	if (!wrong && !work->output && !work->force && store_has(work->store, &key)) {
		totals->present++;
		convert_cancel(conversion);
		return NULL;
	}
	if (wrong) {
		convert_cancel(conversion);
		return wrong;
	}
	wrong = convert_finish(conversion);
	if (wrong)
		return wrong;
	wrong = keep(work, &key, image->secret, conversion);
	if (!wrong)
		totals_count(totals, conversion);
	table_free(&conversion->table);
	return wrong;
}

static void convert(const struct work *work, size_t i, struct totals *totals)
{
	struct conversion conversion = { 0 };
	const char *path = work->paths[i], *wrong;
	struct image image;
	bool elf;

	tell(work, i, false, "who made its table was killed");
	wrong = image_open(path, work->tree && !work->wrong, &image, &elf);
	if (!wrong) {
		wrong = convert_start(&conversion, image.data, image.size,
				      CONVERT_SECONDS);
		if (!wrong)
			wrong = finish(work, &image, &conversion, totals);
		image_close(&image);
	}
	tell(work, i, image.lasting || conversion.lasting, wrong);
	if (!wrong)
		return;
	if (work->tree && (!elf || convert_is_passed_over(&conversion))) {
		totals->passed_over++;
		return;
	}
	totals->failed++;
	if (!work->quiet)
		complain(path, wrong);
}

/* --------------------------------------------------------------- all files */

static size_t shared_size(unsigned long jobs)
{
	return sizeof(struct shared) + jobs * sizeof(struct totals);
}

/* The files may take over their readers, which this process starts. */
static bool keep_from_readers(const struct work *work, struct shared *shared,
			      unsigned long jobs)
{
	return !madvise(shared, shared_size(jobs), MADV_DONTFORK) &&
	       (!work->wrong ||
		!madvise(work->wrong, work->nr * sizeof(*work->wrong), MADV_DONTFORK));
}

static pid_t start(const struct work *work, struct shared *shared, unsigned long job,
		   unsigned long jobs)
{
	pid_t parent = getpid(), pid = fork();
	size_t i;

	if (pid)
		return pid;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent ||
	    !keep_from_readers(work, shared, jobs))
		_exit(1);
	while ((i = atomic_fetch_add(&shared->next, 1)) < work->nr)
		convert(work, i, &shared->totals[job]);
	_exit(0);
}

/* Waits for all processes to end; false if one of them was killed. */
static bool wait_all(const struct work *work, struct shared *shared, unsigned long jobs)
{
	bool show = work->tree && !work->quiet && isatty(STDERR_FILENO), good = true;
	int status;
	pid_t ended;

	while (jobs) {
		ended = waitpid(-1, &status, show ? WNOHANG : 0);
		if (ended > 0) {
			jobs--;
			good &= WIFEXITED(status) && !WEXITSTATUS(status);
		} else if (ended < 0 && errno != EINTR) {
			return false;
		} else if (show) {
			size_t next = shared->next;

			fprintf(stderr, "\r%zu of %zu files ", next < work->nr ? next : work->nr,
				work->nr);
			usleep(PROGRESS_US);
		}
	}
	if (show)
		fputs("\r\033[K", stderr);
	return good;
}

struct totals work_run(const struct work *work)
{
	unsigned long jobs = work->jobs < work->nr ? work->jobs : work->nr, started;
	struct shared *shared;
	struct totals totals = { 0 };

	shared = mmap(NULL, shared_size(jobs), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		die("out of memory");
	fflush(stdout);
	for (started = 0; started < jobs; started++)
		if (start(work, shared, started, jobs) < 0)
			break;
	if (jobs && !started)
		die("cannot start a process: %s", strerror(errno));
	if (!wait_all(work, shared, started)) {
		totals.failed++;
		if (!work->quiet)
			fputs("codectl: a process that converts files was killed\n", stderr);
	}
	for (unsigned long i = 0; i < started; i++)
		totals_add(&totals, &shared->totals[i]);
	munmap(shared, shared_size(jobs));
	return totals;
}

const char *work_know(const char *path, struct known *known,
		      const volatile sig_atomic_t *stop)
{
	struct conversion conversion;
	struct image image;
	const char *wrong;

	known->nr_segments = 0;
	wrong = image_key(path, &image, &known->key, stop);
	known->lasting = image.lasting;
	known->believed = !wrong && image.trusted;
	if (!known->believed)
		return wrong;
	wrong = convert_start(&conversion, image.data, image.size, START_SECONDS);
	known->lasting = conversion.lasting;
	image_close(&image);
	if (wrong)
		return wrong;
	convert_cancel(&conversion);
	/* The pages of a file that is truncated, or cannot be read, no longer exist. */
	if (!get_id(&conversion.object, &known->key))
		return image_hash_file(path, image.size, &known->key, stop);
	known->nr_segments = conversion.object.nr_segments;
	memcpy(known->segments, conversion.object.segments, sizeof(known->segments));
	return NULL;
}
