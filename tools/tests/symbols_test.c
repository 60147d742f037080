// SPDX-License-Identifier: MIT
/*
 * The worst that compromised readers and holders of files can do.  The stand-ins for compromised
 * holders are here.
 */
#include <malloc.h>
#include <sys/stat.h>

#include "check.h"
#include "debuginfod.h"
#include "perf_file.h"
#include "sandbox.h"
#include "symbol.c"

/* The behaviour of a holder when asked. */
static void (*behave)(const struct holder_request *request, const int *given);

static bool receive(int channel, struct holder_request *request, int given[2])
{
	struct iovec data = { request, sizeof(*request) };
	union control control;
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	if (recvmsg(channel, &message, 0) <= 0)
		return false;
	if (request->verb == HOLDER_FIND)
		memcpy(given, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
	return true;
}

void holder_run(int channel)
{
	struct holder_request request;
	int given[2];

	while (receive(channel, &request, given)) {
		if (request.verb != HOLDER_FIND)
			continue;
		behave(&request, given);
		close(given[0]);
		close(given[1]);
	}
	_exit(0);
}

static void answer_all(const struct holder_request *request, const int *given, const char *name)
{
	struct symbol symbol = { .name = (char *)name };
	FILE *to = need(fdopen(dup(given[1]), "w"));

	putc(HOLDER_ANSWERS, to);
	answer_write_build_id("of it", 5, to);
	for (uint64_t i = 0; i < request->nr; i++)
		answer_write(&symbol, to);
	fclose(to);
}

/* The owner whose holders behave like that. */
static struct symbols *symbols_with(void (*what)(const struct holder_request *request,
						 const int *given))
{
	behave = what;
	return symbols_new();
}

static struct symbol_file *add_of(struct symbols *symbols, pid_t pid)
{
	const struct file_record record = { .path = "/file" };

	return symbols_add_file(symbols, pid, &record);
}

/* --- a reader */

static void write_to_file(void *arg, int out)
{
	char byte = 'y';

	(void)arg;
	if (write(SANDBOX_FD, &byte, 1) == 1)
		byte = 'n';
	if (write(out, &byte, 1) != 1)
		_exit(1);
}

static void a_reader_writes_to_pipes_alone(void)
{
	int fd = memfd_create("file", 0);
	struct sandbox sandbox;
	struct stat st;
	bool own;
	char said;

	CHECK(!sandbox_start_with(&sandbox, write_to_file, NULL, &fd, 1, 64 << 20, 20));
	CHECK(!sandbox_read(&sandbox, &said, 1));
	CHECK(sandbox_end(&sandbox, &own) && own);
	CHECK(!fstat(fd, &st) && !st.st_size);
	close(fd);
}

static void say_and_spin(void *arg, int out)
{
	(void)arg;
	if (write(out, "y", 1) != 1)
		_exit(1);
	for (;;)
		__asm__ volatile("");
}

static void a_reader_is_the_first_to_go(void)
{
	struct sandbox sandbox;
	int score = 0;
	char *path, said;
	FILE *file;
	bool own;

	CHECK(!sandbox_start(&sandbox, say_and_spin, NULL, 64 << 20, 20));
	CHECK(sandbox_read(&sandbox, &said, 1));
	path = format("/proc/%d/oom_score_adj", sandbox.pid);
	file = need(fopen(path, "r"));
	CHECK(fscanf(file, "%d", &score) == 1 && score == 1000);
	fclose(file);
	free(path);
	kill(sandbox.pid, SIGKILL);
	CHECK(sandbox_end(&sandbox, &own));
}

/* --- holders */

static void change_offsets(const struct holder_request *request, const int *given)
{
	const uint64_t offset = 0;
	bool good = pwrite(given[0], &offset, sizeof(offset), 0) < 0 &&
		    pwrite(given[0], &offset, sizeof(offset), 4096) < 0 &&
		    ftruncate(given[0], 0) && ftruncate(given[0], 1 << 20);

	answer_all(request, given, good ? "refused" : "changed");
}

static void offsets_cannot_be_changed(void)
{
	struct symbols *symbols = symbols_with(change_offsets);
	const struct symbol *symbol;

	symbol = symbol_find(add_of(symbols, getpid()), 0x1000);
	CHECK(symbol->name && !strcmp(symbol->name, "refused") && !symbols_lost(symbols));
	symbols_free(symbols);
}

/* Sends signs of life, and no answer. */
static void go_on(const struct holder_request *request, const int *given)
{
	const char byte = HOLDER_ALIVE;

	(void)request;
	while (write(given[1], &byte, 1) == 1)
		usleep(100000);
}

static void a_holder_that_is_never_done(void)
{
	struct symbols *symbols = symbols_with(go_on);
	struct symbol_file *file = add_of(symbols, getpid()), *next = add_of(symbols, getpid());
	time_t before = now_seconds();

	holder_seconds_in_all = 2;
	CHECK(!symbol_find(file, 0x1000)->name);
	CHECK(now_seconds() - before >= 1);
	before = now_seconds();
	CHECK(!symbol_find(next, 0x1000)->name && now_seconds() - before < 2);
	CHECK(symbols_lost(symbols) == 2);
	holder_seconds_in_all = 300;
	symbols_free(symbols);
}

static void answer_in_part(const struct holder_request *request, const int *given)
{
	const struct holder_request some = { .nr = request->nr - 1 };

	answer_all(&some, given, "in part");
}

static void answers_that_are_cut(void)
{
	struct symbols *symbols = symbols_with(answer_in_part);
	struct symbol_file *file = add_of(symbols, getpid());
	const uint8_t *build_id;

	CHECK(!symbol_build_id(file, &build_id));
	symbol_want(file, 0x1000);
	CHECK(!symbol_find(file, 0x2000)->name && symbol_find(file, 0x1000)->name);
	CHECK(symbol_build_id(file, &build_id) == 5 && !memcmp(build_id, "of it", 5));
	CHECK(symbols_lost(symbols) == 1);
	symbols_free(symbols);
}

/* Takes half a second for each of many files. */
static void take_time(const struct holder_request *request, const int *given)
{
	usleep(500000);
	answer_all(request, given, "late");
}

static void many_files_that_take_some_time(void)
{
	struct symbols *symbols = symbols_with(take_time);
	unsigned int named = 0;

	holder_seconds_in_all = 2;
	for (int i = 0; i < 10; i++)
		named += !!symbol_find(add_of(symbols, getpid()), 0x1000)->name;
	CHECK(named >= 1 && named <= 4);
	holder_seconds_in_all = 300;
	symbols_free(symbols);
}

static void answer_too_much(const struct holder_request *request, const int *given)
{
	static const char much[1 << 16] = { HOLDER_ANSWERS };

	(void)request;
	for (size_t done = 0; done <= OWNER_ANSWERS_MAX; done += sizeof(much))
		if (write(given[1], much, sizeof(much)) < 0)
			return;
	answer_all(request, given, "too late");
}

/* The holder of another owner is still asked, until the total of answers is too large. */
static void answers_are_limited(void)
{
	struct symbols *symbols = symbols_with(take_time);
	struct symbol_file *other = add_of(symbols, 1 << 28), *file;

	behave = answer_too_much;
	file = add_of(symbols, getpid());
	symbol_find(file, 0x1000);
	CHECK(file->holder->channel < 0);
	CHECK(symbol_find(other, 0x1000)->name);
	symbols->answered = ANSWERS_MAX;
	CHECK(!symbol_find(other, 0x2000)->name && other->holder->channel < 0);
	symbols_free(symbols);
}

static void escaped_texts_are_as_long_as_they_have_to_be(void)
{
	char *text[1000];
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(text); i++) {
		text[i] = escape("0123456789012345678901234567890123456789", 40, "");
		used += malloc_usable_size(text[i]);
	}
	CHECK(used < ARRAY_SIZE(text) * 2 * 40);
	for (size_t i = 0; i < ARRAY_SIZE(text); i++)
		free(text[i]);
}

static void stop(int signal)
{
	(void)signal;
	symbols_stop = 1;
}

/* Waits for no holder, not even for those that answer. */
static void nobody_waits_after_a_signal(void)
{
	struct symbols *symbols = symbols_with(take_time);
	struct symbol_file *other = add_of(symbols, 1 << 28), *file;

	behave = go_on;
	file = add_of(symbols, getpid());
	signal(SIGALRM, stop);
	alarm(1);
	CHECK(!symbol_find(file, 0x1000)->name && symbols_stop);
	CHECK(!symbol_find(other, 0x1000)->name);
	symbols_stop = 0;
	symbols_free(symbols);
}

/* --- perf maps */

/* Run by another user, if this one has the privilege. */
static pid_t start_stranger(void)
{
	pid_t pid = fork();

	if (!pid) {
		if (setresgid(54321, 54321, 54321) || setresuid(54321, 54321, 54321))
			_exit(1);
		pause();
		_exit(0);
	}
	usleep(100000);
	return pid;
}

/* A process that waits for a file must end with its parent. */
static void whoever_opens_a_map_ends_with_its_parent(void)
{
	pid_t pid = start_stranger();
	struct perf_file file;
	struct plain map;
	int signal = 0;

	CHECK(!prctl(PR_SET_PDEATHSIG, SIGKILL));
	perf_file_note(&file, pid);
	CHECK(!perf_file_open(&file, &map));
	CHECK(!prctl(PR_GET_PDEATHSIG, &signal) && signal == SIGKILL);
	prctl(PR_SET_PDEATHSIG, 0);
	perf_file_close(&file);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* --- debuginfod-find */

/* Printed by user 65532, which a server may have compromised. */
static void answers_of_debuginfod_find(void)
{
	char cache[] = "/tmp/cache-XXXXXX", *path, *out, *link;
	struct plain file;
	FILE *to;

	CHECK(mkdtemp(cache));
	path = format("%s/file", cache);
	out = format("%s/../%s/file", cache, basename(cache));
	link = format("%s/link", cache);
	to = need(fopen(path, "w"));
	fputs("text", to);
	fclose(to);
	CHECK(!symlink("/proc/self/exe", link));
	CHECK(debuginfod_open(&file, cache, geteuid(), path) && file.size == 4);
	close(file.fd);
	CHECK(!debuginfod_open(&file, cache, geteuid() + 1, path) && file.fd < 0);
	CHECK(!debuginfod_open(&file, cache, geteuid(), "/proc/self/exe") && file.fd < 0);
	CHECK(!debuginfod_open(&file, cache, geteuid(), "/bin/sh"));
	CHECK(!debuginfod_open(&file, cache, geteuid(), out));
	CHECK(!debuginfod_open(&file, cache, geteuid(), link));
	CHECK(!debuginfod_open(&file, cache, geteuid(), ""));
	path[1] ^= 1;
	CHECK(!debuginfod_open(&file, cache, geteuid(), path));
	path[1] ^= 1;
	unlink(link);
	unlink(path);
	rmdir(cache);
	free(link);
	free(out);
	free(path);
}

int main(void)
{
	RUN(a_reader_writes_to_pipes_alone);
	RUN(a_reader_is_the_first_to_go);
	RUN(offsets_cannot_be_changed);
	RUN(a_holder_that_is_never_done);
	RUN(answers_that_are_cut);
	RUN(many_files_that_take_some_time);
	RUN(answers_are_limited);
	RUN(escaped_texts_are_as_long_as_they_have_to_be);
	RUN(nobody_waits_after_a_signal);
	RUN(whoever_opens_a_map_ends_with_its_parent);
	RUN(answers_of_debuginfod_find);
	return check_end();
}
