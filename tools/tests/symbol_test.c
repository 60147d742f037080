// SPDX-License-Identifier: MIT
/*
 * Names in files: the debugging information of this program, and faulty files, readers and
 * holders.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "answer.h"
#include "check.h"
#include "holder.h"
#include "in_dir.h"
#include "perf_file.h"
#include "symbol.h"
#include "tool.h"

/* Compares a text that may be NULL. */
static bool same(const char *text, const char *wanted)
{
	bool equal = text && wanted ? !strcmp(text, wanted) : text == wanted;

	if (!equal)
		printf("# '%s', not '%s'\n", text, wanted);
	return equal;
}

/* --- this program */

static const void *inside;

static inline __attribute__((always_inline)) unsigned int innermost(unsigned int x)
{
	__asm__ volatile("1: lea 1b(%%rip), %0" : "=r"(inside));
	return x + 1;
}

static inline __attribute__((always_inline)) unsigned int middle(unsigned int x)
{
	return innermost(x) * 3;
}

static __attribute__((noinline)) unsigned int outermost(unsigned int x)
{
	__asm__ volatile("nop" ::: "memory");
	return middle(x) - 1;
}

/* The names that these functions have in the file. */
typedef void function(void);

function in_cpp __asm__("_ZN5space5outerIiEEvRKNS_3boxIT_EE");
function in_rust __asm__("_RNvMNtCs1234_1r4deepNtB2_5Thing4work");
function in_old_rust __asm__("_ZN4core3fmt5write17h0123456789abcdefE");
function in_nothing __asm__("_ZNotMangled");

void in_cpp(void)
{
	__asm__ volatile("nop" ::: "memory");
}

void in_rust(void)
{
	__asm__ volatile("nop; nop" ::: "memory");
}

void in_old_rust(void)
{
	__asm__ volatile("nop; nop; nop" ::: "memory");
}

void in_nothing(void)
{
	__asm__ volatile("nop; nop; nop; nop" ::: "memory");
}

extern const char __executable_start[];

/* Files as `where` knows them: without a build-id, but with the inode. */
static struct symbol_file *add_path(struct symbols *symbols, const char *path)
{
	struct file_record record = { .unit = UNIT_OBJECT };
	struct stat stat;

	if (!lstat(path, &stat))
		record.inode = stat.st_ino;
	snprintf(record.path, sizeof(record.path), "%s", path);
	return symbols_add_file(symbols, getpid(), &record);
}

static char *own_path(void)
{
	char path[2000] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	return format("%s", path);
}

static const struct symbol *find(struct symbol_file *file, const void *code)
{
	return symbol_find(file, (const char *)code - __executable_start);
}

static bool is_here(const char *source)
{
	return source && !strcmp(basename(source), "symbol_test.c");
}

static void inlined_functions_and_lines(void)
{
	struct symbols *symbols = symbols_new();
	char *path = own_path();
	const struct symbol *symbol;

	CHECK(outermost(1) == 5);
	symbol = find(add_path(symbols, path), inside);
	CHECK(same(symbol->name, "outermost") && is_here(symbol->source));
	CHECK(symbol->offset && symbol->offset < 64);
	CHECK(symbol->nr_inlined == 2);
	if (symbol->nr_inlined == 2) {
		CHECK(same(symbol->inlined[0].name, "innermost"));
		CHECK(same(symbol->inlined[1].name, "middle"));
		CHECK(is_here(symbol->inlined[0].source) && is_here(symbol->inlined[1].source));
		CHECK(symbol->inlined[0].line < symbol->inlined[1].line);
		CHECK(symbol->inlined[1].line < symbol->line);
	}
	symbols_free(symbols);
	free(path);
}

static void names_are_demangled(void)
{
	struct symbols *symbols = symbols_new();
	char *path = own_path();
	struct symbol_file *file = add_path(symbols, path);
	const uint8_t *build_id;

	CHECK(!symbol_build_id(file, &build_id));
	CHECK(same(find(file, in_cpp)->name, "space::outer<int>"));
	CHECK(symbol_build_id(file, &build_id) == 20);
	CHECK(same(find(file, in_rust)->name, "<r::deep::Thing>::work"));
	CHECK(same(find(file, in_old_rust)->name, "core::fmt::write"));
	CHECK(same(find(file, in_nothing)->name, "_ZNotMangled"));
	symbols_free(symbols);
	free(path);
}

/* Answers belong to their offsets, in whatever order they were requested. */
static void many_at_once(void)
{
	struct symbols *symbols = symbols_new();
	char *path = own_path();
	struct symbol_file *file = add_path(symbols, path);

	for (size_t i = 0; i < 20000; i++)
		symbol_want(file, i * 7919 % 20000 + ((const char *)outermost -
						     __executable_start) - 10000);
	CHECK(same(find(file, outermost)->name, "outermost") && !find(file, outermost)->offset);
	CHECK(find(file, (const char *)outermost + 1)->offset == 1);
	CHECK(same(find(file, in_cpp)->name, "space::outer<int>"));
	symbols_free(symbols);
	free(path);
}

/* --- faulty files */

static char *read_self(size_t *len)
{
	FILE *file = fopen("/proc/self/exe", "r");
	struct stat stat;
	char *data;

	if (!file || fstat(fileno(file), &stat))
		abort();
	*len = stat.st_size;
	data = need(malloc(*len));
	if (fread(data, 1, *len, file) != *len)
		abort();
	fclose(file);
	return data;
}

/* If a file is only known by its inode, another file of the same name gives no names. */
static void another_file_of_that_name(void)
{
	char *path = in_dir("copy"), *other = in_dir("other");
	struct file_record record = { .unit = UNIT_OBJECT };
	struct symbols *symbols = symbols_new();
	struct symbol_file *file;
	size_t len;
	char *data = read_self(&len);

	write_file(path, data, len);
	write_file(other, data, len);
	file = add_path(symbols, path);
	CHECK(same(find(file, outermost)->name, "outermost"));
	record.inode = 1;
	snprintf(record.path, sizeof(record.path), "%s", path);
	CHECK(!find(symbols_add_file(symbols, getpid(), &record), outermost)->name);
	CHECK(!rename(other, path));
	CHECK(same(find(file, in_cpp)->name, "space::outer<int>"));
	symbols_free(symbols);
	unlink(path);
	free(path);
	free(other);
	free(data);
}

/* It is truncated before its pages are read. */
static void a_file_that_is_cut_short(void)
{
	char *path = in_dir("copy");
	struct symbols *symbols = symbols_new();
	struct symbol_file *file, *whole;
	size_t len;
	char *data = read_self(&len), *program = own_path();

	write_file(path, data, len);
	file = add_path(symbols, path);
	whole = add_path(symbols, program);
	CHECK(same(find(whole, outermost)->name, "outermost"));
	CHECK(!truncate(path, 64));
	CHECK(!find(file, outermost)->name && !find(file, in_cpp)->name);
	CHECK(same(find(whole, in_cpp)->name, "space::outer<int>"));
	/* The reader of this file was killed; there was none for the missing file. */
	CHECK(!find(add_path(symbols, "/none"), in_cpp)->name);
	CHECK(symbols_lost(symbols) == 1);
	symbols_free(symbols);
	unlink(path);
	free(path);
	free(data);
	free(program);
}

static void damage(char *data, size_t len, unsigned int seed)
{
	for (int i = 0; i < 200; i++) {
		seed = seed * 1103515245 + 12345;
		data[(seed >> 8) % len] ^= 1 << (seed >> 5 & 7);
	}
	/* Files are cut in any part, including the section headers, which are at the end. */
	for (int i = 0; i < 20; i++) {
		seed = seed * 1103515245 + 12345;
		data[len - 1 - (seed >> 8) % 2000] ^= 1 << (seed >> 5 & 7);
	}
}

/* Such files may contain anything, without effect on the names of others. */
static void damaged_files(void)
{
	struct symbols *symbols = symbols_new();
	size_t len;
	char *data = read_self(&len), *copy = need(malloc(len)), *program = own_path();
	struct symbol_file *whole = add_path(symbols, program);

	for (unsigned int seed = 0; seed < 60; seed++) {
		char *path = format("%s/%u", dir, seed);
		struct symbol_file *file;

		memcpy(copy, data, len);
		damage(copy, len, seed);
		write_file(path, copy, len);
		file = add_path(symbols, path);
		symbol_want(file, (uintptr_t)inside - (uintptr_t)__executable_start);
		find(file, in_cpp);
		unlink(path);
		free(path);
	}
	CHECK(same(find(whole, outermost)->name, "outermost"));
	symbols_free(symbols);
	free(data);
	free(copy);
	free(program);
}

/* --- holders that do not answer */

static pid_t last_child(void)
{
	char *path = format("/proc/self/task/%d/children", getpid());
	FILE *file = fopen(path, "r");
	int pid, last = 0;

	free(path);
	while (file && fscanf(file, "%d", &pid) == 1)
		last = pid;
	if (file)
		fclose(file);
	return last;
}

static void a_holder_that_waits_for_ever(void)
{
	struct symbols *symbols = symbols_new();
	char *path = own_path();
	struct symbol_file *file = add_path(symbols, path), *next;
	struct file_record record = { .unit = UNIT_OBJECT };
	pid_t holder = last_child();
	time_t before;
	struct stat st;

	holder_seconds = 2;
	CHECK(holder && !kill(holder, SIGSTOP));
	/* The recorder does not wait for the holder, which may lag behind. */
	before = now_seconds();
	for (int i = 0; i < 3000; i++)
		add_path(symbols, path);
	CHECK(now_seconds() - before < 10);
	CHECK(!find(file, outermost)->name);
	before = now_seconds();
	next = add_path(symbols, path);
	CHECK(!find(next, outermost)->name && !find(file, in_cpp)->name);
	CHECK(now_seconds() - before < 2);
	holder_seconds = 60;
	/* Each owner has a separate holder: here, the owner of an ended process. */
	stat(path, &st);
	record.inode = st.st_ino;
	snprintf(record.path, sizeof(record.path), "%s", path);
	next = symbols_add_file(symbols, 1 << 28, &record);
	CHECK(same(find(next, outermost)->name, "outermost"));
	symbols_free(symbols);
	waitpid(holder, NULL, 0);
	free(path);
}

static void a_holder_that_is_killed(void)
{
	struct symbols *symbols = symbols_new();
	char *path = own_path();
	struct symbol_file *file = add_path(symbols, path);

	kill(last_child(), SIGKILL);
	CHECK(!find(file, outermost)->name && !find(file, in_cpp)->name);
	CHECK(symbols_lost(symbols) == 1);
	symbols_free(symbols);
	free(path);
}

/* --- perf maps */

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void the_map_of_a_process_that_ends(void)
{
	struct symbols *symbols = symbols_new();
	pid_t pid = start_process(), other = start_process();
	char *map = format("/tmp/perf-%d.map", pid), *gone = format("/tmp/perf-%d.map", other);
	struct symbol_file *file = symbols_add_map(symbols, pid), *removed;

	write_text(gone, "1000 100 removed\n");
	removed = symbols_add_map(symbols, other);
	/* The answer comes after everything added before was opened. */
	CHECK(!symbol_find(file, 0x9000)->name);
	write_text(map, "1000 100 later\n");
	end_process(pid);
	end_process(other);
	unlink(gone);
	CHECK(same(symbol_find(file, 0x1010)->name, "later"));
	CHECK(symbol_find(file, 0x1020)->offset == 0x20 && !symbol_find(file, 0x1100)->name);
	CHECK(same(symbol_find(removed, 0x1004)->name, "removed"));
	symbols_free(symbols);
	unlink(map);
	free(map);
	free(gone);
}

static void maps_that_are_none(void)
{
	struct symbols *symbols = symbols_new();
	pid_t pid = start_process();
	char *map = format("/tmp/perf-%d.map", pid), *text = in_dir("text");
	struct symbol_file *file = symbols_add_map(symbols, pid);

	write_text(text, "1000 100 elsewhere\n");
	CHECK(!symlink(text, map) && !symbol_find(file, 0x1000)->name);
	unlink(map);
	CHECK(!mkfifo(map, 0666) && !symbol_find(file, 0x1001)->name);
	unlink(map);
	write_text(map, "");
	CHECK(!symbol_find(file, 0x1002)->name && !symbols_lost(symbols));
	write_text(map, "1000 100 here\n");
	CHECK(same(symbol_find(file, 0x1003)->name, "here"));
	end_process(pid);
	symbols_free(symbols);
	unlink(map);
	unlink(text);
	free(map);
	free(text);
}

/* --- answers of compromised processes */

static char *encode(const struct symbol *symbol, size_t *len)
{
	char *text;
	FILE *to = need(open_memstream(&text, len));

	answer_write(symbol, to);
	fclose(to);
	return text;
}

static void answers_as_they_were_written(void)
{
	struct function inlined[] = { { "a\nb", "x.c", 1 }, { "c", NULL, 2 } };
	struct symbol symbol = { "name\033", 5, NULL, 7, inlined, 2 }, read;
	struct span rest;
	size_t len;
	char *text = encode(&symbol, &len);

	rest = (struct span){ text, len };
	CHECK(answer_take(&rest, &read) && !rest.len);
	CHECK(same(read.name, "name\\033") && read.offset == 5 && !read.source && read.line == 7);
	CHECK(read.nr_inlined == 2 && same(read.inlined[0].name, "a\\012b"));
	CHECK(same(read.inlined[0].source, "x.c") && read.inlined[1].line == 2);
	symbol_free(&read);
	for (size_t cut = 0; cut < len; cut++) {
		char *exact = exact_copy(text, cut);

		rest = (struct span){ exact, cut };
		CHECK(!answer_take(&rest, &read) && !read.name && !read.inlined);
		free(exact);
	}
	free(text);
}

static void answers_with_too_much(void)
{
	struct function inlined[ANSWER_MAX_INLINED + 1];
	char *name = need(malloc(ANSWER_MAX_TEXT + 2));
	struct symbol symbol = { name, 0, name, 0, inlined, ARRAY_SIZE(inlined) }, read;
	struct span rest;
	size_t len;
	char *text;

	memset(name, 'n', ANSWER_MAX_TEXT + 1);
	name[ANSWER_MAX_TEXT + 1] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(inlined); i++)
		inlined[i] = (struct function){ name, name, i };
	text = encode(&symbol, &len);
	rest = (struct span){ text, len };
	CHECK(answer_take(&rest, &read) && !rest.len);
	CHECK(strlen(read.name) == ANSWER_MAX_TEXT && read.nr_inlined == ANSWER_MAX_INLINED);
	symbol_free(&read);
	free(text);
	free(name);
}

/* A program that runs for days starts many. */
static void holders_leave_no_zombies(void)
{
	struct symbols *symbols = symbols_new();
	char *path = own_path();
	siginfo_t info;
	pid_t holder;

	add_path(symbols, path);
	holder = last_child();
	symbols_free(symbols);
	waitid(P_PID, holder, &info, WEXITED | WNOWAIT);
	symbols = symbols_new();
	add_path(symbols, path);
	CHECK(holder && kill(holder, 0) && errno == ESRCH);
	symbols_free(symbols);
	free(path);
}

int main(void)
{
	in_cpp();
	in_rust();
	in_old_rust();
	in_nothing();
	if (!mkdtemp(dir))
		return 1;
	RUN(inlined_functions_and_lines);
	RUN(names_are_demangled);
	RUN(many_at_once);
	RUN(another_file_of_that_name);
	RUN(a_file_that_is_cut_short);
	RUN(damaged_files);
	RUN(a_holder_that_waits_for_ever);
	RUN(a_holder_that_is_killed);
	RUN(holders_leave_no_zombies);
	RUN(the_map_of_a_process_that_ends);
	RUN(maps_that_are_none);
	RUN(answers_as_they_were_written);
	RUN(answers_with_too_much);
	rmdir(dir);
	return check_end();
}
