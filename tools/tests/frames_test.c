// SPDX-License-Identifier: MIT
/*
 * The names of frames: in this program's own file, under several paths, in its vDSO, in other
 * kinds of files, and in compiled code.
 */
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "frames.h"
#include "symbol.h"
#include "texts.h"
#include "tool.h"

enum { VERIFIED = 1, MOVED, CLAIMED, COMPILED };

static char dir[] = "/tmp/frames-XXXXXX";
static char self[2000];
static uint8_t build_id[BUILD_ID_MAX];
static uint32_t build_id_len;
static uint64_t self_base;	/* where the file begins in memory */

static __attribute__((noinline)) void target(void)
{
	__asm__ volatile("nop; nop; nop; nop");
}

static uint64_t file_offset(const void *code)
{
	return (uintptr_t)code - self_base;
}

/* The first mapping of the program begins where its file does. */
static void find_self(void)
{
	const void *bits;
	Dl_info info;
	Elf *elf;
	int fd;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0 ||
	    !dladdr((void *)target, &info))
		abort();
	self_base = (uintptr_t)info.dli_fbase;
	elf_version(EV_CURRENT);
	fd = open(self, O_RDONLY | O_CLOEXEC);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	build_id_len = dwelf_elf_gnu_build_id(elf, &bits);
	if (build_id_len != BUILD_ID_MAX)
		abort();
	memcpy(build_id, bits, build_id_len);
	elf_end(elf);
	close(fd);
}

static void add_file(struct frames *frames, uint64_t id, const char *path,
		     unsigned int names)
{
	struct file_record record = {
		.id = id, .verified = names == VERIFIED,
		.claimed = names == CLAIMED || names == MOVED,
		.unit = names == COMPILED ? UNIT_ADDRESS :
			names == CLAIMED ? UNIT_OBJECT : UNIT_FILE,
		.build_id_len = build_id_len,
	};

	memcpy(record.build_id, build_id, build_id_len);
	snprintf(record.path, sizeof(record.path), "%s", path);
	frames_add_file(frames, &record, getpid());
}

/* Return: the text between @before and @after in @text, which is freed. */
static char *cut(char *text, const char *before, const char *after)
{
	size_t len = strlen(text), skip = strlen(before), end = strlen(after);
	char *part;

	if (len < skip + end || strncmp(text, before, skip) || strcmp(text + len - end, after))
		return text;
	part = strndup(text + skip, len - skip - end);
	free(text);
	return part;
}

static struct process_id this_process(uint64_t life)
{
	return (struct process_id){ getpid(), life };
}

/* The text of a frame, folded or for people. */
static char *frame_text_of(struct frames *frames, struct frame frame, bool fold,
			   struct process_id process)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	const struct profile_task task = { 0 };
	const struct profile_event event = { .name = "e" };
	const struct profile_sample sample = {
		.stack = frames_push(frames, profile, PROFILE_NO_STACK, frame, process),
		.task = profile_task(profile, &task),
		.event = profile_event(profile, &event),
		.events = 1,
	};
	char *text;

	CHECK(profile_add(profile, &sample) && select_unit(&selection));
	text = fold ? cut(folded(&selection), "e;", " 1\n") :
		      cut(listed(&selection), "1 e\n\t", "\n\n");
	profile_free(profile);
	return text;
}

static char *frame_text(struct frames *frames, struct frame frame, bool fold)
{
	return frame_text_of(frames, frame, fold, this_process(1));
}

static bool shows(struct frames *frames, uint64_t id, uint64_t offset, bool exact,
		  const char *wanted)
{
	char *text = frame_text(frames, (struct frame){ offset, id, exact, 0 }, false);
	char *source = strstr(text, " at ");

	/* The offset of the function in this file does not matter. */
	if (source)
		*source = '\0';
	return is(text, wanted);
}

static bool folds(struct frames *frames, uint64_t id, uint64_t offset, bool exact,
		  const char *wanted)
{
	return is(frame_text(frames, (struct frame){ offset, id, exact, 0 }, true), wanted);
}

static bool has_no_function(struct frames *frames, uint64_t id)
{
	char text[3000];

	snprintf(text, sizeof(text), "[%s]", basename(self));
	return folds(frames, id, file_offset(target), true, text);
}

/* --- files */

static void functions_of_a_file(void)
{
	struct frames *frames = frames_new(NULL);
	uint64_t at = file_offset(target);
	char text[3000], *before;

	add_file(frames, 1, self, VERIFIED);
	CHECK(frames_knows(frames, 1) && !frames_knows(frames, 2));
	snprintf(text, sizeof(text), "target+0x2 (%s+0x%llx)", self,
		 (unsigned long long)at + 2);
	CHECK(shows(frames, 1, at + 2, true, text));
	CHECK(shows(frames, 1, at + 2, false, text));
	CHECK(folds(frames, 1, at, true, "target"));
	CHECK(folds(frames, 1, at + 1, false, "target"));
	/* The call before a return address is in the function before. */
	snprintf(text, sizeof(text), "target+0x0 (%s+0x%llx)", self,
		 (unsigned long long)at);
	CHECK(shows(frames, 1, at, true, text));
	before = frame_text(frames, (struct frame){ at, 1, false, 0 }, true);
	CHECK(strcmp(before, "target"));
	free(before);
	/* A known file is not replaced. */
	add_file(frames, 1, "/none", VERIFIED);
	CHECK(folds(frames, 1, at, true, "target"));
	frames_free(frames);
}

static void expect_claimed_functions(int names)
{
	struct frames *frames = frames_new(NULL);
	uint64_t at = file_offset(target);
	char text[3000];

	add_file(frames, 1, self, names);
	snprintf(text, sizeof(text), "target+0x2 (%s (claimed)+0x%llx)", self,
		 (unsigned long long)at + 2);
	CHECK(shows(frames, 1, at + 2, true, text));
	CHECK(folds(frames, 1, at + 1, false, "target"));
	frames_free(frames);
}

/* Text that was moved away from its file keeps its offsets in it. */
static void functions_of_moved_text(void)
{
	expect_claimed_functions(MOVED);
}

/* A different file with the same name has other functions. */
static void functions_of_another_build(void)
{
	struct frames *frames = frames_new(NULL);
	unsigned int i;

	for (i = 0; i < build_id_len; i += build_id_len - 1) {
		build_id[i] ^= 1;
		add_file(frames, 1 + i, self, VERIFIED);
		build_id[i] ^= 1;
		CHECK(has_no_function(frames, 1 + i));
	}
	frames_free(frames);
}

/* A claim says where the object begins in memory, but does not name a file. */
static void functions_of_a_claimed_file(void)
{
	expect_claimed_functions(CLAIMED);
}

/* Neither the address nor anything else is known. */
static void offsets_of_no_file(void)
{
	struct file_record record = { .id = 1, .unit = UNIT_OBJECT };
	struct frames *frames = frames_new(NULL);

	frames_add_file(frames, &record, getpid());
	CHECK(shows(frames, 1, 0x1000, true, "0x1000, id 0x1"));
	CHECK(folds(frames, 1, 0x1000, true, "[unknown]"));
	frames_free(frames);
}

/* With a unit that only later kernels have. */
static void offsets_in_another_unit(void)
{
	struct file_record record = {
		.id = 1, .verified = true, .unit = UNIT_MAX,
		.build_id_len = build_id_len,
	};
	struct frames *frames = frames_new(NULL);

	memcpy(record.build_id, build_id, build_id_len);
	snprintf(record.path, sizeof(record.path), "%s", self);
	frames_add_file(frames, &record, getpid());
	CHECK(folds(frames, 1, file_offset(target), true, "[frames_test]"));
	frames_free(frames);
}

static void offsets_of_no_code(void)
{
	struct frames *frames = frames_new(NULL);

	add_file(frames, 1, self, VERIFIED);
	CHECK(folds(frames, 1, UINT64_MAX / 2, true, "[frames_test]"));
	CHECK(folds(frames, 1, 0, true, "[frames_test]"));
	frames_free(frames);
}

static bool has_no_name(const char *path)
{
	struct frames *frames = frames_new(NULL);
	char text[3000];
	bool none;

	add_file(frames, 1, path, VERIFIED);
	snprintf(text, sizeof(text), "%s+0x10", path);
	none = shows(frames, 1, 0x10, true, text);
	snprintf(text, sizeof(text), "[%s]", strrchr(path, '/') + 1);
	none &= folds(frames, 1, 0x10, true, text);
	frames_free(frames);
	return none;
}

static char *in_dir(const char *name)
{
	return format("%s/%s", dir, name);
}

/* Limits descriptors so that @room more can be opened. */
static void limit_descriptors(unsigned int room)
{
	struct rlimit limit;
	int lowest = dup(0);

	close(lowest);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = lowest + room;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void free_descriptors(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void no_descriptor_is_left(void)
{
	for (unsigned int room = 0; room < 2; room++) {
		limit_descriptors(room);
		CHECK(has_no_name(self));
		free_descriptors();
	}
}

/* These must be neither waited for nor trusted. */
static void files_of_no_use(void)
{
	char *text = in_dir("text"), *pipe = in_dir("pipe"), *head = in_dir("head");
	uint8_t was = build_id[3];

	write_text(text, "not ELF, and no build-id in it\n");
	write_text(head, "\177ELF\2\1\1");
	CHECK(!mkfifo(pipe, 0600));
	CHECK(has_no_name(text));
	CHECK(has_no_name(head));
	CHECK(has_no_name(pipe));
	CHECK(has_no_name(dir));
	CHECK(has_no_name("/none/of/that/name"));
	build_id[3]++;
	CHECK(has_no_name(self));
	build_id[3] = was;
	build_id_len = 8;
	CHECK(has_no_name(self));
	build_id_len = 0;
	CHECK(has_no_name(self));
	build_id_len = BUILD_ID_MAX;
	free(text);
	free(pipe);
	free(head);
}

/* Only \ooo, which the kernel writes, is an escape. */
static void odd_paths(void)
{
	static const char * const names[][2] = {
		{ "a\\040b\\012\\134", "a b\n\\" },
		{ "\\9\\08\\018\\01", "\\9\\08\\018\\01" },
		{ "\\377\\400", "\377\\400" },
		{ "\\.\\0.\\00.", "\\.\\0.\\00." },
	};
	uint64_t at = file_offset(target);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct frames *frames = frames_new(NULL);
		char *link = in_dir(names[i][1]), *path = in_dir(names[i][0]);

		CHECK(!symlink(self, link));
		add_file(frames, 1, path, VERIFIED);
		CHECK(folds(frames, 1, at, true, "target"));
		frames_free(frames);
		unlink(link);
		free(link);
		free(path);
	}
}

static void vdso_of_the_kernel(void)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	char *base = (char *)getauxval(AT_SYSINFO_EHDR);
	char *code = vdso ? dlsym(vdso, "__vdso_time") : NULL;
	struct frames *frames = frames_new(NULL);
	uint8_t was[BUILD_ID_MAX];
	const void *bits;
	char *text;
	Elf *elf;

	memcpy(was, build_id, sizeof(was));
	elf = elf_memory(base, sysconf(_SC_PAGESIZE));
	CHECK(dwelf_elf_gnu_build_id(elf, &bits) == BUILD_ID_MAX);
	memcpy(build_id, bits, build_id_len);
	elf_end(elf);
	add_file(frames, 1, "[vdso]", VERIFIED);
	CHECK(code > base);
	text = frame_text(frames, (struct frame){ code - base, 1, true, 0 }, true);
	CHECK(strstr(text, "time"));
	free(text);
	memcpy(build_id, was, sizeof(was));
	frames_free(frames);
}

/* --- compiled code, and unknown code */

static void names_of_compiled_code(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	struct frames *frames = frames_new(NULL);

	write_text(map, "1000 100 jit;one\n2000 10 two\n");
	add_file(frames, 9, "", COMPILED);
	CHECK(frames_knows(frames, 9));
	CHECK(shows(frames, 9, 0x1004, true, "jit;one+0x4 (0x1004, id 0x9)"));
	CHECK(folds(frames, 9, 0x1004, true, "jit\\073one"));
	CHECK(folds(frames, 9, 0x2010, false, "two"));
	CHECK(folds(frames, 9, 0x2010, true, "[unknown]"));
	CHECK(shows(frames, 0, 0x3000, true, "0x3000"));
	CHECK(shows(frames, 8, 0x3000, true, "0x3000, id 0x8"));
	frames_free(frames);
	/* Without permission to read it there are no names. */
	frames = frames_new(NULL);
	unlink(map);
	CHECK(!mkdir(map, 0700));
	CHECK(folds(frames, 9, 0x1004, true, "[unknown]"));
	frames_free(frames);
	rmdir(map);
	free(map);
}

static bool calls(struct frames *frames, uint64_t life, const char *wanted)
{
	const struct frame frame = { 0x1004, 0, true, 0 };

	return is(frame_text_of(frames, frame, true, this_process(life)), wanted);
}

/* The present perf map was written by the process that now has the number. */
static void names_of_two_processes_with_one_number(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	struct frames *frames = frames_new(NULL);

	write_text(map, "1000 100 earlier\n");
	frames_note_process(frames, this_process(1));
	frames_note_process(frames, this_process(2));
	write_text(map, "1000 100 later\n");
	CHECK(calls(frames, 1, "[unknown]"));
	CHECK(calls(frames, 2, "later"));
	frames_free(frames);
	unlink(map);
	free(map);
}

/* The perf map was left by an earlier process with that number. */
static void a_map_older_than_its_process(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	const struct timespec hour_ago[] = { { time(NULL) - 3600, 0 }, { time(NULL) - 3600, 0 } };
	struct frames *frames = frames_new(NULL);

	write_text(map, "1000 100 left\n");
	CHECK(!utimensat(AT_FDCWD, map, hour_ago, 0));
	CHECK(calls(frames, 1, "[unknown]"));
	frames_free(frames);
	unlink(map);
	free(map);
}

static void remove_dir(void)
{
	static const char * const names[] = { "text", "pipe", "head" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *path = in_dir(names[i]);

		unlink(path);
		free(path);
	}
	rmdir(dir);
}

/* Reported names take precedence over the perf map; it is used only if there is no file. */
static void names_that_were_told(void)
{
	const struct name_record told = {
		.id = 5, .start = 0x1000, .len = 0x100, .name = "told",
	};
	char *map = format("/tmp/perf-%d.map", getpid());
	struct code_names *names = code_names_new();
	struct frames *frames = frames_new(names);
	struct frame frame[] = {
		{ 0x1004, 9, 1, 0 }, { 0x1100, 0, 0, 0 }, { 0x1100, 9, 1, 0 },
		{ 0x1004, 1, 1, 0 }, { 0x1004, 9, 1, 3 }, { 0x1004, 8, 1, 0 },
	};

	write_text(map, "1000 200 map\n");
	add_file(frames, 1, self, VERIFIED);
	add_file(frames, 9, "", COMPILED);
	code_names_add(names, this_process(1), 20, &told);
	frames_number(frames, frame, 2, this_process(1), 10);
	CHECK(!frame[0].code_id && !frame[1].code_id);
	frames_number(frames, frame, ARRAY_SIZE(frame), this_process(1), 20);
	CHECK(frame[0].code_id == 5 && frame[1].code_id == 5 && !frame[2].code_id);
	CHECK(!frame[3].code_id && frame[4].code_id == 3 && !frame[5].code_id);
	CHECK(is(frame_text(frames, frame[0], false),
		 "told+0x4 (0x1004, id 0x9, code 0x5)"));
	CHECK(is(frame_text(frames, frame[1], false), "told+0x100 (0x1100, code 0x5)"));
	CHECK(is(frame_text(frames, frame[2], true), "map"));
	CHECK(is(frame_text(frames, frame[4], true), "map"));
	frames_free(frames);
	code_names_free(names);
	unlink(map);
	free(map);
}

int main(void)
{
	target();
	if (!mkdtemp(dir))
		return 1;
	find_self();
	RUN(functions_of_a_file);
	RUN(functions_of_moved_text);
	RUN(functions_of_another_build);
	RUN(functions_of_a_claimed_file);
	RUN(offsets_of_no_file);
	RUN(offsets_in_another_unit);
	RUN(offsets_of_no_code);
	RUN(files_of_no_use);
	RUN(no_descriptor_is_left);
	RUN(odd_paths);
	RUN(vdso_of_the_kernel);
	RUN(names_of_compiled_code);
	RUN(names_that_were_told);
	RUN(names_of_two_processes_with_one_number);
	RUN(a_map_older_than_its_process);
	remove_dir();
	return check_end();
}
