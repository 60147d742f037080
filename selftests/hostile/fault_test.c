// SPDX-License-Identifier: GPL-2.0
/*
 * Makes every allocation and every user copy of a call fail, one at a time
 * (/proc/self/fail-nth): the call reports it and has changed nothing.  For kernels with
 * failslab and fail_usercopy.
 */
#include <linux/limits.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "fault.h"
#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"
#include "sframe_build.h"

FIXTURE(fault)
{
	uint8_t *mem;
	uint64_t start;
	uint64_t end;
	uint64_t code;	/* of code_fd, for readers */
	int code_fd;
	int fd;
};

FIXTURE_SETUP(fault)
{
	REQUIRE_CODECTL();
	self->fd = fault_open();
	ASSERT_LE(0, self->fd);
	self->mem = map_pages(4, PROT_READ | PROT_WRITE | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->start = addr_of(self->mem);
	self->end = self->start + PAGE;
}

FIXTURE_TEARDOWN(fault)
{
	munmap(self->mem, 4 * PAGE);
	close(self->fd);
}

static int register_claim(uint64_t start, uint64_t end)
{
	static const char name[] = "/a/path/that/nobody/can/check";
	struct code_elf_info info = {
		.elf_start = start,
		.elf_end = end,
		.text_start = start,
		.text_end = end,
		.pathname = addr_of(name),
		.build_id = addr_of(name),
		.build_id_len = 20,
		.debug_link_pathname = addr_of(name),
	};

	return register_elf(&info);
}

/* With a table, whose header is read. */
static int register_section(uint64_t start, uint64_t end)
{
	static uint8_t section[256];
	const struct fre_spec row = {
		.info = FRE_INFO(FRE_SP, 1, FRE_WORD1), .word = { 8 },
	};
	const struct fde_spec fde = {
		.func = start, .size = PAGE, .nr_fres = 1, .fre = &row,
	};
	size_t len = sframe_build(section, sizeof(section), &fde, 1, 0);

	return register_text(start, end, section, len);
}

/* What to make fail, and the number of its allocations and copies. */
struct call {
	/* With the fault; checks the result.  Returns whether the fault was used. */
	bool (*once)(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self,
		     const struct call *call, unsigned int nth, int *ret);
	union {
		int (*reg)(uint64_t start, uint64_t end);
		int (*change)(int fd, unsigned int nth, uint64_t parents);
		int (*reader)(uint64_t start);
	};
	unsigned int nomems;
	unsigned int faults;
};

struct tally {
	unsigned int calls;
	unsigned int nomem;
	unsigned int fault;
	unsigned int done;	/* in spite of the fault */
};

static struct tally strike_each(struct __test_metadata *_metadata,
				FIXTURE_DATA(fault) * self, const struct call *call)
{
	struct tally n = { };
	bool used = true;
	int ret;

	while (used) {
		ASSERT_GT(100, n.calls);
		used = call->once(_metadata, self, call, ++n.calls, &ret);
		ASSERT_TRUE(!ret || (used && (ret == -ENOMEM || ret == -EFAULT)))
			TH_LOG("error %d", ret);
		n.nomem += ret == -ENOMEM;
		n.fault += ret == -EFAULT;
		n.done += used && !ret;
	}
	return n;
}

/*
 * Other things that the kernel now and then does in this task are hit instead of what
 * comes after them in the call: one of several passes hits all of the call.
 */
static struct tally fail_each(struct __test_metadata *_metadata,
			      FIXTURE_DATA(fault) * self, const struct call *call)
{
	int passes = 10;
	struct tally n;

	do {
		n = strike_each(_metadata, self, call);
		TH_LOG("%u calls, %u without memory, %u without access, %u done all the same",
		       n.calls, n.nomem, n.fault, n.done);
	} while (--passes && (n.nomem < call->nomems || n.fault < call->faults));
	EXPECT_LE(call->nomems, n.nomem);
	EXPECT_LE(call->faults, n.fault);
	return n;
}

static bool register_once(struct __test_metadata *_metadata,
			  FIXTURE_DATA(fault) * self, const struct call *call,
			  unsigned int nth, int *ret)
{
	bool used;

	arm(self->fd, nth);
	*ret = call->reg(self->start, self->end);
	used = disarm(self->fd);
	ASSERT_EQ(*ret ? -ENOENT : 0, unregister_text(self->start, self->end));
	return used;
}

TEST_F(fault, register)
{
	fail_each(_metadata, self, &(struct call){ .once = register_once,
		  .reg = register_claim, .nomems = 3, .faults = 3 });
}

TEST_F(fault, register_section)
{
	fail_each(_metadata, self, &(struct call){ .once = register_once,
		  .reg = register_section, .nomems = 1, .faults = 2 });
}

TEST_F(fault, register_compiled_code)
{
	fail_each(_metadata, self, &(struct call){ .once = register_once,
		  .reg = register_jit_text, .nomems = 1, .faults = 1 });
}

/* Of one entry, so that its error is that of the call. */
static int register_in_batch(uint64_t start, uint64_t end)
{
	struct code_jit_info info = {
		.text_start = start,
		.text_end = end,
		.jit_flags = CODE_JIT_DEFAULT_RULE,
	};
	struct code_batch_entry entry = {
		.option = CODE_REGISTER_JIT,
		.info_size = sizeof(info),
		.info = addr_of(&info),
	};
	struct code_batch batch = { .entries = addr_of(&entry), .nr = 1 };
	long ret = sys_codectl(CODE_BATCH, &batch, sizeof(batch), 0);

	return ret == 1 ? 0 : ret ?: -EPROTO;
}

/* Errors of the batch, of the entry, and of what that leads to. */
TEST_F(fault, register_in_batch)
{
	fail_each(_metadata, self, &(struct call){ .once = register_once,
		  .reg = register_in_batch, .nomems = 1, .faults = 3 });
}

#define BATCH 18
/* Number of entries that the kernel reads at once. */
#define BATCH_READ 16

/* Exactly as many entries as it says were carried out. */
static bool batch_once(struct __test_metadata *_metadata,
		       FIXTURE_DATA(fault) * self, const struct call *call,
		       unsigned int nth, int *ret)
{
	struct code_unregister_info info[BATCH];
	struct code_batch_entry entry[BATCH];
	struct code_batch batch = { .entries = addr_of(entry), .nr = BATCH };
	bool used;

	for (unsigned int i = 0; i < BATCH; i++) {
		uint64_t start = self->start + 16 * i;

		ASSERT_EQ(0, register_elf_text(start, start + 16));
		info[i] = (struct code_unregister_info) { start, start + 16 };
		entry[i] = (struct code_batch_entry) {
			CODE_UNREGISTER, sizeof(info[i]), addr_of(&info[i]),
		};
	}
	arm(self->fd, nth);
	*ret = sys_codectl(CODE_BATCH, &batch, sizeof(batch), 0);
	used = disarm(self->fd);
	for (int i = 0; i < BATCH; i++) {
		ASSERT_EQ(i < *ret ? -ENOENT : 0,
			  unregister_text(info[i].text_start, info[i].text_end))
			TH_LOG("entry %d, %d were carried out", i, *ret);
	}
	/* The first object of such a call has its own error. */
	if (*ret == BATCH)
		*ret = 0;
	else if (*ret >= 0)
		*ret = -EFAULT;
	return used;
}

TEST_F(fault, batch)
{
	fail_each(_metadata, self, &(struct call){ .once = batch_once,
		  .faults = 1 + (BATCH + BATCH_READ - 1) / BATCH_READ + BATCH });
}

static bool unregister_once(struct __test_metadata *_metadata,
			    FIXTURE_DATA(fault) * self, const struct call *call,
			    unsigned int nth, int *ret)
{
	bool used;

	ASSERT_EQ(0, register_claim(self->start, self->end));
	arm(self->fd, nth);
	*ret = unregister_text(self->start, self->end);
	used = disarm(self->fd);
	ASSERT_EQ(*ret ? 0 : -ENOENT, unregister_text(self->start, self->end));
	return used;
}

TEST_F(fault, unregister)
{
	struct tally n = fail_each(_metadata, self, &(struct call){
				   .once = unregister_once, .faults = 1 });

	/* The tree has other ways to get a node. */
	EXPECT_LE(1, n.nomem + n.done);
}

#define WRONG 255

/* The exit status of a child: 0 without the fault, or 1 and its error. */
static int status_of(int ret, bool used)
{
	if (used)
		return 1 - ret;
	return ret ? WRONG : 0;
}

static int register_shared(int fd, unsigned int nth, uint64_t parents)
{
	uint64_t start = addr_of(map_pages(1, PROT_READ | PROT_EXEC));
	bool used;
	int ret;

	arm(fd, nth);
	ret = register_claim(start, start + PAGE);
	used = disarm(fd);
	if (unregister_text(start, start + PAGE) != (ret ? -ENOENT : 0) ||
	    register_claim(parents, parents + PAGE) != -EEXIST)
		return WRONG;
	return status_of(ret, used);
}

static int unregister_shared(int fd, unsigned int nth, uint64_t parents)
{
	bool used;
	int ret;

	arm(fd, nth);
	ret = unregister_text(parents, parents + PAGE);
	used = disarm(fd);
	if (register_claim(parents, parents + PAGE) != (ret ? -EEXIST : 0))
		return WRONG;
	return status_of(ret, used);
}

/* The child shares the registry, so its first change copies it. */
static bool change_once(struct __test_metadata *_metadata,
			FIXTURE_DATA(fault) * self, const struct call *call,
			unsigned int nth, int *ret)
{
	pid_t pid = fork();
	int status;

	ASSERT_LE(0, pid);
	if (!pid)
		_exit(call->change(fault_open(), nth, self->start));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_TRUE(WIFEXITED(status));
	ASSERT_NE(WRONG, WEXITSTATUS(status));
	*ret = status ? 1 - WEXITSTATUS(status) : 0;
	return status;
}

/* Registry and tree, in addition to what a registration takes. */
TEST_F(fault, registration_in_a_shared_registry)
{
	ASSERT_EQ(0, register_claim(self->start, self->end));
	fail_each(_metadata, self, &(struct call){ .once = change_once,
		  .change = register_shared, .nomems = 5, .faults = 3 });
	EXPECT_EQ(0, unregister_text(self->start, self->end));
}

TEST_F(fault, unregistration_in_a_shared_registry)
{
	ASSERT_EQ(0, register_claim(self->start, self->end));
	fail_each(_metadata, self, &(struct call){ .once = change_once,
		  .change = unregister_shared, .nomems = 2, .faults = 1 });
	EXPECT_EQ(0, unregister_text(self->start, self->end));
}

/*
 * A successful unmapping has dropped the text, whatever failed in it; one that is
 * refused for lack of memory has not.
 */
static bool munmap_once(struct __test_metadata *_metadata,
			FIXTURE_DATA(fault) * self, const struct call *call,
			unsigned int nth, int *ret)
{
	uint8_t *text = map_pages(3, PROT_READ | PROT_EXEC);
	uint64_t start = addr_of(text), end = start + 3 * PAGE;
	bool used;

	ASSERT_NE(NULL, text);
	ASSERT_EQ(0, register_claim(start, end));
	arm(self->fd, nth);
	*ret = munmap(text + PAGE, PAGE) ? -errno : 0;
	used = disarm(self->fd);
	ASSERT_NE(-EFAULT, *ret);
	ASSERT_EQ(*ret ? 0 : -ENOENT, unregister_text(start, end));
	ASSERT_EQ(0, munmap(text, 3 * PAGE));
	return used;
}

TEST_F(fault, munmap)
{
	fail_each(_metadata, self, &(struct call){ .once = munmap_once, .nomems = 1 });
}

/* Opens and reads the file, or queries everything; 0 or an error. */
static int read_lines(uint64_t start)
{
	int fd = proc_open(0), err = 0;
	static char all[1 << 16];
	size_t used = 0;
	ssize_t n = 0;

	if (fd < 0)
		return fd;
	while ((n = read(fd, all + used, sizeof(all) - 1 - used)) > 0)
		used += n;
	err = n < 0 ? -errno : 0;
	all[used] = '\0';
	close(fd);
	/* What was read before an error is right. */
	return proc_check(all) < 0 ? -EILSEQ : err;
}

static int ask(uint64_t start)
{
	int fd = proc_open(0), err;
	struct proc_line l;

	if (fd < 0)
		return fd;
	err = code_query_all(fd, start, &l);
	close(fd);
	return err;
}

/* The file is written to each time, so it needs a new id. */
static bool read_once(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self,
		      const struct call *call, unsigned int nth, int *ret)
{
	struct proc_line l;
	bool used;

	ASSERT_EQ(0, elf_write(self->code_fd, nth % 250));
	arm(self->fd, nth);
	*ret = call->reader(self->code);
	used = disarm(self->fd);
	ASSERT_EQ(0, ask(self->code));
	ASSERT_TRUE(proc_line_of(self->code, &l));
	EXPECT_EQ(20, l.q.build_id_size);
	EXPECT_EQ(nth % 250, l.build_id[1]);
	return used;
}

static void fail_reader(struct __test_metadata *_metadata,
			FIXTURE_DATA(fault) * self, int (*reader)(uint64_t))
{
	self->code_fd = memfd_create("code", MFD_CLOEXEC);
	ASSERT_EQ(0, elf_write(self->code_fd, 1));
	self->code = addr_of(elf_map(self->code_fd));
	ASSERT_NE(0, self->code);
	fail_each(_metadata, self, &(struct call){ .once = read_once,
		  .reader = reader, .nomems = 3, .faults = 1 });
	munmap((void *)self->code, PAGE);
	close(self->code_fd);
}

TEST_F(fault, read_lines)
{
	fail_reader(_metadata, self, read_lines);
}

TEST_F(fault, ask)
{
	fail_reader(_metadata, self, ask);
}

static bool ask_once(struct __test_metadata *_metadata, FIXTURE_DATA(fault) * self,
		     const struct call *call, unsigned int nth, int *ret)
{
	static unsigned int nr;
	char dir[32], path[64];
	struct proc_line l;
	uint64_t start;
	bool used;

	snprintf(dir, sizeof(dir), "/tmp/fault_dir_%u", nr++);
	snprintf(path, sizeof(path), "%s/code", dir);
	ASSERT_EQ(0, mkdir(dir, 0700));
	ASSERT_EQ(0, mount("/tmp/fault_dir", dir, NULL, MS_BIND, NULL));
	start = addr_of(elf_map_path(path));
	ASSERT_NE(0, start);
	arm(self->fd, nth);
	*ret = ask(start);
	used = disarm(self->fd);
	ASSERT_EQ(0, ask(start));
	ASSERT_TRUE(proc_line_of(start, &l));
	EXPECT_STREQ(path, l.path);
	EXPECT_EQ(20, l.q.build_id_size);
	munmap((void *)start, PAGE);
	ASSERT_EQ(0, umount(dir));
	rmdir(dir);
	return used;
}

/* Another path of a file that has an id takes memory of its own. */
TEST_F(fault, ask_by_another_path)
{
	ASSERT_EQ(0, mkdir("/tmp/fault_dir", 0700));
	close(elf_create("/tmp/fault_dir/code", 1));
	ASSERT_EQ(0, ask(addr_of(elf_map_path("/tmp/fault_dir/code"))));
	fail_each(_metadata, self, &(struct call){ .once = ask_once, .nomems = 4 });
	unlink("/tmp/fault_dir/code");
	rmdir("/tmp/fault_dir");
}

/* ------------------------------------------------------------ no memory for registrations */

/* All of them are refused to this task, rather than only one. */
static int refuse_regions(bool on)
{
	return fault_write(FAILSLAB "probability", "0") ||
	       fault_write("/proc/self/make-it-fail", on ? "1" : "0") ||
	       fault_write("/sys/kernel/slab/codectl_region/failslab", on ? "1" : "0") ||
	       fault_write(FAILSLAB "cache-filter", on ? "Y" : "N") ||
	       fault_write(FAILSLAB "task-filter", on ? "Y" : "N") ||
	       fault_write(FAILSLAB "times", on ? "-1" : "1") ||
	       (on && fault_write(FAILSLAB "probability", "100"));
}

FIXTURE(regions)
{
	uint64_t text;
};

FIXTURE_SETUP(regions)
{
	uint8_t *mem;
	int fd;

	REQUIRE_CODECTL();
	fd = fault_open();
	ASSERT_LE(0, fd);
	close(fd);
	mem = map_pages(64, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, mem);
	self->text = addr_of(mem);
}

/* Even when the test died in between. */
FIXTURE_TEARDOWN_PARENT(regions)
{
	refuse_regions(false);
}

/*
 * Does it for every second page of several; what is refused has changed nothing, and
 * refusals return @error.  Returns how many were refused.
 */
static unsigned int each_refused(struct __test_metadata *_metadata, uint64_t text,
				 int (*call)(uint64_t start, uint64_t end), int error)
{
	unsigned int refused = 0;
	int ret;

	for (uint64_t start = text; start < text + 64 * PAGE; start += 2 * PAGE) {
		ASSERT_EQ(0, refuse_regions(true));
		ret = call(start, start + PAGE);
		ASSERT_EQ(0, refuse_regions(false));
		ASSERT_TRUE(!ret || ret == -ENOMEM);
		refused += !!ret;
		EXPECT_EQ(ret ? 0 : error, call(start, start + PAGE));
	}
	return refused;
}

TEST_F(regions, register_and_unregister)
{
	EXPECT_EQ(32, each_refused(_metadata, self->text, register_claim, -EEXIST));
	EXPECT_EQ(0, each_refused(_metadata, self->text, unregister_text, -ENOENT));
}

/* The first change of something shared with a child takes a copy. */
TEST_F(regions, unregister_what_is_shared)
{
	pid_t pid;

	for (uint64_t start = self->text; start < self->text + 64 * PAGE; start += 2 * PAGE)
		ASSERT_EQ(0, register_claim(start, start + PAGE));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid) {
		pause();
		_exit(0);
	}
	EXPECT_EQ(1, each_refused(_metadata, self->text, unregister_text, -ENOENT));
	kill(pid, SIGKILL);
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
}

TEST_HARNESS_MAIN
