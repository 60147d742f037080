// SPDX-License-Identifier: GPL-2.0
/*
 * What ends a registration: any page of its text stops being mapped or is
 * moved away.  What does not: something mapped over it, other protection,
 * other contents.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/wait.h>

#include "codectl_test.h"
#include "jit_table.h"
#include "kselftest_harness.h"

#define RX (PROT_READ | PROT_EXEC)

/* Ten pages, of which the fifth and sixth are registered text. */
#define AREA_PAGES 10
#define TEXT_PAGE 4
#define TEXT_PAGES 2

struct area {
	uint8_t *mem;
	uint8_t *text;
	/* A mapping to move elsewhere, outside the area. */
	uint8_t *other;
};

static int area_map(struct area *a)
{
	a->mem = map_pages(AREA_PAGES, RX);
	a->other = map_pages(AREA_PAGES, PROT_READ | PROT_WRITE);
	if (!a->mem || !a->other)
		return -ENOMEM;
	a->text = a->mem + TEXT_PAGE * PAGE;
	return 0;
}

static int area_register_elf(struct area *a)
{
	return register_elf_text(addr_of(a->text),
				 addr_of(a->text) + TEXT_PAGES * PAGE);
}

static int area_register_jit(struct area *a)
{
	return register_jit_text(addr_of(a->text),
				 addr_of(a->text) + TEXT_PAGES * PAGE);
}

static bool area_is_registered(const struct area *a)
{
	int err = unregister_text(addr_of(a->text),
				  addr_of(a->text) + TEXT_PAGES * PAGE);

	return !err;
}

static bool is_mapped(const void *p)
{
	return !msync((void *)p, PAGE, MS_ASYNC);
}

static int fixed(void *at, size_t pages, int prot)
{
	void *p = mmap(at, pages * PAGE, prot,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

/* Returns 0, or -1 if the move did not take place as asked. */
static int move(void *from, size_t old, size_t new, int flags, void *to)
{
	void *p = mremap(from, old * PAGE, new * PAGE, flags, to);

	return p == MAP_FAILED ? -1 : 0;
}

FIXTURE(life)
{
	struct area area;
};

FIXTURE_SETUP(life)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, area_map(&self->area));
}

FIXTURE_TEARDOWN(life)
{
	munmap(self->area.mem, AREA_PAGES * PAGE);
	munmap(self->area.other, AREA_PAGES * PAGE);
}

FIXTURE_VARIANT(life)
{
	int (*event)(struct area *a);	/* 0 if it took place */
	enum { DROPS, KEEPS, MAPS_OVER } what;
};

/* What is mapped over stays registered, until an ELF object takes its place. */
#define EVENT(name, does, ...)						\
static int event_##name(struct area *a) { __VA_ARGS__; }		\
FIXTURE_VARIANT_ADD(life, name) { .event = event_##name, .what = does }

EVENT(munmap_all, DROPS, return munmap(a->text, 2 * PAGE));
EVENT(munmap_first_page, DROPS, return munmap(a->text, PAGE));
EVENT(munmap_last_page, DROPS, return munmap(a->text + PAGE, PAGE));
EVENT(munmap_around, DROPS, return munmap(a->mem, AREA_PAGES * PAGE));
EVENT(munmap_below, KEEPS, return munmap(a->mem, TEXT_PAGE * PAGE));
EVENT(munmap_above, KEEPS, return munmap(a->text + 2 * PAGE, PAGE));
EVENT(munmap_elsewhere, KEEPS, return munmap(a->other, PAGE));

EVENT(mprotect_none, KEEPS, return mprotect(a->text, 2 * PAGE, PROT_NONE));
EVENT(mprotect_part, KEEPS, return mprotect(a->text, PAGE, PROT_READ));
EVENT(mprotect_write, KEEPS,
	return mprotect(a->text, 2 * PAGE, PROT_READ | PROT_WRITE));

EVENT(madvise_dontneed, KEEPS,
	return madvise(a->text, 2 * PAGE, MADV_DONTNEED));
EVENT(madvise_free, KEEPS, return madvise(a->text, 2 * PAGE, MADV_FREE));
EVENT(madvise_cold, KEEPS, return madvise(a->text, 2 * PAGE, MADV_COLD));
EVENT(madvise_pageout, KEEPS,
	return madvise(a->text, 2 * PAGE, MADV_PAGEOUT));
EVENT(madvise_willneed, KEEPS,
	return madvise(a->text, 2 * PAGE, MADV_WILLNEED));
EVENT(madvise_populate, KEEPS,
	return madvise(a->text, 2 * PAGE, MADV_POPULATE_READ));
EVENT(madvise_dontfork, KEEPS,
	return madvise(a->text, 2 * PAGE, MADV_DONTFORK));
EVENT(madvise_hugepage, KEEPS,
	return madvise(a->mem, AREA_PAGES * PAGE, MADV_HUGEPAGE));
EVENT(mlock, KEEPS, return mlock(a->text, 2 * PAGE));

EVENT(mmap_over_all, MAPS_OVER, return fixed(a->text, 2, RX));
EVENT(mmap_over_part, MAPS_OVER, return fixed(a->text + PAGE, 1, RX));
EVENT(mmap_over_around, MAPS_OVER, return fixed(a->mem, AREA_PAGES, RX));
EVENT(mmap_over_as_data, MAPS_OVER,
	return fixed(a->text, 2, PROT_READ | PROT_WRITE));
EVENT(mmap_over_then_munmap, DROPS,
	return fixed(a->text, 2, RX) ?: munmap(a->text, PAGE));
EVENT(munmap_then_mmap, DROPS,
	return munmap(a->text, PAGE) ?: fixed(a->text, 1, RX));

EVENT(mremap_onto_all, MAPS_OVER,
	return move(a->other, 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, a->text));
EVENT(mremap_onto_part, MAPS_OVER,
	return move(a->other, 1, 1, MREMAP_MAYMOVE | MREMAP_FIXED,
		  a->text + PAGE));
EVENT(mremap_onto_around, MAPS_OVER,
	return move(a->other, AREA_PAGES, AREA_PAGES,
		  MREMAP_MAYMOVE | MREMAP_FIXED, a->mem));
EVENT(mremap_growing_onto, MAPS_OVER,
	return move(a->other, 1, 2, MREMAP_MAYMOVE | MREMAP_FIXED, a->text));
EVENT(mremap_shrinking_onto, MAPS_OVER,
	return move(a->other, 4, 2, MREMAP_MAYMOVE | MREMAP_FIXED, a->text));
EVENT(mremap_dontunmap_onto, MAPS_OVER,
	return move(a->other, 2, 2,
		  MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, a->text));

EVENT(mremap_away, DROPS,
	return move(a->text, 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED, a->other));
EVENT(mremap_part_away, DROPS,
	return move(a->text + PAGE, 1, 1, MREMAP_MAYMOVE | MREMAP_FIXED,
		  a->other));
EVENT(mremap_around_away, DROPS,
	return move(a->mem, AREA_PAGES, AREA_PAGES,
		  MREMAP_MAYMOVE | MREMAP_FIXED, a->other));
EVENT(mremap_neighbour_away, KEEPS,
	return move(a->text - PAGE, 1, 1, MREMAP_MAYMOVE | MREMAP_FIXED,
		  a->other));
EVENT(mremap_dontunmap, DROPS,
	return move(a->text, 2, 2, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL));
EVENT(mremap_dontunmap_fixed, DROPS,
	return move(a->text, 2, 2,
		  MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, a->other));
EVENT(mremap_grow_by_moving, DROPS, return move(a->text, 2, 64, MREMAP_MAYMOVE, NULL));
EVENT(mremap_grow_in_place, KEEPS,
	return munmap(a->text + 2 * PAGE, PAGE) ?:
	     move(a->text, 2, 3, 0, NULL));
/* Of shared memory: its owner has it writable elsewhere. */
static int alias(uint8_t *text, size_t pages)
{
	void *p = mmap(text, pages * PAGE, RX, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED,
		       -1, 0);

	return p == text ? move(text, 0, pages, MREMAP_MAYMOVE, NULL) : -1;
}

EVENT(mremap_alias, MAPS_OVER, return alias(a->text, 2));
EVENT(mremap_alias_of_part, MAPS_OVER, return alias(a->text + PAGE, 1));
EVENT(mremap_shrink_into_text, DROPS, return move(a->text, 2, 1, 0, NULL));
EVENT(mremap_shrink_beside_text, KEEPS,
	return move(a->mem, AREA_PAGES, TEXT_PAGE + TEXT_PAGES, 0, NULL));

static void check_event(struct __test_metadata *_metadata,
			FIXTURE_DATA(life) * self,
			const FIXTURE_VARIANT(life) * variant, bool is_elf)
{
	struct area *a = &self->area;

	ASSERT_EQ(0, variant->event(a)) {
		TH_LOG("the event did not take place: %s", strerror(errno));
	}
	if (variant->what != DROPS) {
		ASSERT_EQ(0, mprotect(a->text, TEXT_PAGES * PAGE, RX));
		EXPECT_EQ(-EEXIST, area_register_jit(a));
		EXPECT_EQ(is_elf && variant->what == MAPS_OVER ? 0 : -EEXIST,
			  area_register_elf(a));
		EXPECT_EQ(-EEXIST, area_register_elf(a));
	}
	EXPECT_EQ(variant->what != DROPS, area_is_registered(a));
	/* Nothing of it is left, not even a part. */
	ASSERT_EQ(0, fixed(self->area.mem, AREA_PAGES, RX));
	EXPECT_EQ(0, register_text(addr_of(self->area.mem),
				   addr_of(self->area.mem) + AREA_PAGES * PAGE,
				   NULL, 0));
}

TEST_F(life, event)
{
	ASSERT_EQ(0, area_register_elf(&self->area));
	check_event(_metadata, self, variant, true);
}

TEST_F(life, event_for_compiled_code)
{
	ASSERT_EQ(0, area_register_jit(&self->area));
	check_event(_metadata, self, variant, false);
}

FIXTURE(over)
{
	struct area area;
	uint64_t text;
};

FIXTURE_SETUP(over)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, area_map(&self->area));
	self->text = addr_of(self->area.text);
	ASSERT_EQ(0, area_register_elf(&self->area));
}

FIXTURE_TEARDOWN(over)
{
}

/* One that is larger or smaller, and one that overlaps another as well. */
TEST_F(over, by_another_range)
{
	uint64_t text = self->text;

	ASSERT_EQ(0, register_elf_text(text + 2 * PAGE, text + 3 * PAGE));
	ASSERT_EQ(0, fixed(self->area.text, 1, RX));
	EXPECT_EQ(-EEXIST, register_elf_text(text, text + 3 * PAGE));
	EXPECT_EQ(-EEXIST, register_jit_text(text, text + PAGE));
	EXPECT_EQ(0, register_elf_text(text - PAGE, text + 1));
	EXPECT_EQ(-ENOENT, unregister_text(text, text + 2 * PAGE));
	EXPECT_EQ(0, register_elf_text(text + 1, text + 2 * PAGE));
	EXPECT_EQ(0, unregister_text(text - PAGE, text + 1));
	EXPECT_EQ(0, unregister_text(text + 2 * PAGE, text + 3 * PAGE));
	/* All at once */
	ASSERT_EQ(0, register_elf_text(text, text + 1));
	ASSERT_EQ(0, fixed(self->area.mem, AREA_PAGES, RX));
	EXPECT_EQ(0, register_elf_text(text - PAGE, text + 3 * PAGE));
	EXPECT_EQ(0, unregister_text(text - PAGE, text + 3 * PAGE));
	EXPECT_FALSE(text_is_registered(text));
}

/* Mappings of a child do not affect its parent. */
TEST_F(over, in_one_process)
{
	uint64_t text = self->text;
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(fixed(self->area.text, 1, RX) ||
		      register_elf_text(text, text + PAGE));
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(-EEXIST, area_register_elf(&self->area));

	ASSERT_EQ(0, fixed(self->area.text, 1, RX));
	pid = fork();
	if (!pid)
		_exit(register_elf_text(text, text + PAGE));
	ASSERT_LT(0, pid);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, area_register_elf(&self->area));
	EXPECT_TRUE(area_is_registered(&self->area));
}

FIXTURE(gap)
{
	struct area area;
};

FIXTURE_VARIANT(gap)
{
	int (*reg)(struct area *a);
};

FIXTURE_VARIANT_ADD(gap, elf) { .reg = area_register_elf };
FIXTURE_VARIANT_ADD(gap, jit) { .reg = area_register_jit };

FIXTURE_SETUP(gap)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, area_map(&self->area));
	ASSERT_EQ(0, variant->reg(&self->area));
}

FIXTURE_TEARDOWN(gap)
{
}

/* A mapping that fails after what it was to replace is gone. */
TEST_F(gap, failed_mmap)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.size = sizeof(attr),
	};
	struct area *a = &self->area;
	int fd = syscall(__NR_perf_event_open, &attr, 0, -1, -1, 0);

	ASSERT_LE(0, fd);
	/* Private mappings are refused by the file's own mmap operation. */
	ASSERT_EQ(MAP_FAILED, mmap(a->text, 2 * PAGE, PROT_READ,
				   MAP_PRIVATE | MAP_FIXED, fd, 0));
	TH_LOG("the text is %s", is_mapped(a->text) ? "still mapped" : "gone");
	EXPECT_EQ(is_mapped(a->text), area_is_registered(a));
	EXPECT_FALSE(is_mapped(a->text)) {
		TH_LOG("no gap was left: this proves nothing");
	}
}

/* The target is unmapped before the limit is checked. */
TEST_F(gap, failed_mremap)
{
	struct area *a = &self->area;
	struct rlimit limit;
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	ASSERT_NE(NULL, f);
	ASSERT_EQ(1, fscanf(f, "%ld", &pages));
	fclose(f);
	/* All of the target but the text is a hole: less goes than comes. */
	ASSERT_EQ(0, munmap(a->mem, TEXT_PAGE * PAGE));
	ASSERT_EQ(0, munmap(a->text + 2 * PAGE, 4 * PAGE));
	limit.rlim_cur = (pages - 8) * PAGE;
	limit.rlim_max = RLIM_INFINITY;
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	ASSERT_EQ(-1, move(a->other, AREA_PAGES, AREA_PAGES,
			   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP,
			   a->mem));
	limit.rlim_cur = RLIM_INFINITY;
	ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
	EXPECT_EQ(is_mapped(a->text), area_is_registered(a));
	EXPECT_FALSE(is_mapped(a->text)) {
		TH_LOG("no gap was left: this proves nothing");
	}
}

/* A call that is refused changes nothing. */
TEST_F(gap, refused_calls)
{
	struct area *a = &self->area;

	EXPECT_EQ(-1, munmap(a->text + 1, PAGE));
	EXPECT_EQ(-1, move(a->text, 2, 64, 0, NULL));
	EXPECT_EQ(-1, move(a->text, 2, 2, MREMAP_FIXED, a->other));
	EXPECT_EQ(-1, move(a->text, 2, 2, MREMAP_MAYMOVE | MREMAP_FIXED,
			   a->text + PAGE));
	EXPECT_EQ(MAP_FAILED, mmap(a->text, 2 * PAGE, PROT_READ,
				   MAP_PRIVATE | MAP_FIXED, -1, 0));
	EXPECT_EQ(MAP_FAILED, mmap(a->text, 2 * PAGE, PROT_READ,
				   MAP_PRIVATE | MAP_ANONYMOUS |
				   MAP_FIXED_NOREPLACE, -1, 0));
	EXPECT_TRUE(area_is_registered(a));
}

TEST(heap_shrinks)
{
	uint64_t heap;

	REQUIRE_CODECTL();
	heap = (addr_of(sbrk(0)) + PAGE - 1) & -PAGE;
	ASSERT_EQ(0, brk((void *)(heap + 4 * PAGE)));
	ASSERT_EQ(0, mprotect((void *)heap, 4 * PAGE,
			      RX | PROT_WRITE));
	ASSERT_EQ(0, register_text(heap, heap + PAGE, NULL, 0));
	ASSERT_EQ(0, register_text(heap + 2 * PAGE, heap + 4 * PAGE, NULL, 0));
	ASSERT_EQ(0, brk((void *)(heap + 5 * PAGE)));
	EXPECT_TRUE(text_is_registered(heap + 3 * PAGE));
	ASSERT_EQ(0, brk((void *)(heap + 3 * PAGE)));
	EXPECT_EQ(-ENOENT, unregister_text(heap + 2 * PAGE, heap + 4 * PAGE));
	EXPECT_FALSE(text_is_registered(heap + 2 * PAGE));
	EXPECT_EQ(0, unregister_text(heap, heap + PAGE));
}

FIXTURE(shm)
{
	int id;
	int other;
	uint8_t *mem;
};

FIXTURE_SETUP(shm)
{
	REQUIRE_CODECTL();
	self->id = shmget(IPC_PRIVATE, 2 * PAGE, 0700);
	self->other = shmget(IPC_PRIVATE, 2 * PAGE, 0700);
	ASSERT_LE(0, self->id);
	ASSERT_LE(0, self->other);
	self->mem = shmat(self->id, NULL, SHM_EXEC);
	ASSERT_NE((void *)-1, self->mem);
	ASSERT_EQ(0, register_text(addr_of(self->mem),
				   addr_of(self->mem) + 2 * PAGE, NULL, 0));
}

FIXTURE_TEARDOWN(shm)
{
	shmctl(self->id, IPC_RMID, NULL);
	shmctl(self->other, IPC_RMID, NULL);
}

TEST_F(shm, detached)
{
	ASSERT_EQ(0, shmdt(self->mem));
	EXPECT_EQ(-ENOENT, unregister_text(addr_of(self->mem),
					   addr_of(self->mem) + 2 * PAGE));
}

TEST_F(shm, remapped)
{
	ASSERT_EQ(self->mem, shmat(self->other, self->mem,
				   SHM_EXEC | SHM_REMAP));
	EXPECT_EQ(0, unregister_text(addr_of(self->mem),
				     addr_of(self->mem) + 2 * PAGE));
}

/*
 * How code is committed into a reservation, page by page: what replaces it has
 * another protection or another file.
 */
TEST(reservation_that_is_committed)
{
	const uint64_t size = CODE_JIT_MAX_TEXT;
	uint8_t *mem;
	uint64_t at;

	REQUIRE_CODECTL();
	mem = mmap(NULL, size, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT_NE(MAP_FAILED, mem);
	at = addr_of(mem);
	ASSERT_EQ(0, register_jit_text(at, at + size));
	ASSERT_EQ(0, mprotect(mem, PAGE, RX | PROT_WRITE));
	ASSERT_EQ(0, mprotect(mem + size - PAGE, PAGE, RX));
	ASSERT_EQ(0, fixed(mem + size / 2, 16, RX));
	ASSERT_EQ(0, fixed(mem + size / 2 + 4 * PAGE, 1, PROT_NONE));
	ASSERT_EQ(mem + PAGE, mmap(mem + PAGE, PAGE, RX, MAP_SHARED | MAP_FIXED,
				   memfd_create("code", 0), 0));
	EXPECT_TRUE(text_is_registered(at));
	EXPECT_TRUE(text_is_registered(at + size - PAGE));
	EXPECT_EQ(0, unregister_text(at, at + size));
	ASSERT_EQ(0, register_jit_text(at, at + size));
	/* One page out of a million is enough. */
	ASSERT_EQ(0, munmap(mem + size - 5 * PAGE, PAGE));
	EXPECT_EQ(-ENOENT, unregister_text(at, at + size));
	EXPECT_FALSE(text_is_registered(at));
	munmap(mem, size);
}

TEST_HARNESS_MAIN
