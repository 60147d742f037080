// SPDX-License-Identifier: MIT
/*
 * What frames and stacks are called: in this program's own file under several
 * names, in its vDSO, in what is no such file, and in compiled code.
 */
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "report/writers.h"
#include "stacks.h"
#include "symbol.h"
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

/* As people and as programs read it; both are freed by the caller. */
static char *listed(const struct selection *selection)
{
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	listing_write(selection, to);
	fclose(to);
	return text;
}

static char *folded(const struct selection *selection)
{
	struct tree *tree = tree_new(selection, TREE_FUNCTIONS);
	size_t size;
	char *text;
	FILE *to = open_memstream(&text, &size);

	folded_write(tree, false, to);
	fclose(to);
	tree_free(tree);
	return text;
}

/* What is between @before and @after in @text, which goes. */
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

/* A frame as either. */
static char *frame_text(struct frames *frames, struct frame frame, bool fold)
{
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	const struct profile_task task = { 0 };
	const struct profile_event event = { .name = "e" };
	const struct profile_sample sample = {
		.stack = frames_push(frames, profile, PROFILE_NO_STACK, frame, getpid()),
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

static bool shows(struct frames *frames, uint64_t id, uint64_t offset, bool exact,
		  const char *wanted)
{
	char *text = frame_text(frames, (struct frame){ offset, id, exact, 0 }, false);
	char *source = strstr(text, " at ");

	/* Where it is in this file is not what is looked for. */
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
	/* Once a file is known, it stays what it is. */
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

/* Text that was moved away from its file has the offsets that it had there. */
static void functions_of_moved_text(void)
{
	expect_claimed_functions(MOVED);
}

/* Another file of that name has other functions. */
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

/* A claim says where the object begins in memory, not in which file. */
static void functions_of_a_claimed_file(void)
{
	expect_claimed_functions(CLAIMED);
}

/* Neither an address nor anything else that is known. */
static void offsets_of_no_file(void)
{
	struct file_record record = { .id = 1, .unit = UNIT_OBJECT };
	struct frames *frames = frames_new(NULL);

	frames_add_file(frames, &record, getpid());
	CHECK(shows(frames, 1, 0x1000, true, "0x1000, id 0x1"));
	CHECK(folds(frames, 1, 0x1000, true, "[unknown]"));
	frames_free(frames);
}

/* Of a unit that only a later kernel knows. */
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

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
}

/* So that @room more descriptors can be opened. */
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

/* None of them is waited for or believed. */
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

/* The kernel writes \ooo, and nothing else is taken for it. */
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

/* --- compiled code, and what is not known */

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
	/* Who may not read it has no names. */
	frames = frames_new(NULL);
	unlink(map);
	CHECK(!mkdir(map, 0700));
	CHECK(folds(frames, 9, 0x1004, true, "[unknown]"));
	frames_free(frames);
	rmdir(map);
	free(map);
}

/* --- stacks */

static const struct traced_event one_event = { .type = 1 };

/* Threads that are not there any more: the kernel gives no ids that high. */
enum { GONE = 1 << 28 };

static void add_stack(struct stacks *stacks, uint32_t type, int32_t tid,
		      uint32_t stop, uint32_t nr)
{
	struct join_stack *stack;

	stack = calloc(1, sizeof(*stack) + 3 * sizeof(stack->frames[0]));
	*stack = (struct join_stack){ .nr = nr, .stop = stop, .tid = tid };
	for (uint32_t i = 0; i < nr; i++)
		stack->frames[i] = (struct frame){ 0x1000 * (i + 1), i ? 5 : 0, !i, 0 };
	stacks_add(stacks, &(struct traced_event){ .type = type }, 1, stack);
	free(stack);
}

static struct profile_event describe_type(void *context, uint32_t type, uint32_t kind)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s%u", (char *)context, type);
	return (struct profile_event){ .name = name, .timed = kind };
}

/* What @stacks are; freed by the caller. */
static char *as_text(struct stacks *stacks, bool fold)
{
	const struct event_names names = { describe_type, "event" };
	struct frames *frames = frames_new(NULL);
	struct profile *profile = profile_new();
	struct selection selection = select_all(profile);
	char *text;

	stacks_fill(stacks, frames, &names, profile);
	select_unit(&selection);
	text = fold ? folded(&selection) : listed(&selection);
	profile_free(profile);
	frames_free(frames);
	return text;
}

static void stacks_by_count(void)
{
	struct stacks *stacks = stacks_new();

	add_stack(stacks, 1, GONE, STOP_COMPLETE, 1);
	add_stack(stacks, 2, GONE, STOP_FAULT, 2);
	add_stack(stacks, 2, GONE + 1, STOP_FAULT, 2);
	add_stack(stacks, 2, GONE, STOP_COMPLETE, 2);
	add_stack(stacks, 3, getpid(), STOP_COMPLETE, 1);
	CHECK(is(as_text(stacks, true),
		 "event1;[unknown] 1\n"
		 "event2;[truncated: fault];[unknown];[unknown] 2\n"
		 "event2;[unknown];[unknown] 1\n"
		 "event3;[unknown] 1\n"));
	CHECK(is(as_text(stacks, false),
		 "2 event2\n\t0x1000\n\t0x2000, id 0x5\n\t[truncated: fault]\n\n"
		 "1 event1\n\t0x1000\n\n"
		 "1 event2\n\t0x1000\n\t0x2000, id 0x5\n\n"
		 "1 event3\n\t0x1000\n\n"));
	stacks_free(stacks);
}

static void no_stacks(void)
{
	struct stacks *stacks = stacks_new();

	CHECK(is(as_text(stacks, true), ""));
	CHECK(is(as_text(stacks, false), ""));
	stacks_free(stacks);
}

/* In whatever order they come, each is counted with those like it. */
static void many_stacks(void)
{
	struct stacks *stacks = stacks_new();
	char *all, *line;

	for (int round = 0; round < 3; round++)
		for (uint32_t i = 0; i < 216; i++) {
			uint32_t n = round == 1 ? 215 - i : i * 77 % 216;

			add_stack(stacks, n / 36, GONE + n % 3, n / 12 % 3,
				  n / 3 % 4);
		}
	all = as_text(stacks, true);
	line = strtok(all, "\n");
	for (int i = 0; i < 72; i++, line = strtok(NULL, "\n"))
		CHECK(line && !strcmp(strrchr(line, ' '), " 9"));
	CHECK(!line);
	free(all);
	stacks_free(stacks);
}

/* The same frames, which may mean different things in different processes. */
/* Of those that are there events are counted on. */
static void more_stacks_than_there_is_room_for(void)
{
	const size_t room = stacks_max_bytes;
	struct join_stack *stack = calloc(1, sizeof(*stack) + 100 * sizeof(stack->frames[0]));
	struct stacks *stacks = stacks_new();
	int taken = 0;

	stacks_max_bytes = 20000;
	stack->tid = GONE;
	stack->nr = 100;
	for (int i = 0; i < 20; i++) {
		stack->frames[0].offset = i;
		taken += stacks_add(stacks, &one_event, 1, stack);
	}
	CHECK(taken > 2 && taken < 8);
	stack->frames[0].offset = 0;
	CHECK(stacks_add(stacks, &one_event, 1, stack));
	stacks_free(stacks);
	stacks_max_bytes = room;
	free(stack);
}

static void stacks_of_processes(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	pid_t tids[] = { start_process(), getpid(), start_process() };
	struct stacks *stacks = stacks_new();

	write_text(map, "1000 100 mine\n");
	for (size_t i = 0; i < 2 * ARRAY_SIZE(tids); i++)
		add_stack(stacks, 1, tids[i % ARRAY_SIZE(tids)], STOP_COMPLETE, 1);
	CHECK(is(as_text(stacks, true),
		 "event1;[unknown] 4\nevent1;mine 2\n"));
	stacks_free(stacks);
	unlink(map);
	free(map);
	for (size_t i = 0; i < ARRAY_SIZE(tids); i += 2) {
		kill(tids[i], SIGKILL);
		waitpid(tids[i], NULL, 0);
	}
}

static void stacks_that_differ_in_a_frame(void)
{
	struct stacks *stacks = stacks_new();
	struct join_stack *stack;

	stack = calloc(1, sizeof(*stack) + sizeof(stack->frames[0]));
	*stack = (struct join_stack){ .nr = 1, .tid = GONE };
	for (int i = 0; i < 6; i++) {
		stack->frames[0] = (struct frame){ 0x1000 * (i % 2), i % 3, 0, 0 };
		stacks_add(stacks, &one_event, 1, stack);
	}
	free(stack);
	CHECK(is(as_text(stacks, false),
		 "1 event1\n\t0x0\n\n1 event1\n\t0x1000, id 0x1\n\n"
		 "1 event1\n\t0x0, id 0x2\n\n1 event1\n\t0x1000\n\n"
		 "1 event1\n\t0x0, id 0x1\n\n1 event1\n\t0x1000, id 0x2\n\n"));
	stacks_free(stacks);
}

/* One address is in two functions: of the call, and of what comes after it. */
static void stacks_that_differ_in_what_is_exact(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	struct stacks *stacks = stacks_new();
	struct join_stack *stack;

	write_text(map, "1000 100 before\n1100 100 after\n");
	stack = calloc(1, sizeof(*stack) + sizeof(stack->frames[0]));
	*stack = (struct join_stack){ .nr = 1, .tid = getpid() };
	for (int i = 0; i < 3; i++) {
		stack->frames[0] = (struct frame){ 0x1100, 0, i > 0, 0 };
		stacks_add(stacks, &one_event, 1, stack);
	}
	free(stack);
	CHECK(is(as_text(stacks, true), "event1;after 2\nevent1;before 1\n"));
	CHECK(is(as_text(stacks, false), "2 event1\n\tafter+0x0 (0x1100)\n\n"
		 "1 event1\n\tbefore+0x100 (0x1100)\n\n"));
	stacks_free(stacks);
	unlink(map);
	free(map);
}

static void ids_of_stacks(void)
{
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();

	add_stack(stacks, 1, GONE, STOP_COMPLETE, 1);
	CHECK(!stacks_lack_ids(stacks, frames));
	add_stack(stacks, 1, GONE, STOP_COMPLETE, 2);
	CHECK(stacks_lack_ids(stacks, frames));
	add_file(frames, 5, "", COMPILED);
	CHECK(!stacks_lack_ids(stacks, frames));
	stacks_free(stacks);
	frames_free(frames);
}

/* The map is that of the process, whatever thread the stack is of. */
static void processes_of_threads(void)
{
	char *map = format("/tmp/perf-%d.map", getpid());
	char *tgids = format("%d 7\n%d %d\nno line\n%d 7\n", GONE + 5, GONE,
			     getpid(), GONE);
	struct stacks *stacks = stacks_new();

	write_text(map, "1000 100 mine\n");
	add_stack(stacks, 1, GONE, STOP_COMPLETE, 1);
	CHECK(is(as_text(stacks, true), "event1;[unknown] 1\n"));
	stacks_find_processes(stacks, tgids);
	CHECK(is(as_text(stacks, true), "event1;mine 1\n"));
	stacks_find_processes(stacks, "");
	stacks_free(stacks);
	unlink(map);
	free(map);
	free(tgids);
}

/* Of what a sample is. */
static bool has_task(struct profile *profile, uint32_t nr, const char *comm, int32_t pid,
		     int32_t tid)
{
	const struct profile_sample *sample = profile_sample_at(profile, nr);
	struct profile_task task = profile_task_at(profile, sample->task);

	return task.pid == pid && task.tid == tid &&
	       (comm ? task.comm && !strcmp(task.comm, comm) : !task.comm);
}

static void cgroups_of_threads(void)
{
	FILE *file = popen("sed -n s/^0:://p /proc/self/cgroup", "r");
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();
	const struct event_names events = { describe_type, "event" };
	char wanted[1000] = "";
	const char *cgroup;

	CHECK(file && fgets(wanted, sizeof(wanted), file) && *wanted == '/');
	wanted[strcspn(wanted, "\n")] = '\0';
	pclose(file);
	add_stack(stacks, 1, getpid(), STOP_COMPLETE, 1);
	stacks_fill(stacks, frames, &events, profile);
	cgroup = profile_task_at(profile, 0).cgroup;
	CHECK(cgroup && !strcmp(cgroup, wanted));
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
}

/* Names that are known stay, whatever the names of others look like. */
static void names_of_threads(void)
{
	char *names = format("%d gone\n%d b c\nno line\n%d evil\n%d\n%d%c\n"
			     "%d e\n%d forged\n%d e\n", GONE, GONE + 1, getpid(), GONE + 2,
			     GONE + 3, ' ', GONE + 4, GONE + 4, GONE + 4);
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();
	const struct event_names events = { describe_type, "event" };

	for (int32_t i = 0; i < 3; i++)
		add_stack(stacks, 1, GONE + i, STOP_COMPLETE, 1);
	add_stack(stacks, 1, getpid(), STOP_COMPLETE, 1);
	add_stack(stacks, 1, GONE + 4, STOP_COMPLETE, 1);
	stacks_find_names(stacks, names);
	stacks_find_names(stacks, "");
	stacks_fill(stacks, frames, &events, profile);
	CHECK(profile_counts(profile).samples == 5);
	CHECK(has_task(profile, 4, NULL, GONE + 4, GONE + 4));
	CHECK(has_task(profile, 0, "gone", GONE, GONE));
	CHECK(has_task(profile, 1, "b c", GONE + 1, GONE + 1));
	CHECK(has_task(profile, 2, NULL, GONE + 2, GONE + 2));
	CHECK(has_task(profile, 3, "frames_test", getpid(), getpid()));
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
	free(names);
}

/* With that number, which takes privileges. */
static bool start_as(pid_t pid, const char *comm)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1,
	};
	pid_t child = syscall(SYS_clone3, &args, sizeof(args));

	if (!child) {
		prctl(PR_SET_NAME, comm);
		pause();
		_exit(0);
	}
	if (child > 0)
		usleep(200000);
	return child == pid;
}

/* An id that is given again is not the same thread. */
static void threads_with_one_id(void)
{
	struct profile *profile = profile_new();
	struct frames *frames = frames_new(NULL);
	struct stacks *stacks = stacks_new();
	const struct event_names events = { describe_type, "event" };
	pid_t pid = start_process();
	bool again;

	CHECK(stacks_process(stacks, pid) == pid);
	add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	sleep(1);
	add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	sleep(1);
	add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	again = start_as(pid, "a) S 1 2 3");
	CHECK(again || errno == EPERM);
	sleep(1);
	if (again)
		add_stack(stacks, 1, pid, STOP_COMPLETE, 1);
	if (again) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	stacks_fill(stacks, frames, &events, profile);
	CHECK(profile_counts(profile).samples == 1U + again);
	CHECK(has_task(profile, 0, "frames_test", pid, pid));
	CHECK(!again || has_task(profile, 1, "a) S 1 2 3", pid, pid));
	CHECK(profile_sample_at(profile, 0)->events == 3);
	stacks_free(stacks);
	frames_free(frames);
	profile_free(profile);
}

/* Those of one tick are one sample. */
static void times_of_stacks(void)
{
	static const uint64_t times[] = { 1, PROFILE_TICK_NS - 1, PROFILE_TICK_NS, 990000000 };
	/* The last one is no whole number of steps: steps are counted from there. */
	static const uint64_t starts[] = { 0, PROFILE_TICK_NS, PROFILE_TICK_NS / 2 };
	static const uint64_t wanted[][3] = {
		{ 0, PROFILE_TICK_NS, 900000000 }, { 0, 0, 800000000 }, { 0, 0, 900000000 },
	};
	const struct event_names events = { describe_type, "event" };

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		struct profile *profile = profile_new();
		struct frames *frames = frames_new(NULL);
		struct stacks *stacks = stacks_new();

		stacks_begin(stacks, starts[i]);
		for (size_t n = 0; n < ARRAY_SIZE(times); n++) {
			struct join_stack stack = { .time = times[n], .tid = GONE };

			stacks_add(stacks, &one_event, 1, &stack);
		}
		stacks_fill(stacks, frames, &events, profile);
		CHECK(profile_counts(profile).samples == 3 - !!i);
		for (size_t n = 0; n < 3 - !!i; n++)
			CHECK(profile_sample_at(profile, n)->time == wanted[i][n + !!i]);
		CHECK(profile_sample_at(profile, 0)->events == 2 + !!i);
		stacks_free(stacks);
		frames_free(frames);
		profile_free(profile);
	}
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

/* As told, which comes before the perf map, and by address only where there is no file. */
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
	code_names_add(names, getpid(), 20, &told);
	frames_number(frames, frame, 2, getpid(), 10);
	CHECK(!frame[0].code_id && !frame[1].code_id);
	frames_number(frames, frame, ARRAY_SIZE(frame), getpid(), 20);
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
	RUN(stacks_by_count);
	RUN(no_stacks);
	RUN(many_stacks);
	RUN(more_stacks_than_there_is_room_for);
	RUN(stacks_of_processes);
	RUN(stacks_that_differ_in_a_frame);
	RUN(stacks_that_differ_in_what_is_exact);
	RUN(ids_of_stacks);
	RUN(processes_of_threads);
	RUN(cgroups_of_threads);
	RUN(names_of_threads);
	RUN(threads_with_one_id);
	RUN(times_of_stacks);
	remove_dir();
	return check_end();
}
