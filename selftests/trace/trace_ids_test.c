// SPDX-License-Identifier: GPL-2.0
/* Ids of files in the trace: for whom they are the same, and for how long. */
#include <pthread.h>
#include <sys/wait.h>

#include "trace_file_fixture.h"

#define DIR "/tmp/trace_ids"
#define OPTIONS "lowerdir=" DIR "/lower,upperdir=" DIR "/upper,workdir=" DIR "/work"

/* An overlay with a file in its lower directory; for leave_dir(). */
static int enter_overlay(void)
{
	mkdir(DIR, 0755);
	return mount("tmpfs", DIR, "tmpfs", 0, NULL) ?:
	       mkdir(DIR "/lower", 0755) ?: mkdir(DIR "/upper", 0755) ?:
	       mkdir(DIR "/work", 0755) ?: mkdir(DIR "/merged", 0755) ?:
	       file_create(DIR "/lower/file", 1) ?:
	       mount("overlay", DIR "/merged", "overlay", 0, OPTIONS);
}

static void leave_dir(void)
{
	umount2(DIR "/merged", MNT_DETACH);
	umount2(DIR, MNT_DETACH);
	rmdir(DIR);
}

/* What was mapped before it was copied up, and since, has an id each, which stays. */
TEST_F(trace, copied_up)
{
	struct trace_file old, new, f;
	struct stub before, since;

	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, enter_overlay());
	ASSERT_EQ(0, file_map(DIR "/merged/file", &before));
	ASK();
	TAKE(&before, &old);
	ASSERT_EQ(0, chown(DIR "/merged/file", 1, 1));
	ASSERT_EQ(0, file_map(DIR "/merged/file", &since));
	TAKE(&since, &new);
	EXPECT_NE(old.id, new.id);
	EXPECT_TRUE(is_version(&old, 1));
	EXPECT_TRUE(is_version(&new, 1));
	for (int i = 0; i < 5; i++) {
		TAKE(&before, &f);
		EXPECT_EQ(old.id, f.id);
		TAKE(&since, &f);
		EXPECT_EQ(new.id, f.id);
	}
	EXPECT_EQ(1, nr_maps(&self->log, old.id));
	EXPECT_EQ(1, nr_maps(&self->log, new.id));
	leave_dir();
}

/* Has a stack taken in "/file" of another root, where it has registered it. */
static void run_in_root(const struct trace_peer *p, const char *root,
			struct stub *stub)
{
	if (chroot(root) || chdir("/") || file_map("/file", stub) ||
	    register_elf_text(addr_of(stub->text), addr_of(stub->text) + PAGE))
		_exit(1);
	stub_run(stub, NULL);
	if (write(p->from[1], stub, sizeof(*stub)) != sizeof(*stub))
		_exit(2);
	peer_hear(p->to);
	_exit(0);
}

static void *run_as_other_thread(void *arg)
{
	struct stub stub;

	run_in_root(arg, DIR "/lower", &stub);
	return NULL;
}

/* Of which nothing is left but another thread. */
static void run_without_first(const struct trace_peer *p)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_as_other_thread, (void *)p))
		_exit(1);
	syscall(SYS_exit, 0);
}

/* A reader sees another path, but the same id. */
static void see_from_another_root(struct __test_metadata *_metadata,
				  FIXTURE_DATA(trace) * self, bool first_exits)
{
	const struct trace_entry *e;
	struct trace_register r;
	struct trace_file f;
	struct trace_peer p;
	struct proc_line l;
	struct stub stub;
	int proc;

	ASSERT_EQ(0, enter_overlay());
	ASSERT_EQ(0, tracefs_trace_syscall(&self->t, MARKER_NR, 0, false));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "1"));
	if (!peer_fork(&p)) {
		if (first_exits)
			run_without_first(&p);
		run_in_root(&p, DIR "/lower", &stub);
	}
	ASSERT_LT(0, p.pid);
	ASSERT_EQ(sizeof(stub), read(p.from[0], &stub, sizeof(stub)));
	while (first_exits && !has_state(p.pid, 'Z'))
		usleep(1000);
	READ_LOG();
	e = trace_find(&self->log, NULL, "sys_enter: ");
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, e), &self->stack));
	ASSERT_TRUE(trace_find_file(&self->log, NULL, self->stack.frame[0].id, &f));
	EXPECT_STREQ("/file", f.n.path);

	/* As with its maps, there is none without its first thread. */
	proc = first_exits ? -1 : proc_open(p.pid);
	if (!first_exits) {
		ASSERT_LE(0, proc);
		ASSERT_EQ(0, code_query_all(proc, addr_of(stub.text), &l));
		EXPECT_STREQ(DIR "/lower/file", l.path);
		EXPECT_EQ(f.id, l.q.file_id);
	}
	close(proc);
	ASSERT_EQ(0, tracefs_enable(&self->t, "codectl/code_register"));
	ASSERT_EQ(0, tracefs_write(&self->t, "code_replay", "1"));
	READ_LOG();
	ASSERT_NE(NULL, trace_find_register(&self->log, NULL, p.pid,
					    addr_of(stub.text), &r));
	EXPECT_STREQ("/file", r.n.path);
	EXPECT_EQ(f.id, r.file_id);
	peer_say(p.to);
	EXPECT_EQ(0, exit_status(p.pid));
	leave_dir();
}

TEST_F(trace, seen_from_another_root)
{
	see_from_another_root(_metadata, self, false);
}

TEST_F(trace, seen_from_another_root_without_the_first_thread)
{
	see_from_another_root(_metadata, self, true);
}

/* Once nobody traces or asks, no file is watched. */
TEST_F(trace, dropped_when_nobody_asks)
{
	const unsigned int seconds = scaled_seconds(60);
	struct trace_file a;
	bool gone = false;
	double start;

	ASSERT_EQ(0, file_create(NAME, 1));
	ASK();
	RUN(NAME, &a);
	ASSERT_EQ(0, tracefs_write(&self->t, "options/sym-userobj", "1"));
	READ_LOG();
	ASSERT_FALSE(is_nameless(&self->log, a.id));
	ASSERT_EQ(0, tracefs_write(&self->t, USER_STACKS, "0"));
	start = now();
	while (!gone && now() < start + seconds) {
		usleep(100000);
		READ_LOG();
		gone = is_nameless(&self->log, a.id);
	}
	EXPECT_TRUE(gone);
	unlink(NAME);
}

/* On the second CPU, events until it is killed; their number is in @nr. */
static void overflow(const struct tracefs *t, volatile unsigned long *nr)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		_exit(1);
	while (!tracefs_write(t, "trace_marker", "overflow"))
		++*nr;
	_exit(2);
}

/* What is overwritten on one CPU is still there on another. */
TEST_F(trace, beside_a_cpu_that_overflows)
{
	volatile unsigned long *nr = map_pages(1, PROT_READ | PROT_WRITE), before;
	const struct trace_entry *e = NULL;
	struct trace_file f, own;
	unsigned int maps = 0;
	pid_t pid;

	ASSERT_NE(NULL, nr);
	ASSERT_EQ(nr, mmap((void *)nr, PAGE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, file_create(NAME, 1));
	ASSERT_EQ(0, tracefs_write(&self->t, "per_cpu/cpu1/buffer_size_kb", "8"));
	ASK();
	pid = fork();
	if (!pid)
		overflow(&self->t, nr);
	ASSERT_LT(0, pid);
	for (int i = 0; i < 20; i++) {
		before = *nr;
		while (*nr < before + 200 && !waitpid(pid, NULL, WNOHANG))
			usleep(1000);
		RUN(NAME, &own);
	}
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(pid, waitpid(pid, NULL, 0));
	READ_LOG();
	while ((e = trace_find(&self->log, e, "file_map: ")))
		maps += e->cpu == 0 && trace_parse_file(e, &f) && f.id == own.id;
	EXPECT_EQ(1, maps);
	unlink(NAME);
}

/* Records that were overwritten on the first CPU. */
static long nr_overwritten(const struct tracefs *t)
{
	char *text = tracefs_read(t, "per_cpu/cpu0/stats"), *at;
	long nr = -1;

	at = text ? strstr(text, "overrun: ") : NULL;
	if (at)
		sscanf(at, "overrun: %ld", &nr);
	free(text);
	return nr;
}

/* What was explained first is overwritten first. */
TEST_F(trace, as_the_buffer_wraps)
{
	struct trace_file first, again;
	unsigned int nr = 0;

	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASSERT_EQ(0, file_create(NAME, 1));
	ASSERT_EQ(0, tracefs_write(&self->t, "per_cpu/cpu0/buffer_size_kb", "64"));
	ASK();
	RUN(NAME, &first);
	while (!nr_overwritten(&self->t) && nr++ < 10000)
		ASSERT_EQ(0, tracefs_write(&self->t, "trace_marker", "next"));
	ASSERT_LT(0, nr_overwritten(&self->t));
	ASSERT_GT(nr / 2, nr_overwritten(&self->t));
	READ_LOG();
	EXPECT_EQ(0, nr_maps(&self->log, first.id));
	RUN(NAME, &again);
	EXPECT_EQ(first.id, again.id);
	unlink(NAME);
}

/* What was explained is in the snapshot now. */
TEST_F(trace, swapped_for_a_snapshot)
{
	static const char *const snapshots[] = {
		"per_cpu/cpu0/snapshot", "snapshot",
	};

	ASSERT_EQ(0, run_on_first_cpu(SCHED_OTHER));
	ASK();
	for (size_t i = 0; i < ARRAY_SIZE(snapshots); i++) {
		ASSERT_EQ(0, tracefs_write(&self->t, "snapshot", "2"));
		leaf();
		ASSERT_EQ(0, tracefs_write(&self->t, snapshots[i], "1"));
		READ_LOG();
		EXPECT_EQ(0, self->log.nr);
		leaf();
		READ_LOG();
		EXPECT_EQ(2, trace_count(&self->log, "file_map: "))
			TH_LOG("%s", snapshots[i]);
	}
}

TEST_HARNESS_MAIN
