// SPDX-License-Identifier: MIT
/* What attach does with files, with a stand-in for a system call that this kernel may refuse. */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "object_folder.h"
#include "tool.h"

static long stand_in(long number, ...);

#define syscall		stand_in
#include "attach/tables.c"
#undef syscall

/*
 * The stand-in for CODE_ATTACH_FILE: the number of calls, its error, and what happens to the file
 * of that name meanwhile.
 */
static unsigned int nr_calls;
static int error_to_give;
static const char *written_meanwhile;

/* With modification times that hide the change. */
static void write_to(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	struct timespec times[2];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) || pwrite(fd, "x", 1, st.st_size - 1) != 1)
		abort();
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (futimens(fd, times))
		abort();
	close(fd);
}

static long stand_in(long number, ...)
{
	if (number != __NR_codectl)
		abort();
	if (written_meanwhile)
		write_to(written_meanwhile);
	nr_calls++;
	errno = error_to_give;
	return error_to_give ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static volatile sig_atomic_t ended;

static struct tables new_tables(void)
{
	return (struct tables){
		.store = store_open(store), .ended = &ended, .quarters = TABLES_ANYBODYS,
	};
}

/* A copy of the object to be converted; with @large, a file that is hashed completely. */
static char *add_copy(struct tables *a, const char *name, bool large)
{
	char *path = in_folder(name), *command = format("cp %s %s", object, path);

	CHECK(!system(command));
	free(command);
	if (large)
		CHECK(!truncate(path, LOOK_AT_BYTES) && !chmod(path, 0666));
	CHECK(files_add_named(&a->files, path));
	a->files.file[a->files.nr - 1].named = false;
	return path;
}

/* Waits until it is decided for each added file whether it gets a table. */
static void attach_added(struct tables *a)
{
	fflush(stdout);
	while (tables_make(a))
		usleep(1000);
}

static void let_go(struct tables *a)
{
	for (size_t i = 0; i < a->files.nr; i++) {
		struct file *file = &a->files.file[i];

		if (file->attached >= 0)
			close(file->attached);
		close(file->fd);
		file->attached = -1;
		file->fd = -1;
		file->pending = false;
		file->hopeless = false;
	}
	a->files.old = a->files.nr;
	files_drop_stale(&a->files, -1);
	free(a->files.file);
	close(a->store);
}

static void a_pass_is_bounded(void)
{
	struct tables a = new_tables();
	char *first = add_copy(&a, "first", true), *second = add_copy(&a, "second", true);

	ended = 1;
	look_at_some(&a);
	CHECK(!a.files.old);
	ended = 0;
	look_at_some(&a);
	CHECK(a.files.old == 1 && a.files.file[0].known.key.is_hash);
	look_at_some(&a);
	CHECK(a.files.old == 2);
	let_go(&a);
	unlink(first);
	unlink(second);
	free(first);
	free(second);
}

/* The seconds until a retry after the kernel has returned @error for a file. */
static int seconds_until_tried(int error)
{
	struct tables a = new_tables();
	char *path = add_copy(&a, "busy", false);
	int seconds;

	error_to_give = error;
	attach_added(&a);
	error_to_give = 0;
	CHECK(!tables_sum(&a).nr && tables_sum(&a).without == (error != EEXIST));
	CHECK(!a.files.file[0].hopeless && a.files.file[0].failed == 1);
	seconds = a.files.file[0].again - now_seconds();
	let_go(&a);
	unlink(path);
	free(path);
	return seconds;
}

static void what_is_written_to_meanwhile_is_noticed(void)
{
	struct tables a = new_tables();
	char *path = add_copy(&a, "written", false);

	written_meanwhile = path;
	attach_added(&a);
	written_meanwhile = NULL;
	CHECK(!tables_sum(&a).nr && tables_sum(&a).without == 1);
	CHECK(!a.files.file[0].hopeless && a.files.file[0].again);
	CHECK(a.files.file[0].attached < 0);
	let_go(&a);
	unlink(path);
	free(path);
}

static void what_may_be_over_is_tried_again(void)
{
	struct tables a = { .store = -1 };
	struct file file = { .fd = -1, .name = object, .known.key = { .len = 2 } };

	CHECK(seconds_until_tried(ETXTBSY) <= STALE_SECONDS);
	CHECK(seconds_until_tried(EAGAIN) <= STALE_SECONDS);
	CHECK(seconds_until_tried(EEXIST) > STALE_SECONDS);
	settle(&a, &file, unmade);
	settle(&a, &file, NULL);
	/* The file is tried again soon if nothing is wrong with it. */
	settle(&a, &file, "No space left on device");
	CHECK(!file.hopeless && file.failed == 3);
	file.known.lasting = true;
	settle(&a, &file, "has no CFI");
	CHECK(file.hopeless);
}

/* A failed file is tried again, since what is known about it may be obsolete. */
static void and_less_and_less_often(void)
{
	struct tables a = new_tables();
	char *path = add_copy(&a, "often", false);
	struct file *file = &a.files.file[0];

	error_to_give = ETXTBSY;
	nr_calls = 0;
	attach_added(&a);
	for (int i = 1; i < 10; i++) {
		attach_added(&a);
		CHECK(nr_calls == i * 1U);
		file->again = now_seconds();
		attach_added(&a);
	}
	CHECK(file->again - now_seconds() > 1800 && file->again - now_seconds() <= 3840);
	error_to_give = 0;
	attach_added(&a);
	CHECK(file->attached < 0);
	tables_drop_stale(&a, true);
	attach_added(&a);
	CHECK(file->attached >= 0 && !file->failed);
	let_go(&a);
	unlink(path);
	free(path);
}

static void damage_table(const struct tables *a, const struct store_key *key)
{
	int fd = store_read(a->store, key);
	char *path = format("/proc/self/fd/%d", fd);

	CHECK(fd >= 0 && !truncate(path, 100));
	free(path);
	close(fd);
}

static void a_table_that_is_no_good_is_made_again(void)
{
	struct tables a = new_tables();
	char *path = add_copy(&a, "again", false);

	CHECK(!key_of(&a, &a.files.file[0]));
	damage_table(&a, &a.files.file[0].known.key);
	attach_added(&a);
	CHECK(tables_sum(&a).nr == 1 && !tables_sum(&a).without && a.files.file[0].attached >= 0);
	let_go(&a);
	unlink(path);
	free(path);
}

static void what_is_laid_out_otherwise_gets_none(void)
{
	struct tables a = new_tables();
	char *path = add_copy(&a, "moved", false);
	struct file *file = &a.files.file[0];

	CHECK(!key_of(&a, file) && file->known.nr_segments);
	a.files.old = 1;
	file->known.segments[0].vaddr += 0x1000;
	nr_calls = 0;
	settle(&a, file, NULL);
	CHECK(!nr_calls && !tables_sum(&a).nr && !file->hopeless && file->again);
	let_go(&a);
	unlink(path);
	free(path);
}

static void and_once_only(void)
{
	struct tables a = new_tables();
	char *path = add_copy(&a, "once", false);

	nr_calls = 0;
	error_to_give = EINVAL;
	attach_added(&a);
	error_to_give = 0;
	CHECK(nr_calls == 2 && !tables_sum(&a).nr && tables_sum(&a).without == 1);
	let_go(&a);
	unlink(path);
	free(path);
}

static void what_gets_no_table_is_asked_once(void)
{
	struct tables a = new_tables();
	char *path = in_folder("text"), *command = format("echo text > %s", path);

	CHECK(!system(command) && files_add_named(&a.files, path));
	a.files.file[0].named = false;
	attach_added(&a);
	CHECK(tables_sum(&a).without == 1 && a.files.file[0].hopeless);
	files_drop_stale(&a.files, -1);
	CHECK(a.files.nr == 1 && files_add_named(&a.files, path) && a.files.nr == 1);
	/* A changed file is tried again. */
	CHECK(!system(command) && files_add_named(&a.files, path) && a.files.nr == 2);
	files_drop_stale(&a.files, -1);
	CHECK(a.files.nr == 1 && a.files.file[0].fd >= 0 && !a.files.old);
	let_go(&a);
	unlink(path);
	free(command);
	free(path);
}

/* @nr files to be converted; any user may have made them, except the last one. */
static void make_pending(struct files *files, size_t nr)
{
	files->file = calloc(nr, sizeof(*files->file));
	for (files->nr = 0; files->nr < nr; files->nr++)
		files->file[files->nr] = (struct file){
			.fd = open(object, O_RDONLY | O_CLOEXEC), .attached = -1,
			.pending = true, .known.believed = files->nr == nr - 1,
		};
}

/* Return: the number given to a converter, which are then no longer pending. */
static size_t convert_some(struct files *files, int at)
{
	struct converter converter = { 0 };
	size_t nr = 0;

	converter_start(&converter, files, at);
	while (!converter_has_ended(&converter))
		usleep(1000);
	for (size_t i = 0; i < files->nr; i++) {
		nr += files->file[i].given;
		files->file[i].pending &= !files->file[i].given;
		files->file[i].given = false;
	}
	converter_free(&converter);
	return nr;
}

static void what_cannot_be_started_is_tried_again(void)
{
	struct tables a = new_tables();
	struct rlimit was, none;

	a.all = true;
	make_pending(&a.files, 1);
	a.files.old = 1;
	CHECK(!getrlimit(RLIMIT_AS, &was));
	none = was;
	none.rlim_cur = 1;
	CHECK(!setrlimit(RLIMIT_AS, &none));
	CHECK(tables_make(&a) && !a.converter.pid && !a.files.file[0].given);
	CHECK(!setrlimit(RLIMIT_AS, &was) && tables_sum(&a).pending == 1);
	fflush(stdout);
	CHECK(converter_start(&a.converter, &a.files, a.store));
	while (!converter_has_ended(&a.converter))
		usleep(1000);
	converter_free(&a.converter);
	close(a.files.file[0].fd);
	free(a.files.file);
	close(a.store);
}

static void what_anybody_has_made_comes_last(void)
{
	struct files files = { 0 };
	int at = store_open(store);

	fflush(stdout);
	make_pending(&files, CONVERTER_ANYBODYS + 3);
	CHECK(convert_some(&files, at) == 1 && !files.file[files.nr - 1].pending);
	CHECK(convert_some(&files, at) == CONVERTER_ANYBODYS);
	CHECK(convert_some(&files, at) == 2);
	while (files.nr)
		close(files.file[--files.nr].fd);
	free(files.file);
	close(at);
}

/* Does the object get a table while tables of files that anybody can make take @bytes? */
static bool has_room_beside(unsigned long long bytes, unsigned int quarters, mode_t mode)
{
	struct tables a = new_tables();
	char *path = add_copy(&a, "share", false);
	bool attached;

	a.files.anybodys_bytes = bytes;
	a.quarters = quarters;
	CHECK(!chmod(path, mode));
	attach_added(&a);
	attached = tables_sum(&a).nr;
	CHECK(tables_sum(&a).nr + tables_sum(&a).without == 1 && !a.full);
	let_go(&a);
	unlink(path);
	free(path);
	return attached;
}

static void what_anybody_has_made_leaves_room(void)
{
	char *limit = in_folder("limit"), *files = in_folder("files");
	char *command = format("echo 4 > %s; echo '0x1 08:01 7 1 1000 ok /a b' > %s;"
			       "echo '0x2 08:01 8 1 2072 ok /c' >> %s", limit, files, files);

	CHECK(!system(command));
	attached_kb = limit;
	attached_files = files;
	CHECK(has_room_beside(3 << 10, TABLES_ANYBODYS, 0666));
	CHECK(!has_room_beside((3 << 10) + 1, TABLES_ANYBODYS, 0666));
	CHECK(has_room_beside(1 << 10, TABLES_ONE_USERS, 0666));
	CHECK(!has_room_beside((1 << 10) + 1, TABLES_ONE_USERS, 0666));
	CHECK(has_room_beside(1 << 20, TABLES_ONE_USERS, 0644));
	free(command);
	/* In addition to those of other users. */
	command = format("echo '0x3 08:01 9 1 1 ok /d' >> %s", files);
	CHECK(!system(command));
	CHECK(!has_room_beside(0, TABLES_ONE_USERS, 0666));
	CHECK(has_room_beside(0, TABLES_ONE_USERS, 0644));
	unlink(limit);
	unlink(files);
	free(command);
	free(limit);
	free(files);
}

/* Such a file is tried again later, with what is already known about it. */
static void what_has_a_table_of_others_is_tried_again_later(void)
{
	struct tables a = new_tables();
	char *path = add_copy(&a, "elsewhere", false);
	struct file *file = &a.files.file[0];

	error_to_give = EEXIST;
	attach_added(&a);
	CHECK(!tables_sum(&a).nr && !tables_sum(&a).without && file->elsewhere);
	/* The other user's table is gone, but the file is still open for writing. */
	error_to_give = ETXTBSY;
	file->again -= UNMAPPED_SECONDS;
	attach_added(&a);
	CHECK(!file->elsewhere && file->fd >= 0 && tables_sum(&a).without == 1);
	error_to_give = 0;
	attach_added(&a);
	CHECK(!tables_sum(&a).nr);
	file->again = 0;
	attach_added(&a);
	CHECK(tables_sum(&a).nr == 1);
	let_go(&a);
	unlink(path);
	free(path);
}

int main(void)
{
	if (!make_folder())
		return 1;
	RUN(a_pass_is_bounded);
	RUN(what_is_written_to_meanwhile_is_noticed);
	RUN(what_may_be_over_is_tried_again);
	RUN(and_less_and_less_often);
	RUN(a_table_that_is_no_good_is_made_again);
	RUN(and_once_only);
	RUN(what_is_laid_out_otherwise_gets_none);
	RUN(what_gets_no_table_is_asked_once);
	RUN(what_cannot_be_started_is_tried_again);
	RUN(what_anybody_has_made_comes_last);
	RUN(what_anybody_has_made_leaves_room);
	RUN(what_has_a_table_of_others_is_tried_again_later);
	remove_folder();
	return check_end();
}
