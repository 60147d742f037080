// SPDX-License-Identifier: MIT
/* Which files are converted, the confined process, and the store. */
#include <elf.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "sframe/convert.h"
#include "sframe/image.h"
#include "sframe/work.h"
#include "tool.h"

static struct image image;
static char *folder;

/* ------------------------------------------------------------------ files */

/* Return: the error for the @size bytes at @data, after a full conversion. */
static const char *convert_bytes(const void *data, size_t size)
{
	struct conversion conversion;
	char *copy = exact_copy(data, size);
	const char *wrong = convert_start(&conversion, copy, size, CONVERT_SECONDS);

	if (!wrong)
		wrong = convert_finish(&conversion);
	if (!wrong)
		table_free(&conversion.table);
	free(copy);
	return wrong;
}

static void a_file_is_converted_in_a_confined_process(void)
{
	CHECK(!convert_bytes(image.data, image.size));
	CHECK(convert_bytes("no ELF", 6));
	/* Without its section headers there is no CFI. */
	CHECK(convert_bytes(image.data, 0x400));
}

/* Like separate debugging information: the headers of the code without contents. */
static void a_file_without_code_is_passed_over(void)
{
	char *data = exact_copy(image.data, image.size);
	Elf64_Ehdr *header = (Elf64_Ehdr *)data;
	Elf64_Phdr *segment = (Elf64_Phdr *)(data + header->e_phoff);
	struct conversion conversion;

	for (unsigned int i = 0; i < header->e_phnum; i++)
		if (segment[i].p_flags & PF_X)
			segment[i].p_filesz = 0;
	CHECK(convert_start(&conversion, data, image.size, CONVERT_SECONDS));
	CHECK(convert_is_passed_over(&conversion));
	free(data);
}

static void damaged_files_do_no_harm(void)
{
	unsigned int good = 0;
	char *data;

	for (unsigned int i = 0; i < 100; i++) {
		data = exact_copy(image.data, image.size);
		mutate(data, i % 2 ? image.size : 512);
		good += !convert_bytes(data, image.size);
		free(data);
	}
	CHECK(good > 0 && good < 100);
}

static struct sandbox box;

static const char *run_confined(sandbox_work work, char *answer)
{
	const char *ended;
	bool own;

	if (sandbox_start(&box, work, NULL, 64 << 20, 1))
		return "not started";
	if (!sandbox_read(&box, answer, 1))
		*answer = 0;
	ended = sandbox_end(&box, &own);
	if (ended)
		printf("# %s\n", ended);
	return ended;
}

static void answer(int out, bool yes)
{
	if (write(out, yes ? "y" : "n", 1) != 1)
		_exit(1);
}

static void try_to_open(void *arg, int out)
{
	(void)arg;
	answer(out, open("/dev/null", O_RDONLY) < 0 && fork() < 0 && getpid() < 0);
}

static void try_to_use_memory(void *arg, int out)
{
	void *some, *much;

	(void)arg;
	some = mmap(NULL, 32 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	much = mmap(NULL, 256 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	answer(out, some != MAP_FAILED && much == MAP_FAILED);
}

static void spin(void *arg, int out)
{
	(void)arg;
	(void)out;
	for (;;)
		__asm__ volatile("");
}

static void crash(void *arg, int out)
{
	(void)arg;
	(void)out;
	__builtin_trap();
}

static void the_process_can_only_compute(void)
{
	char said;

	CHECK(!run_confined(try_to_open, &said) && said == 'y');
	CHECK(!run_confined(try_to_use_memory, &said) && said == 'y');
	CHECK(run_confined(spin, &said) && !said);
	CHECK(run_confined(crash, &said) && !said);
}

/* Is the end of the process, by @sig or by exit if @sig is 0, reported correctly? */
static bool ends_by_itself(int sig)
{
	char said;
	bool own;

	CHECK(!sandbox_start(&box, spin, NULL, 64 << 20, 1));
	if (sig)
		kill(box.pid, sig);
	CHECK(!sandbox_read(&box, &said, 1) && sandbox_end(&box, &own));
	return own;
}

static void what_others_do_to_it_is_told_apart(void)
{
	CHECK(ends_by_itself(0) && ends_by_itself(SIGTRAP));
	CHECK(!ends_by_itself(SIGKILL) && !ends_by_itself(SIGTERM));
}

static void fill(void *arg, int out)
{
	static const char much[1 << 20];

	(void)arg;
	if (write(out, much, sizeof(much)) != sizeof(much))
		_exit(1);
}

static void what_it_writes_need_not_be_read(void)
{
	char said;

	CHECK(!run_confined(fill, &said));
}

/* The process is stopped while data is read from it, and after everything was read. */
static void who_is_stopped_is_not_waited_for(void)
{
	char said;
	bool own;

	CHECK(!sandbox_start(&box, spin, NULL, 64 << 20, 1));
	kill(box.pid, SIGSTOP);
	box.patience_ms = 1000;
	CHECK(!sandbox_read(&box, &said, 1));
	CHECK(sandbox_end(&box, &own) && !own);
	CHECK(!sandbox_start(&box, spin, NULL, 64 << 20, 1));
	kill(box.pid, SIGSTOP);
	box.patience_ms = 1000;
	CHECK(sandbox_end(&box, &own) && !own);
}

static void spin_and_say(void *arg, int out)
{
	(void)arg;
	for (volatile unsigned long i = 0; i < 1UL << 31; i++)
		;
	if (write(out, "y", 1) != 1)
		_exit(1);
}

/* A process that works, or waits for a CPU, may take longer than one that only waits. */
static void who_works_is_waited_for(void)
{
	char said = 0;
	bool own;

	CHECK(!sandbox_start(&box, spin_and_say, NULL, 64 << 20, 100));
	box.patience_ms = 400;
	CHECK(sandbox_read(&box, &said, 1) && said == 'y');
	CHECK(!sandbox_end(&box, &own));
}

static void writable_files_are_copied_and_not_believed(void)
{
	/* Not in /tmp, where codectl does not trust root's files. */
	char path[] = CFI_OBJECT "-XXXXXX";
	struct store_key key = { 0 };
	int fd = mkstemp(path);
	struct image one;
	bool elf;

	CHECK(fd >= 0 && write(fd, image.data, image.size) == (ssize_t)image.size);
	CHECK(!image_open(path, false, &one, &elf) && elf && one.trusted);
	image_close(&one);
	fchmod(fd, 0666);
	CHECK(!image_open(path, false, &one, &elf) && elf && !one.trusted);
	CHECK(one.size == image.size && !memcmp(one.data, image.data, one.size));
	CHECK(image_hash(&one, &key) && key.len == 32 && key.is_hash);
	image_close(&one);
	CHECK(!ftruncate(fd, 63) && image_open(path, false, &one, &elf) && !elf);
	CHECK(image_open("/dev/null", false, &one, &elf) && !elf);
	close(fd);
	unlink(path);
	CHECK(image_open(path, false, &one, &elf) && elf);
	/* A file found in a tree may have become a link since. */
	CHECK(!symlink(strrchr(CFI_OBJECT, '/') + 1, path));
	CHECK(image_open(path, true, &one, &elf) && elf);
	CHECK(!image_open(path, false, &one, &elf));
	image_close(&one);
	unlink(path);
}

static void what_is_not_copied_is_said(void)
{
	char path[] = CFI_OBJECT "-XXXXXX";
	int fd = mkstemp(path);
	struct image one;
	bool elf;

	CHECK(fd >= 0 && write(fd, image.data, image.size) == (ssize_t)image.size);
	CHECK(!ftruncate(fd, (1L << 30) + 1) && !fchmod(fd, 0622));
	CHECK(!strcmp(image_open(path, false, &one, &elf),
		      "larger than 1 GiB, and not known to be root's"));
	close(fd);
	unlink(path);
}

/* Entries are found by the object's build-id, or by its SHA-256. */
static void a_key_says_who_can_write(void)
{
	char path[] = CFI_OBJECT "-XXXXXX";
	struct known by_id, by_content;
	struct store_key hash;
	volatile sig_atomic_t stop = 0;
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, image.data, image.size) == (ssize_t)image.size);
	CHECK(!work_know(path, &by_id, &stop) && by_id.believed && !by_id.key.is_hash);
	CHECK(by_id.key.len == 20);
	fchmod(fd, 0666);
	CHECK(!work_know(path, &by_content, &stop) && !by_content.believed);
	CHECK(by_content.key.is_hash);
	CHECK(image_hash(&image, &hash) && by_content.key.len == hash.len &&
	      !memcmp(by_content.key.bytes, hash.bytes, hash.len));
	stop = 1;
	CHECK(work_know(path, &by_content, &stop) && !by_content.lasting);
	stop = 0;
	close(fd);
	unlink(path);
	CHECK(work_know(path, &by_id, &stop) && !by_id.lasting);
}

/* The file may be truncated meanwhile: it is read, not mapped. */
static void what_has_no_build_id_is_read(void)
{
	static const char note[] = "\x14\0\0\0\3\0\0\0GNU";
	char path[] = CFI_OBJECT "-XXXXXX";
	volatile sig_atomic_t stop = 0;
	char *data = exact_copy(image.data, image.size), *found;
	struct known known;
	int fd = mkstemp(path);

	found = memmem(data, image.size, note, sizeof(note));
	CHECK(fd >= 0 && found);
	/* Make it a note of another type. */
	found[4] = 9;
	CHECK(write(fd, data, image.size) == (ssize_t)image.size);
	CHECK(!work_know(path, &known, &stop) && known.believed && known.key.is_hash);
	stop = 1;
	CHECK(work_know(path, &known, &stop) && !known.lasting);
	free(data);
	close(fd);
	unlink(path);
}

/* A process with its own mounts, or -1; without root this needs user namespaces. */
static pid_t start_elsewhere(void)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid) {
		if ((!unshare(CLONE_NEWNS) || !unshare(CLONE_NEWUSER | CLONE_NEWNS)) &&
		    write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		pid = -1;
	close(ready[0]);
	return pid;
}

static void believe(const char *path, bool trusted)
{
	struct image one;
	bool elf;

	CHECK(!image_open(path, false, &one, &elf) && elf && one.trusted == trusted);
	image_close(&one);
}

/* The same file, as a container sees it. */
static void files_mounted_elsewhere_are_not_believed(void)
{
	char path[] = CFI_OBJECT "-XXXXXX", *real, *elsewhere;
	int fd = mkstemp(path);
	pid_t pid = start_elsewhere();

	CHECK(fd >= 0 && write(fd, image.data, image.size) == (ssize_t)image.size);
	CHECK(pid > 0);
	real = realpath(path, NULL);
	elsewhere = format("/proc/%d/root%s", pid, real);
	believe(path, true);
	believe(elsewhere, false);
	free(elsewhere);
	free(real);
	close(fd);
	unlink(path);
	if (pid > 0)
		kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ------------------------------------------------------------------ the store */

static const struct row row = {
	0x1000, 16, 0, 0, 0, { LOC_VALUE, REG_SP, 0, 8 }, { LOC_WORD, BASE_CFA, 0, -8 },
	{ LOC_SAME, 0, 0, 0 },
};

static bool put(int store, uint8_t name, bool is_hash)
{
	const struct store_key key = { is_hash, { 0xab, name, 1 }, 3 };
	const struct object object = {
		.type = ET_DYN, .nr_segments = 1, .segments = { { 0x1000, 0x1000, 0x1000 } },
		.table_addr = 0x2000,
	};
	struct table table;
	bool good;

	CHECK(table_write(&row, 1, object.table_addr, &table));
	good = store_put(store, &key, false, &object, &table) && store_has(store, &key);
	table_free(&table);
	return good;
}

static void age(int store, const char *name, unsigned int days)
{
	const struct timespec then = { time(NULL) - days * 24L * 60 * 60, 0 };
	const struct timespec times[2] = { then, then };

	CHECK(!utimensat(store, name, times, AT_SYMLINK_NOFOLLOW));
}

static bool is_there(int store, const char *name)
{
	struct stat stat;

	return !fstatat(store, name, &stat, AT_SYMLINK_NOFOLLOW);
}

static void a_store_keeps_tables(void)
{
	const struct store_key other = { false, { 0xab, 9 }, 2 };
	int store = store_open(folder);

	CHECK(put(store, 1, false) && put(store, 1, true) && put(store, 1, false));
	CHECK(is_there(store, "ab/0101.sframe"));
	CHECK(is_there(store, "sha256/ab/0101.sframe"));
	CHECK(!store_has(store, &other));
	close(store);
}

static void a_store_follows_no_symbolic_link(void)
{
	const struct store_key key = { false, { 0xcd, 1 }, 2 };
	struct object object = { 0 };
	struct table table = { 0 };
	int store = store_open(folder);

	CHECK(!symlinkat("/tmp", store, "cd"));
	CHECK(!store_has(store, &key) && !store_put(store, &key, false, &object, &table));
	CHECK(!unlinkat(store, "cd", 0));
	close(store);
}

static const struct store_key packaged_key = { false, { 0xab, 5, 1 }, 3 };

static bool is_found(int store)
{
	int fd = store_read(store, &packaged_key);

	close(fd);
	return fd >= 0 && store_has(store, &packaged_key);
}

static void tables_of_packages_come_first(void)
{
	const struct store_key other = { false, { 0xef, 5, 1 }, 3 };
	char *path = format("%s/packaged", folder);
	int store = store_open(folder), packaged = store_open(path);
	struct stat stat;

	CHECK(put(packaged, 5, false) && !is_found(store));
	age(packaged, "ab/0501.sframe", 10);
	store_look_into(path);
	CHECK(is_found(store) && !store_has(store, &other));
	/* A lookup leaves the packaged store unchanged. */
	CHECK(!is_there(packaged, "ef") &&
	      !fstatat(packaged, "ab/0501.sframe", &stat, 0) &&
	      stat.st_mtime < time(NULL) - 24 * 60 * 60);
	store_remove(store, &packaged_key);
	CHECK(!is_found(store) && is_there(packaged, "ab/0501.sframe"));
	CHECK(!chmod(path, 0777));
	store_look_into(path);
	CHECK(!is_found(store));
	CHECK(!chmod(path, 0755) && !unlinkat(packaged, "ab/0501.sframe", 0));
	close(packaged);
	close(store);
	free(path);
}

static void a_table_is_removed(void)
{
	int store = store_open(folder);

	CHECK(put(store, 5, false));
	store_remove(store, &packaged_key);
	CHECK(!is_found(store) && !is_there(store, "ab/0501.sframe"));
	close(store);
}

static void pruning_removes_what_was_not_used(void)
{
	int store = store_open(folder), fd;
	struct store_pruned pruned;

	CHECK(put(store, 2, false) && put(store, 3, false));
	fd = openat(store, "ab/.1.new", O_CREAT | O_WRONLY, 0644);
	close(fd);
	fd = openat(store, "ab/.2.new", O_CREAT | O_WRONLY, 0644);
	close(fd);
	age(store, "ab/.1.new", 1);
	age(store, "ab/0101.sframe", 100);
	age(store, "ab/0201.sframe", 20);
	age(store, "ab/0301.sframe", 10);
	CHECK(store_prune(store, 1 << 20, 90, &pruned) && pruned.removed == 2);
	CHECK(!is_there(store, "ab/.1.new") && is_there(store, "ab/.2.new"));
	CHECK(!is_there(store, "ab/0101.sframe") && is_there(store, "ab/0201.sframe"));
	/* The oldest entries are removed until the rest fits. */
	CHECK(store_prune(store, 2 * pruned.kept_bytes / 3, 90, &pruned));
	CHECK(pruned.removed == 1 && !is_there(store, "ab/0201.sframe"));
	CHECK(is_there(store, "ab/0301.sframe"));
	CHECK(store_prune(store, 0, 90, &pruned) && !pruned.kept_bytes);
	CHECK(!is_there(store, "sha256/ab/0101.sframe"));
	/* Entries without a build-id take half of the store at most. */
	CHECK(put(store, 1, false) && put(store, 1, true) && put(store, 2, true));
	age(store, "ab/0101.sframe", 3);
	age(store, "sha256/ab/0101.sframe", 2);
	CHECK(store_prune(store, 1 << 20, 90, &pruned) && !pruned.removed);
	CHECK(store_prune(store, pruned.kept_bytes, 90, &pruned) && pruned.removed == 1);
	CHECK(!is_there(store, "sha256/ab/0101.sframe"));
	CHECK(is_there(store, "ab/0101.sframe") && is_there(store, "sha256/ab/0201.sframe"));
	CHECK(store_prune(store, 0, 90, &pruned));
	close(store);
}

/* The directory may belong to another user. */
static void pruning_removes_nothing_else(void)
{
	static const char * const others[] = {
		"passwd", "ab.sframe", "ab/passwd", "ab/.passwd", "ab/x1.sframe", "etc/00.sframe",
		"ab/sha256/00.sframe", "sha256/00/cd/ef.sframe",
	};
	static const char * const folders[] = {
		"etc", "ab", "ab/sha256", "sha256", "sha256/00", "sha256/00/cd",
	};
	int store = store_open(folder);
	struct store_pruned pruned;

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		mkdirat(store, folders[i], 0755);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		close(openat(store, others[i], O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
		age(store, others[i], 100);
	}
	CHECK(store_prune(store, 0, 1, &pruned) && !pruned.removed);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(is_there(store, others[i]));
	close(store);
}

int main(void)
{
	char name[] = "/tmp/codectl-store-XXXXXX", *command;
	bool elf;

	folder = mkdtemp(name);
	if (!folder || image_open(CFI_OBJECT, false, &image, &elf)) {
		printf("Bail out! no %s\n", CFI_OBJECT);
		return 1;
	}
	RUN(a_file_is_converted_in_a_confined_process);
	RUN(a_file_without_code_is_passed_over);
	RUN(damaged_files_do_no_harm);
	RUN(the_process_can_only_compute);
	RUN(what_others_do_to_it_is_told_apart);
	RUN(what_it_writes_need_not_be_read);
	RUN(who_is_stopped_is_not_waited_for);
	RUN(who_works_is_waited_for);
	RUN(writable_files_are_copied_and_not_believed);
	RUN(what_is_not_copied_is_said);
	RUN(a_key_says_who_can_write);
	RUN(what_has_no_build_id_is_read);
	RUN(files_mounted_elsewhere_are_not_believed);
	RUN(a_store_keeps_tables);
	RUN(a_store_follows_no_symbolic_link);
	RUN(tables_of_packages_come_first);
	RUN(a_table_is_removed);
	RUN(pruning_removes_what_was_not_used);
	RUN(pruning_removes_nothing_else);
	image_close(&image);
	command = format("rm -rf %s", folder);
	if (system(command))
		printf("# cannot remove %s\n", folder);
	free(command);
	return check_end();
}
