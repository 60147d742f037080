// SPDX-License-Identifier: GPL-2.0
/*
 * Stacks that BPF programs take in the middle of changes to an address space, or to the
 * tables that a walk uses, which are attached ones: at the start of a function of the
 * kernel, with the locks that it is called under.
 */
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "unwind_common.h"
#include "attach.h"
#include "bpf_stack.h"

FIXTURE(life)
{
	struct bpf_taker taker;
	/* The child's notes before something that it may not return from. */
	struct truth *shared;
};

FIXTURE_VARIANT(life)
{
	const char *function;	/* of the kernel */
	void (*prepare)(void);
	void (*act)(void);
	unsigned int frames;	/* or 0: all */
};

FIXTURE_SETUP(life)
{
	REQUIRE_CODECTL();
	ASSERT_TRUE(attach_instead());
	self->shared = mmap(NULL, sizeof(struct truth), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_EQ(0, bpf_taker_open(&self->taker));
	ASSERT_EQ(0, bpf_taker_run_in(&self->taker, variant->function));
}

FIXTURE_TEARDOWN(life)
{
	bpf_taker_close(&self->taker);
	munmap(self->shared, sizeof(struct truth));
}

/* ------------------------------------------------------------ operations */

FIXTURE_VARIANT_ADD(life, fork)
{
	.function = "copy_page_range",
	.act = fork_once,
};

static void exec_true(void)
{
	execl("/bin/true", "true", NULL);
}

FIXTURE_VARIANT_ADD(life, exec)
{
	.function = "begin_new_exec",
	.act = exec_true,
};

/* In the new address space, with the registers of the old program. */
FIXTURE_VARIANT_ADD(life, exec_with_nothing_mapped)
{
	.function = "setup_arg_pages",
	.act = exec_true,
	.frames = 1,
};

static void leave(void)
{
	_exit(0);
}

FIXTURE_VARIANT_ADD(life, exit)
{
	.function = "unwind_deferred_task_exit",
	.act = leave,
};

static void *mapped;

static void map(void)
{
	mapped = map_pages(4, PROT_READ | PROT_EXEC);
}

static void unmap(void)
{
	munmap((char *)mapped + PAGE, 2 * PAGE);
}

FIXTURE_VARIANT_ADD(life, munmap)
{
	.function = "unmap_vmas",
	.prepare = map,
	.act = unmap,
};

static void unmap_whole(void)
{
	munmap(mapped, 4 * PAGE);
}

/* The tree of mappings no longer has any of the four pages. */
FIXTURE_VARIANT_ADD(life, munmap_of_all)
{
	.function = "free_pgtables",
	.prepare = map,
	.act = unmap_whole,
};

static void split(void)
{
	mprotect((char *)mapped + PAGE, 2 * PAGE, PROT_READ);
}

FIXTURE_VARIANT_ADD(life, mprotect)
{
	.function = "vma_modify_flags",
	.prepare = map,
	.act = split,
};

static struct attach_args args;
static int attached = -1;

static void find_object(void)
{
	void *object = dlopen("./attach_object.so", RTLD_NOW);

	attach_args_of(dlsym(object, "attach_call"), &args);
}

static void attach_once(void)
{
	attached = attach_file(&args.info);
}

FIXTURE_VARIANT_ADD(life, attach)
{
	.function = "fsnotify_add_mark",
	.prepare = find_object,
	.act = attach_once,
};

static void find_and_attach(void)
{
	find_object();
	attach_once();
}

static void detach(void)
{
	close(attached);
}

FIXTURE_VARIANT_ADD(life, detach)
{
	.function = "fsnotify_destroy_mark",
	.prepare = find_and_attach,
	.act = detach,
};

/* ------------------------------------------------------------ the test */

/* Notes its caller, and is itself seen only as the caller of @act. */
static noinline void note_and_act(FIXTURE_DATA(life) * self, void (*act)(void))
{
	truth_reset();
	truth_callers();
	*self->shared = truth;
	self->taker.shared->pid = getpid();
	act();
	self->taker.shared->pid = 0;
}

static noinline void in_child(FIXTURE_DATA(life) * self,
			      const FIXTURE_VARIANT(life) * variant)
{
	if (variant->prepare)
		variant->prepare();
	note_and_act(self, variant->act);
	_exit(0);
}

static bool stack_is_right(FIXTURE_DATA(life) * self,
			   const FIXTURE_VARIANT(life) * variant)
{
	const struct truth *t = self->shared;
	struct stack stack = {};
	bool right;

	if (!bpf_taker_read(&self->taker, &stack))
		return false;
	if (variant->frames)
		right = stack.nr == variant->frames;
	else
		right = t->nr > 3 && stack.nr > t->nr && ends_in_start(&stack) &&
			same_tail(&stack, t, t->nr);
	if (!right)
		print_stack(&stack, t);
	return right;
}

TEST_F(life, is_whole)
{
	unsigned int rounds = is_slow() ? 4 : 100;

	while (rounds--) {
		uint64_t taken = self->taker.shared->taken;
		pid_t pid = fork();
		int status;

		if (!pid)
			in_child(self, variant);
		ASSERT_LT(0, pid);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
		ASSERT_LT(taken, self->taker.shared->taken);
		ASSERT_TRUE(stack_is_right(self, variant));
	}
}

TEST_HARNESS_MAIN
