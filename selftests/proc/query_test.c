// SPDX-License-Identifier: GPL-2.0
/* CODE_QUERY: its fields, its versions and its errors. */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"

#define OFFSET(field, at)						\
	_Static_assert(offsetof(struct code_query, field) == (at),	\
		       "offset of " #field)

OFFSET(size, 0);
OFFSET(query_flags, 8);
OFFSET(query_addr, 16);
OFFSET(text_start, 24);
OFFSET(text_end, 32);
OFFSET(elf_start, 40);
OFFSET(elf_end, 48);
OFFSET(sframe_start, 56);
OFFSET(sframe_end, 64);
OFFSET(unwind_head, 72);
OFFSET(seq, 80);
OFFSET(slots, 88);
OFFSET(pool, 96);
OFFSET(pool_len, 104);
OFFSET(kind, 112);
OFFSET(jit_flags, 116);
OFFSET(cfa_off, 120);
OFFSET(ra_off, 124);
OFFSET(fp_off, 128);
OFFSET(info, 132);
OFFSET(granule_shift, 133);
OFFSET(__reserved, 134);
OFFSET(id, 136);
OFFSET(file_id, 144);
OFFSET(inode, 152);
OFFSET(dev_major, 160);
OFFSET(dev_minor, 164);
OFFSET(file_offset, 168);
OFFSET(names, 176);
OFFSET(debug_link_crc, 180);
OFFSET(path_size, 184);
OFFSET(build_id_size, 188);
OFFSET(debug_link_size, 192);
OFFSET(__reserved2, 196);
OFFSET(path_addr, 200);
OFFSET(build_id_addr, 208);
OFFSET(debug_link_addr, 216);
_Static_assert(sizeof(struct code_query) == CODE_QUERY_SIZE_VER0, "size");
_Static_assert(CODE_QUERY == 0xc0e06612, "number of the ioctl");

/* Eight pages of anonymous text: the third and fourth, and the sixth. */
FIXTURE(query)
{
	uint8_t *mem;
	uint64_t start;
	uint64_t end;
	uint64_t next;
	struct code_query q;
	int fd;
};

FIXTURE_SETUP(query)
{
	REQUIRE_CODECTL();
	self->mem = map_pages(8, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->start = addr_of(self->mem) + 2 * PAGE;
	self->end = self->start + 2 * PAGE;
	self->next = self->end + PAGE;
	ASSERT_EQ(0, register_elf_text(self->start, self->end));
	ASSERT_EQ(0, register_jit_text(self->next, self->next + PAGE));
	self->fd = proc_open(0);
	ASSERT_LE(0, self->fd);
	self->q = (struct code_query) {
		.size = sizeof(self->q),
		.query_addr = self->start,
	};
}

FIXTURE_TEARDOWN(query)
{
	close(self->fd);
	munmap(self->mem, 8 * PAGE);
}

static int query_at(FIXTURE_DATA(query) * self, uint64_t addr, uint64_t flags)
{
	self->q = (struct code_query) {
		.size = sizeof(self->q),
		.query_addr = addr,
		.query_flags = flags,
	};
	return code_query(self->fd, &self->q);
}

TEST_F(query, covering)
{
	const uint64_t in[] = { self->start, self->start + 1, self->end - PAGE,
				self->end - 1 };
	const uint64_t out[] = { 0, self->start - 1, self->end, self->next - 1,
				 USER_END, KERNEL_ADDR, -1UL };

	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		EXPECT_EQ(0, query_at(self, in[i], 0));
		EXPECT_EQ(self->start, self->q.text_start);
		EXPECT_EQ(self->end, self->q.text_end);
	}
	for (size_t i = 0; i < ARRAY_SIZE(out); i++) {
		EXPECT_EQ(-ENOENT, query_at(self, out[i], 0))
			TH_LOG("at %lx", out[i]);
	}
	EXPECT_EQ(0, query_at(self, self->next, 0));
	EXPECT_EQ(self->next, self->q.text_start);
}

TEST_F(query, covering_or_next)
{
	EXPECT_EQ(0, query_at(self, self->end - 1, CODE_QUERY_OR_NEXT));
	EXPECT_EQ(self->start, self->q.text_start);
	EXPECT_EQ(0, query_at(self, self->end, CODE_QUERY_OR_NEXT));
	EXPECT_EQ(self->next, self->q.text_start);
	EXPECT_EQ(0, query_at(self, self->start - 1, CODE_QUERY_OR_NEXT));
	EXPECT_EQ(self->start, self->q.text_start);
	EXPECT_EQ(0, query_at(self, 0, CODE_QUERY_OR_NEXT));
	EXPECT_EQ(-ENOENT, query_at(self, USER_END, CODE_QUERY_OR_NEXT));
	EXPECT_EQ(-ENOENT, query_at(self, KERNEL_ADDR, CODE_QUERY_OR_NEXT));
	EXPECT_EQ(-ENOENT, query_at(self, -1UL, CODE_QUERY_OR_NEXT));
}

/* The query gives what the file has line by line. */
TEST_F(query, walks_as_the_file_does)
{
	struct proc_line line;
	uint64_t addr = 0;
	char *all;
	int nr = 0;

	all = proc_read(self->fd, NULL);
	ASSERT_NE(NULL, all);
	for (; !query_at(self, addr, CODE_QUERY_OR_NEXT | CODE_QUERY_FILE);
	     addr = self->q.text_end, nr++) {
		ASSERT_TRUE(proc_find(all, self->q.text_start, &line));
		EXPECT_EQ(line.q.text_end, self->q.text_end);
		EXPECT_EQ(line.q.elf_start, self->q.elf_start);
		EXPECT_EQ(line.q.elf_end, self->q.elf_end);
		EXPECT_EQ(line.q.sframe_start, self->q.sframe_start);
		EXPECT_EQ(line.q.sframe_end, self->q.sframe_end);
		EXPECT_EQ(line.q.kind, self->q.kind);
		EXPECT_EQ(line.q.id, self->q.id);
		EXPECT_EQ(line.q.file_id, self->q.file_id);
		EXPECT_EQ(line.q.inode, self->q.inode);
		EXPECT_EQ(line.q.dev_major, self->q.dev_major);
		EXPECT_EQ(line.q.dev_minor, self->q.dev_minor);
		EXPECT_EQ(line.q.file_offset, self->q.file_offset);
		EXPECT_EQ(line.q.names, self->q.names);
	}
	EXPECT_EQ(proc_check(all), nr);
	EXPECT_LE(4, nr);
	free(all);
}

TEST_F(query, fields_of_an_object)
{
	struct code_elf_info info = {
		.elf_start = 0x1000,
		.elf_end = USER_END,
		.text_start = self->start,
		.text_end = self->end,
	};
	uint64_t before = 0;

	EXPECT_EQ(0, query_at(self, self->start, 0));
	EXPECT_EQ(CODE_REGISTER_ELF, self->q.kind);
	EXPECT_EQ(self->start, self->q.elf_start);
	EXPECT_EQ(self->end, self->q.elf_end);
	EXPECT_EQ(0, self->q.sframe_start);
	EXPECT_EQ(0, self->q.sframe_end);
	EXPECT_EQ(0, self->q.unwind_head);
	EXPECT_EQ(0, self->q.seq);
	EXPECT_EQ(0, self->q.jit_flags);
	EXPECT_EQ(0, self->q.info);
	EXPECT_LT(0, self->q.id);
	before = self->q.id;
	ASSERT_EQ(0, unregister_text(self->start, self->end));
	EXPECT_EQ(-ENOENT, query_at(self, self->start, 0));
	ASSERT_EQ(0, register_elf(&info));
	EXPECT_EQ(0, query_at(self, self->start, 0));
	EXPECT_EQ(info.elf_start, self->q.elf_start);
	EXPECT_EQ(info.elf_end, self->q.elf_end);
	EXPECT_LT(before, self->q.id);
}

TEST_F(query, fields_of_a_section)
{
	struct stub stub;

	ASSERT_EQ(0, stub_map(&stub, 1));
	stub_table(&stub);
	ASSERT_EQ(0, stub_register(&stub));
	EXPECT_EQ(0, query_at(self, addr_of(stub.text), 0));
	EXPECT_EQ(addr_of(stub.table), self->q.sframe_start);
	EXPECT_EQ(addr_of(stub.table) + stub.table_size, self->q.sframe_end);
	stub_unmap(&stub);
	EXPECT_EQ(-ENOENT, query_at(self, addr_of(stub.text), 0));
}

TEST_F(query, fields_of_compiled_code)
{
	uint64_t at = self->end;
	struct code_jit_info info = {
		.text_start = at,
		.text_end = at + 77,
		.unwind_head = at + 8,
		.jit_flags = CODE_JIT_DEFAULT_RULE | CODE_JIT_CALLSITE,
		.seq = at + 4,
		.cfa_off = INT32_MIN,
		.ra_off = -8,
		.fp_off = INT32_MAX,
		.info = CODE_FRE_BASE_SP | CODE_FRE_FP_UNDEF,
	};

	ASSERT_EQ(0, register_jit(&info));
	EXPECT_EQ(0, query_at(self, at + 76, 0));
	EXPECT_EQ(CODE_REGISTER_JIT, self->q.kind);
	EXPECT_EQ(at, self->q.text_start);
	EXPECT_EQ(at + 77, self->q.text_end);
	EXPECT_EQ(0, self->q.elf_start);
	EXPECT_EQ(0, self->q.elf_end);
	EXPECT_EQ(0, self->q.sframe_start);
	EXPECT_EQ(0, self->q.sframe_end);
	EXPECT_EQ(info.unwind_head, self->q.unwind_head);
	EXPECT_EQ(info.seq, self->q.seq);
	EXPECT_EQ(info.jit_flags, self->q.jit_flags);
	EXPECT_EQ(info.cfa_off, self->q.cfa_off);
	EXPECT_EQ(info.ra_off, self->q.ra_off);
	EXPECT_EQ(info.fp_off, self->q.fp_off);
	EXPECT_EQ(info.info, self->q.info);
	EXPECT_EQ(-ENOENT, query_at(self, at + 77, 0));
}

/* Old contents are not left to be mistaken for an answer. */
TEST_F(query, writes_every_field_and_nothing_else)
{
	struct code_query left[2], want;

	EXPECT_EQ(0, query_at(self, self->start, 0));
	want = self->q;
	memset(left, 0xa5, sizeof(left));
	left[0].size = sizeof(left[0]);
	left[0].query_flags = 0;
	left[0].query_addr = self->start;
	memset(left[0].__reserved, 0, sizeof(left[0].__reserved));
	memset(&left[0].path_size, 0, sizeof(left[0]) -
	       offsetof(struct code_query, path_size));
	EXPECT_EQ(0, code_query(self->fd, left));
	EXPECT_EQ(0, memcmp(left, &want, sizeof(want)));
	for (size_t i = 0; i < sizeof(left[1]); i++)
		EXPECT_EQ(0xa5, ((uint8_t *)&left[1])[i]);
}

/* Nothing about a file is returned unless requested. */
TEST_F(query, files_are_for_who_asks)
{
	uint64_t start, end;

	ASSERT_EQ(0, text_segment_of(printf, &start, &end));
	EXPECT_EQ(0, query_at(self, addr_of(printf), 0));
	EXPECT_EQ(start, self->q.text_start);
	EXPECT_EQ(CODE_NAMES_NONE, self->q.names);
	EXPECT_EQ(0, self->q.file_id);
	EXPECT_EQ(0, self->q.inode);
	EXPECT_EQ(0, query_at(self, addr_of(printf), CODE_QUERY_FILE));
	EXPECT_EQ(CODE_NAMES_VERIFIED, self->q.names);
	EXPECT_LT(0, self->q.file_id);
	EXPECT_LT(0, self->q.inode);
	EXPECT_EQ(0, self->q.path_size);
	EXPECT_EQ(0, self->q.build_id_size);
	EXPECT_EQ(0, query_at(self, self->start, CODE_QUERY_FILE));
	EXPECT_EQ(CODE_NAMES_NONE, self->q.names);
	EXPECT_EQ(0, self->q.file_id);
}

TEST_F(query, unknown_flags)
{
	for (int bit = 0; bit < 64; bit++) {
		bool known = 1UL << bit &
			     (CODE_QUERY_OR_NEXT | CODE_QUERY_FILE |
			      CODE_QUERY_WAIT);

		EXPECT_EQ(known ? 0 : -EINVAL,
			  query_at(self, self->start, 1UL << bit))
			TH_LOG("bit %d", bit);
	}
}

TEST_F(query, reserved_must_be_zero)
{
	for (int i = 0; i < 6; i++) {
		struct code_query q = self->q;

		if (i < 2)
			q.__reserved[i] = 1;
		else
			q.__reserved2 = 1U << 8 * (i - 2);
		EXPECT_EQ(-EINVAL, code_query(self->fd, &q));
	}
}

TEST_F(query, buffers_and_sizes_come_together)
{
	__u64 *const addrs[] = { &self->q.path_addr, &self->q.build_id_addr,
				 &self->q.debug_link_addr };
	__u32 *const sizes[] = { &self->q.path_size, &self->q.build_id_size,
				 &self->q.debug_link_size };
	char buf[PATH_MAX];

	for (int i = 0; i < 3; i++) {
		*addrs[i] = addr_of(buf);
		EXPECT_EQ(-EINVAL, code_query(self->fd, &self->q));
		*addrs[i] = 0;
		*sizes[i] = sizeof(buf);
		EXPECT_EQ(-EINVAL, code_query(self->fd, &self->q));
		*addrs[i] = addr_of(buf);
		EXPECT_EQ(0, code_query(self->fd, &self->q));
		EXPECT_EQ(0, *sizes[i]);
		*addrs[i] = 0;
	}
}

/* As copy_struct_from_user() promises, but that VER0 is all that is known. */
TEST_F(query, struct_argument_sizes)
{
	const size_t known = sizeof(self->q);
	const struct {
		uint64_t size;
		int dirty;	/* which byte after the structure */
		int err;
	} tests[] = {
		{ 0, -1, -EINVAL },
		{ 8, -1, -EINVAL },
		{ 24, -1, -EINVAL },
		{ CODE_QUERY_SIZE_VER0 - 1, -1, -EINVAL },
		{ CODE_QUERY_SIZE_VER0, 0, 0 },
		{ known + 1, -1, 0 },
		{ known + 1, 0, -E2BIG },
		{ known + 1, 1, 0 },
		{ known + 64, -1, 0 },
		{ known + 64, 63, -E2BIG },
		{ PAGE, -1, 0 },
		{ PAGE, PAGE - CODE_QUERY_SIZE_VER0 - 1, -E2BIG },
		{ PAGE + 1, -1, -E2BIG },
		{ 1UL << 32, -1, -E2BIG },
		{ (1UL << 32) + CODE_QUERY_SIZE_VER0, -1, -E2BIG },
		{ -1UL, -1, -E2BIG },
	};
	uint8_t *mem = calloc(1, 3 * PAGE);

	ASSERT_NE(NULL, mem);
	for (size_t i = 0; i < ARRAY_SIZE(tests) * 9; i++) {
		size_t t = i / 9;
		uint8_t *at = mem + i % 9;

		memset(mem, 0, 3 * PAGE);
		self->q.size = tests[t].size;
		memcpy(at, &self->q, known);
		if (tests[t].dirty >= 0)
			at[known + tests[t].dirty] = 0xde;
		EXPECT_EQ(tests[t].err, code_query(self->fd, (void *)at))
			TH_LOG("size %lu, misaligned by %zu", tests[t].size,
			       i % 9);
		if (!tests[t].err) {
			struct code_query q;

			memcpy(&q, at, known);
			EXPECT_EQ(self->end, q.text_end);
			EXPECT_EQ(tests[t].size, q.size);
		}
	}
	free(mem);
}

TEST_F(query, struct_that_cannot_be_accessed)
{
	uint8_t *gap = map_pages(2, PROT_READ | PROT_WRITE);
	const void *bad[] = {
		NULL, (void *)1, gap + PAGE, gap + PAGE - 8,
		gap + PAGE - sizeof(self->q) + 1, (void *)(USER_END - 8),
		(void *)USER_END, (void *)KERNEL_ADDR, (void *)-8UL,
	};
	struct code_query *last = (void *)(gap + PAGE - sizeof(self->q));

	ASSERT_NE(NULL, gap);
	ASSERT_EQ(0, munmap(gap + PAGE, PAGE));
	memset(gap, 0, PAGE);
	*last = self->q;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (bad[i] > (void *)gap && bad[i] < (void *)(gap + PAGE))
			memcpy((void *)bad[i], &self->q, 8);
		EXPECT_EQ(-EFAULT, code_query(self->fd, (void *)bad[i]))
			TH_LOG("at %p", bad[i]);
	}
	*last = self->q;
	EXPECT_EQ(0, code_query(self->fd, last));
	*last = self->q;
	ASSERT_EQ(0, mprotect(gap, PAGE, PROT_READ));
	EXPECT_EQ(-EFAULT, code_query(self->fd, last));
	munmap(gap, PAGE);
}

/* Claims of any length, so that the size of every buffer can be tried. */
static void register_claims(struct __test_metadata *_metadata,
			    FIXTURE_DATA(query) * self, const uint8_t id[20])
{
	const struct code_elf_info info = {
		.elf_start = self->start,
		.elf_end = self->end,
		.text_start = self->start,
		.text_end = self->end,
		.pathname = addr_of("/a/claim"),
		.build_id = addr_of(id),
		.build_id_len = 20,
		.debug_link_pathname = addr_of("a.debug"),
		.debug_link_crc = 0xfedcba98,
	};

	ASSERT_EQ(0, unregister_text(self->start, self->end));
	ASSERT_EQ(0, register_elf(&info));
}

TEST_F(query, claims)
{
	uint8_t id[20];
	struct proc_line l;

	elf_build_id(7, id);
	register_claims(_metadata, self, id);
	EXPECT_EQ(0, code_query_all(self->fd, self->start, &l));
	EXPECT_EQ(CODE_NAMES_CLAIMED, l.q.names);
	EXPECT_STREQ("/a/claim", l.path);
	EXPECT_EQ(sizeof("/a/claim"), l.q.path_size);
	EXPECT_EQ(20, l.q.build_id_size);
	EXPECT_EQ(0, memcmp(id, l.build_id, 20));
	EXPECT_STREQ("a.debug", l.debug_link);
	EXPECT_EQ(sizeof("a.debug"), l.q.debug_link_size);
	EXPECT_EQ(0xfedcba98, l.q.debug_link_crc);
	EXPECT_EQ(0, l.q.file_id);
	EXPECT_EQ(0, l.q.inode);
}

TEST_F(query, buffers_of_every_size)
{
	__u64 *const addrs[] = { &self->q.path_addr, &self->q.build_id_addr,
				 &self->q.debug_link_addr };
	__u32 *const sizes[] = { &self->q.path_size, &self->q.build_id_size,
				 &self->q.debug_link_size };
	const uint32_t used[] = { sizeof("/a/claim"), 20, sizeof("a.debug") };
	const struct code_query q = self->q;
	uint8_t id[20], buf[64];

	elf_build_id(7, id);
	register_claims(_metadata, self, id);
	for (int i = 0; i < 3 * 32; i++) {
		uint32_t size = i % 32 + 1;
		int which = i / 32;

		self->q = q;
		*addrs[which] = addr_of(buf);
		*sizes[which] = size;
		memset(buf, 0xa5, sizeof(buf));
		EXPECT_EQ(size < used[which] ? -ENAMETOOLONG : 0,
			  code_query(self->fd, &self->q))
			TH_LOG("buffer %d of %u bytes", which, size);
		if (size >= used[which])
			EXPECT_EQ(used[which], *sizes[which]);
		for (size_t b = size < used[which] ? size : used[which];
		     b < sizeof(buf); b++)
			EXPECT_EQ(0xa5, buf[b]);
	}
}

TEST_F(query, paths_of_files_in_buffers_of_every_size)
{
	char want[PATH_MAX], path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", want, sizeof(want) - 1);

	ASSERT_LT(0, len);
	for (uint32_t size = 1; size < len + 40; size++) {
		struct code_query q = {
			.size = sizeof(q),
			.query_addr = addr_of(register_claims),
			.path_addr = addr_of(path),
			.path_size = size,
		};

		memset(path, 0xa5, sizeof(path));
		EXPECT_EQ(size <= len ? -ENAMETOOLONG : 0,
			  code_query(self->fd, &q));
		if (size > len)
			EXPECT_EQ(0, strncmp(want, path, len));
		EXPECT_EQ(0xa5, (uint8_t)path[size]);
	}
}

TEST_F(query, buffers_that_cannot_be_written)
{
	__u64 *const addrs[] = { &self->q.path_addr, &self->q.build_id_addr,
				 &self->q.debug_link_addr };
	__u32 *const sizes[] = { &self->q.path_size, &self->q.build_id_size,
				 &self->q.debug_link_size };
	uint8_t *ro = map_pages(1, PROT_READ), id[20] = { 1 };
	const uint64_t bad[] = { 8, addr_of(ro), USER_END, KERNEL_ADDR, -8UL };
	const struct code_query q = self->q;

	register_claims(_metadata, self, id);
	for (size_t i = 0; i < 3 * ARRAY_SIZE(bad); i++) {
		int which = i / ARRAY_SIZE(bad);

		self->q = q;
		*addrs[which] = bad[i % ARRAY_SIZE(bad)];
		*sizes[which] = PATH_MAX;
		EXPECT_EQ(-EFAULT, code_query(self->fd, &self->q));
	}
}

TEST_F(query, other_ioctls)
{
	struct procmap_query maps = { .size = sizeof(maps) };

	EXPECT_EQ(-1, ioctl(self->fd, PROCMAP_QUERY, &maps));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, CODE_QUERY + 1, &self->q));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(self->fd, _IOWR('g', 18, struct code_query), &self->q));
	EXPECT_EQ(ENOTTY, errno);
}

/* A query of a later header, whose number contains another size. */
struct later_query {
	struct code_query q;
	__u64 more[9];
};

static int later_query(FIXTURE_DATA(query) * self, struct later_query *q)
{
	q->q = self->q;
	q->q.size = sizeof(*q);

	return ioctl(self->fd, _IOWR('f', 18, struct later_query), q) ?
	       -errno : 0;
}

TEST_F(query, of_a_later_header)
{
	struct later_query q = {};

	EXPECT_EQ(0, later_query(self, &q));
	EXPECT_EQ(self->end, q.q.text_end);
	EXPECT_EQ(sizeof(q), q.q.size);
	for (size_t i = 0; i < ARRAY_SIZE(q.more); i++) {
		EXPECT_EQ(0, q.more[i]);
		q.more[i] = 1UL << 63;
		EXPECT_EQ(-E2BIG, later_query(self, &q));
		q.more[i] = 0;
	}
}

/* The size in the number is ignored: the field counts. */
TEST_F(query, of_any_size_in_its_number)
{
	const unsigned int numbers[] = {
		_IO('f', 18), _IOR('f', 18, __u8), _IOW('f', 18, __u64[3]),
		_IOWR('f', 18, __u8[CODE_QUERY_SIZE_VER0 - 1]),
		_IOWR('f', 18, __u8[_IOC_SIZEMASK]),
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		self->q.text_end = 0;
		EXPECT_EQ(0, ioctl(self->fd, numbers[i], &self->q));
		EXPECT_EQ(self->end, self->q.text_end);
		self->q.size = CODE_QUERY_SIZE_VER0 - 1;
		EXPECT_EQ(-1, ioctl(self->fd, numbers[i], &self->q));
		EXPECT_EQ(EINVAL, errno);
		self->q.size = sizeof(self->q);
	}
}

TEST_F(query, by_a_thread)
{
	int fd = open("/proc/thread-self/codectl", O_RDONLY);

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, code_query(fd, &self->q));
	EXPECT_EQ(self->end, self->q.text_end);
	close(fd);
}

/* The structure is the same for programs of 32 bits. */
TEST_F(query, by_the_32_bit_entry)
{
	struct code_query *q = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT,
				    -1, 0);
	long ret = 54;	/* ioctl() there */

	ASSERT_NE(MAP_FAILED, q);
	*q = self->q;
	asm volatile("int $0x80"
		     : "+a"(ret)
		     : "b"(self->fd), "c"(CODE_QUERY), "d"(q)
		     : "r8", "r9", "r10", "r11", "memory");
	EXPECT_EQ(0, (int)ret);
	EXPECT_EQ(self->end, q->text_end);
}

TEST_F(query, a_child_has_the_ids_of_its_parent)
{
	uint64_t id;
	int status;
	pid_t pid;

	EXPECT_EQ(0, query_at(self, self->start, 0));
	id = self->q.id;
	pid = fork();
	if (!pid) {
		int fd = proc_open(0);
		int err = code_query(fd, &self->q) || self->q.id != id ||
			  unregister_text(self->start, self->end) ||
			  register_elf_text(self->start, self->end) ||
			  code_query(fd, &self->q) || self->q.id == id;

		_exit(err);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, query_at(self, self->start, 0));
	EXPECT_EQ(id, self->q.id);
}

TEST_HARNESS_MAIN
