// SPDX-License-Identifier: GPL-2.0
/*
 * Random operations on files with tables, and on their mappings, concurrently with a
 * process that does the same: attach, detach, map, move, unmap, write in each way,
 * replace, fork, and walk.  A walk is complete if the file has a table, and never
 * wrong. FUZZ_SEED and FUZZ_CALLS choose what to do, and how much.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "unwind_common.h"
#include "attach.h"
#include "memory.h"
#include "proc_file.h"

/* A million operations on an emulated debug kernel. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 40000

#define NR_FILES	4
#define NR_SLOTS	8
#define ROUND		500

/* A copy of an object, whose name another one may have taken. */
struct file {
	char path[64];
	int fd;
	int attached;		/* or -1 */
	bool written;		/* since it was attached */
	uint8_t *writable;	/* a page of it, mapped shared */
};

/* A mapping of the text of a file. */
struct slot {
	struct file *file;	/* NULL: none */
	uint8_t *text;
};

FIXTURE(attach)
{
	struct attach_args args;
	uint64_t random;
	uint64_t text_offset;	/* in the file, in whole pages */
	size_t text_len;
	uint64_t call_offset;	/* of attach_call() in the text */
	struct file files[NR_FILES];
	struct slot slots[NR_SLOTS];
	struct sampler sampler;
	struct stack stack;
	unsigned long whole, other;
};

static unsigned long number_of(const char *name, unsigned long otherwise)
{
	const char *value = getenv(name);

	return value ? strtoul(value, NULL, 0) : otherwise;
}

/* xorshift64* */
static uint64_t pick(FIXTURE_DATA(attach) * self, uint64_t below)
{
	self->random ^= self->random >> 12;
	self->random ^= self->random << 25;
	self->random ^= self->random >> 27;
	return (self->random * 0x2545f4914f6cdd1dULL >> 32) % below;
}

/* A new inode under the name. */
static int make_file(const char *path)
{
	int in = open("attach_object.so", O_RDONLY | O_CLOEXEC), out;
	struct stat st;
	char other[80];

	snprintf(other, sizeof(other), "%s.new", path);
	out = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (in < 0 || out < 0 || fstat(in, &st) ||
	    sendfile(out, in, NULL, st.st_size) != st.st_size ||
	    rename(other, path)) {
		close(out);
		out = -1;
	}
	close(in);
	return out;
}

FIXTURE_SETUP(attach)
{
	const struct link_map *map;
	void *object, *call;

	REQUIRE_CODECTL();
	object = dlopen("./attach_object.so", RTLD_NOW);
	ASSERT_NE(NULL, object);
	map = object;
	call = dlsym(object, "attach_call");
	ASSERT_NE(NULL, call);
	ASSERT_EQ(0, attach_args_of(call, &self->args));
	close(self->args.info.fd);
	ASSERT_EQ(1, self->args.info.nr_segments);
	self->text_offset = self->args.segments[0].offset & -PAGE;
	self->text_len = (self->args.segments[0].offset - self->text_offset +
			  self->args.segments[0].len + PAGE - 1) & -PAGE;
	self->call_offset = addr_of(call) - map->l_addr -
			    self->args.segments[0].vaddr +
			    self->args.segments[0].offset - self->text_offset;
	for (int i = 0; i < NR_FILES; i++) {
		struct file *f = &self->files[i];

		snprintf(f->path, sizeof(f->path), "/tmp/attach_fuzz_%d_%d.so",
			 getpid(), i);
		f->attached = -1;
		f->fd = make_file(f->path);
		ASSERT_LE(0, f->fd);
	}
	self->random = number_of("FUZZ_SEED", 1) * 2 + 1;
}

FIXTURE_TEARDOWN(attach)
{
	for (int i = 0; i < NR_FILES; i++)
		unlink(self->files[i].path);
}

/* ------------------------------------------------------------ the operations */

static bool attach(FIXTURE_DATA(attach) * self, struct file *f)
{
	struct code_file_info info = self->args.info;
	int fd;

	info.fd = f->fd;
	fd = attach_file(&info);
	/* By this process or by the other one. */
	if (f->attached >= 0 || fd == -EEXIST)
		return fd == -EEXIST;
	if (f->writable)
		return fd == -ETXTBSY;
	f->attached = fd;
	f->written = false;
	return fd >= 0;
}

static bool detach(struct file *f)
{
	int fd = f->attached;

	f->attached = -1;
	return fd < 0 || !close(fd);
}

static bool map(FIXTURE_DATA(attach) * self, struct file *f, struct slot *s)
{
	if (s->file)
		munmap(s->text, self->text_len);
	s->text = mmap(NULL, self->text_len, PROT_READ | PROT_EXEC, MAP_PRIVATE,
		       f->fd, self->text_offset);
	s->file = s->text == MAP_FAILED ? NULL : f;
	return s->file;
}

static bool unmap(FIXTURE_DATA(attach) * self, struct slot *s)
{
	if (s->file && munmap(s->text, self->text_len))
		return false;
	s->file = NULL;
	return true;
}

static bool move(FIXTURE_DATA(attach) * self, struct slot *s)
{
	uint8_t *to;

	if (!s->file)
		return true;
	to = mmap(NULL, self->text_len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		  -1, 0);
	to = mremap(s->text, self->text_len, self->text_len,
		    MREMAP_MAYMOVE | MREMAP_FIXED, to);
	s->text = to;
	return to != MAP_FAILED;
}

/* Writes what was there, except that the length may change. */
static bool change(FIXTURE_DATA(attach) * self, struct file *f)
{
	struct stat st;
	uint8_t byte;

	f->written = true;
	switch (pick(self, 3)) {
	case 0:
		return pread(f->fd, &byte, 1, 15) == 1 &&
		       pwrite(f->fd, &byte, 1, 15) == 1;
	case 1:
		return !fstat(f->fd, &st) && !ftruncate(f->fd, st.st_size + 1);
	default:
		if (f->writable)
			return true;
		f->writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
				   f->fd, 0);
		*(volatile uint8_t *)&f->writable[15] = 0;
		return true;
	}
}

static bool end_change(struct file *f)
{
	bool good = !f->writable || !munmap(f->writable, PAGE);

	f->writable = NULL;
	return good;
}

/* Puts another file under the name; what is mapped and attached stays. */
static bool replace(struct file *f)
{
	int fd = make_file(f->path);

	return fd >= 0 && !close(fd);
}

/* The new one is used from now on. */
static bool renew(FIXTURE_DATA(attach) * self, struct file *f)
{
	bool good = end_change(f) && detach(f);

	for (int i = 0; i < NR_SLOTS; i++)
		if (self->slots[i].file == f)
			good &= unmap(self, &self->slots[i]);
	close(f->fd);
	f->fd = make_file(f->path);
	return good && f->fd >= 0;
}

/* ------------------------------------------------------------ walks */

static uint64_t leaf_ip, slot_ip;

static noinline void leaf(void)
{
	slot_ip = (uint64_t)__builtin_return_address(0);
	leaf_ip = marker();
	asm volatile("");
}

typedef void (*attach_call)(void (*function)(void));

static noinline void call_slot(attach_call call)
{
	truth_callers();
	call(leaf);
	asm volatile("");
}

static bool is_whole(const struct stack *stack)
{
	return stack->nr == truth.nr + 3 && stack->ip[0] == leaf_ip &&
	       stack->ip[1] == slot_ip &&
	       stack->ip[2] - addr_of(call_slot) < 512 &&
	       same_tail(stack, &truth, truth.nr);
}

/* Without a table, frame pointers are tried, in code that has none. */
static bool is_right(const struct stack *stack)
{
	return stack->nr && stack->ip[0] == leaf_ip &&
	       (stack->nr < 2 || stack->ip[1] == slot_ip) &&
	       !has_kernel_address(stack);
}

static bool walk(FIXTURE_DATA(attach) * self, const struct slot *s)
{
	bool covered;

	if (!s->file)
		return true;
	covered = s->file->attached >= 0 && !s->file->written;
	sampler_drain(&self->sampler);
	call_slot((attach_call)(s->text + self->call_offset));
	if (!sampler_next(&self->sampler, &self->stack))
		return false;
	self->whole += covered;
	self->other += !covered;
	if (covered ? is_whole(&self->stack) : is_right(&self->stack))
		return true;
	print_stack(&self->stack, &truth);
	return false;
}

/* The child does not have the rings of its parent. */
static bool walk_in_child(FIXTURE_DATA(attach) * self)
{
	bool good = true;
	int status;
	pid_t pid = fork();

	if (!pid) {
		touch_tables();
		if (sampler_open_syscall(&self->sampler, MARKER_NR))
			_exit(1);
		for (int i = 0; i < NR_SLOTS; i++)
			good &= walk(self, &self->slots[i]);
		_exit(!good);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

/* ------------------------------------------------------------ all of it */

static bool step(FIXTURE_DATA(attach) * self, unsigned int what)
{
	struct file *f = &self->files[pick(self, NR_FILES)];
	struct slot *s = &self->slots[pick(self, NR_SLOTS)];

	switch (what) {
	case 0 ... 13:
		return attach(self, f);
	case 14 ... 19:
		return detach(f);
	case 20 ... 33:
		return map(self, f, s);
	case 34 ... 37:
		return unmap(self, s);
	case 38 ... 41:
		return move(self, s);
	case 42 ... 45:
		return change(self, f);
	case 46 ... 49:
		return end_change(f);
	case 50:
		return replace(f);
	case 51:
		return renew(self, f);
	case 52:
		/* It takes as long as two hundred other operations. */
		return pick(self, 8) ? walk(self, s) : walk_in_child(self);
	default:
		return walk(self, s);
	}
}

/* Alternately on the way back to user space, and at once. */
static void run(struct __test_metadata *_metadata, FIXTURE_DATA(attach) * self,
		unsigned long calls)
{
	for (unsigned long i = 0; i < calls; i++) {
		unsigned int what = pick(self, 100);

		if (i % ROUND == 0) {
			if (i)
				sampler_close(&self->sampler);
			sampler_at_once = i / ROUND % 2;
			touch_tables();
			ASSERT_EQ(0, sampler_open_syscall(&self->sampler,
							  MARKER_NR));
		}
		ASSERT_TRUE(step(self, what)) {
			TH_LOG("operation %lu: %u, errno %d", i, what, errno);
		}
	}
	sampler_close(&self->sampler);
}

/* Nobody knows what its walks should find. */
static pid_t start_other(FIXTURE_DATA(attach) * self)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	self->random += 1000;
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    sampler_open_clock(&self->sampler, 1000))
		_exit(1);
	for (;;) {
		struct file *f = &self->files[pick(self, NR_FILES)];
		struct slot *s = &self->slots[pick(self, NR_SLOTS)];

		attach(self, f);
		map(self, f, s);
		call_slot((attach_call)(s->text + self->call_offset));
		while (sampler_next(&self->sampler, &self->stack))
			if (has_kernel_address(&self->stack))
				_exit(1);
		detach(f);
		if (!pick(self, 64) && !fork())
			_exit(0);
		waitpid(-1, NULL, WNOHANG);
		usleep(1000);
	}
}

static long attached_files(void)
{
	int fd = open("/proc/codectl_files", O_RDONLY | O_CLOEXEC);
	char *all = proc_read(fd, NULL);
	long nr = 0;

	for (const char *at = all; at && (at = strchr(at, '\n')); at++)
		nr++;
	free(all);
	close(fd);
	return nr;
}

static void clean_up(FIXTURE_DATA(attach) * self)
{
	for (int i = 0; i < NR_SLOTS; i++)
		unmap(self, &self->slots[i]);
	for (int i = 0; i < NR_FILES; i++) {
		end_change(&self->files[i]);
		detach(&self->files[i]);
		close(self->files[i].fd);
	}
}

TEST_F(attach, random_operations)
{
	unsigned long calls = number_of("FUZZ_CALLS", is_slow() ? 5000 : 20000);
	long files = attached_files();
	struct memory before;
	pid_t other;

	ASSERT_TRUE(memory_now(&before));
	other = start_other(self);
	ASSERT_LT(0, other);
	run(_metadata, self, calls);
	ASSERT_EQ(0, waitpid(other, NULL, WNOHANG)) {
		TH_LOG("the other process has ended");
	}
	kill(other, SIGKILL);
	ASSERT_EQ(other, waitpid(other, NULL, 0));
	clean_up(self);
	TH_LOG("%lu walks by attached tables, %lu without", self->whole, self->other);
	EXPECT_LT(calls / 50, self->whole);
	EXPECT_LT(calls / 50, self->other);
	EXPECT_EQ(files, attached_files());
	EXPECT_TRUE(memory_is_back(&before));
}

TEST_HARNESS_MAIN
