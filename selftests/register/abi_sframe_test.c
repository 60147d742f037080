// SPDX-License-Identifier: GPL-2.0
/* What a registration reports about the header of an SFrame section. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "codectl_test.h"
#include "kselftest_harness.h"
#include "sampler.h"
#include "stub.h"

FIXTURE(sframe)
{
	struct stub stub;
	struct sframe_header *header;
};

FIXTURE_SETUP(sframe)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, stub_map(&self->stub, 2));
	stub_table(&self->stub);
	ASSERT_NE(0, self->stub.table_size);
	self->header = (struct sframe_header *)self->stub.table;
}

FIXTURE_TEARDOWN(sframe)
{
	stub_unmap(&self->stub);
}

/* What a change of the header leads to. */
FIXTURE_VARIANT(sframe)
{
	void (*change)(struct sframe_header *h);
	int err;
};

#define HEADER_CASE(name, error, ...)					\
static void change_##name(struct sframe_header *h) { __VA_ARGS__; }	\
FIXTURE_VARIANT_ADD(sframe, name)					\
{									\
	.change = change_##name,					\
	.err = error,							\
}

HEADER_CASE(right, 0, (void)h);
HEADER_CASE(magic, -EINVAL, h->magic++);
HEADER_CASE(magic_swapped, -EINVAL, h->magic = 0xe2de);
HEADER_CASE(version_0, -EOPNOTSUPP, h->version = 0);
HEADER_CASE(version_1, -EOPNOTSUPP, h->version = 1);
HEADER_CASE(version_2, -EOPNOTSUPP, h->version = 2);
HEADER_CASE(version_4, -EOPNOTSUPP, h->version = 4);
HEADER_CASE(version_255, -EOPNOTSUPP, h->version = 255);
HEADER_CASE(abi_0, -EOPNOTSUPP, h->abi = 0);
HEADER_CASE(abi_aarch64, -EOPNOTSUPP, h->abi = 2);
HEADER_CASE(abi_s390x, -EOPNOTSUPP, h->abi = 4);
HEADER_CASE(abi_255, -EOPNOTSUPP, h->abi = 255);
HEADER_CASE(unknown_flag_2, -EOPNOTSUPP, h->flags |= 2);
HEADER_CASE(unknown_flag_8, -EOPNOTSUPP, h->flags |= 8);
HEADER_CASE(unknown_flag_128, -EOPNOTSUPP, h->flags |= 128);
HEADER_CASE(not_sorted, -EOPNOTSUPP, h->flags &= ~SFRAME_F_SORTED);
HEADER_CASE(not_pcrel, 0, h->flags &= ~SFRAME_F_PCREL);
HEADER_CASE(auxhdr_too_long, -EINVAL, h->auxhdr_len = 255);
HEADER_CASE(num_fdes_too_many, -EINVAL, h->num_fdes = 1000);
HEADER_CASE(num_fdes_huge, -EINVAL, h->num_fdes = ~0U);
HEADER_CASE(num_fdes_wraps, -EINVAL, h->num_fdes = 0x10000001);
HEADER_CASE(fde_off_outside, -EINVAL, h->fde_off = 4096);
HEADER_CASE(fde_off_huge, -EINVAL, h->fde_off = ~0U);
HEADER_CASE(fre_off_outside, -EINVAL, h->fre_off = 4096);
HEADER_CASE(fre_off_huge, -EINVAL, h->fre_off = ~0U);
HEADER_CASE(fre_len_too_long, -EINVAL, h->fre_len++);
HEADER_CASE(fre_len_huge, -EINVAL, h->fre_len = ~0U);

TEST_F(sframe, header)
{
	variant->change(self->header);
	EXPECT_EQ(variant->err, stub_register(&self->stub));
	if (variant->err)
		EXPECT_EQ(0, stub_register_unread(&self->stub));
}

FIXTURE(section)
{
	struct stub stub;
};

FIXTURE_SETUP(section)
{
	REQUIRE_CODECTL();
	ASSERT_EQ(0, stub_map(&self->stub, 2));
	stub_table(&self->stub);
}

FIXTURE_TEARDOWN(section)
{
	stub_unmap(&self->stub);
}

static int register_with(struct stub *stub, const void *table, size_t len)
{
	int err = register_text(addr_of(stub->text), addr_of(stub->text) + PAGE,
				table, len);

	if (!err)
		stub_unregister(stub);
	return err;
}

TEST_F(section, shorter_than_its_contents)
{
	size_t size = self->stub.table_size;

	EXPECT_EQ(0, register_with(&self->stub, self->stub.table, size));
	for (size_t len = 1; len < size; len++) {
		EXPECT_EQ(-EINVAL,
			  register_with(&self->stub, self->stub.table, len))
			TH_LOG("%zu of %zu bytes", len, size);
	}
}

/* A linker pads sections; the padding means nothing. */
TEST_F(section, longer_than_its_contents)
{
	EXPECT_EQ(0, register_with(&self->stub, self->stub.table, 2 * PAGE));
}

TEST_F(section, none_gives_an_identity_only)
{
	EXPECT_EQ(0, register_with(&self->stub, NULL, 0));
}

TEST_F(section, header_that_cannot_be_read)
{
	uint8_t *table = self->stub.table;

	ASSERT_EQ(0, mprotect(table, PAGE, PROT_NONE));
	EXPECT_EQ(-EFAULT, register_with(&self->stub, table,
					 self->stub.table_size));
	munmap(table, PAGE);
	EXPECT_EQ(-EFAULT, register_with(&self->stub, table,
					 self->stub.table_size));
	EXPECT_EQ(-EFAULT, register_with(&self->stub, (void *)8, PAGE));
}

/* A mapping of a file with the table in it, which nobody has touched yet. */
static struct sframe_header *map_file(const struct stub *stub, int prot)
{
	int fd = memfd_create("table", 0);
	void *map = MAP_FAILED;

	if (fd >= 0 && write(fd, stub->table, stub->table_size) ==
		       stub->table_size)
		map = mmap(NULL, 2 * PAGE, prot, MAP_PRIVATE, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

/* The contents of memory count, not those of the file. */
TEST_F(section, header_in_a_file_is_that_of_the_mapping)
{
	const int prot = PROT_READ | PROT_WRITE;
	struct sframe_header *good, *bad;

	good = map_file(&self->stub, prot);
	((struct sframe_header *)self->stub.table)->magic++;
	bad = map_file(&self->stub, prot);
	ASSERT_TRUE(good && bad);
	EXPECT_EQ(-EINVAL, register_with(&self->stub, bad,
					 self->stub.table_size));
	bad->magic--;
	EXPECT_EQ(0, register_with(&self->stub, bad, self->stub.table_size));
	good->magic++;
	EXPECT_EQ(-EINVAL, register_with(&self->stub, good,
					 self->stub.table_size));
	munmap(good, 2 * PAGE);
	munmap(bad, 2 * PAGE);
}

TEST_F(section, header_in_a_file_that_cannot_be_read)
{
	struct sframe_header *h = map_file(&self->stub, PROT_NONE);
	size_t size = self->stub.table_size;

	ASSERT_NE(NULL, h);
	EXPECT_EQ(-EFAULT, register_with(&self->stub, h, size));
	ASSERT_EQ(0, mprotect(h, 2 * PAGE, PROT_READ));
	EXPECT_EQ(0, register_with(&self->stub, h, size));
	/* The file ends before this page. */
	EXPECT_EQ(-EFAULT, register_with(&self->stub, (uint8_t *)h + PAGE,
					 size));
	/* The mapping ends, in the middle of the header. */
	munmap((uint8_t *)h + PAGE, PAGE);
	EXPECT_EQ(-EFAULT, register_with(&self->stub,
					 (uint8_t *)h + PAGE - sizeof(*h) / 2,
					 size));
	munmap(h, PAGE);
}

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif

/* The page cache is not what an access finds. */
TEST_F(section, header_behind_a_guard)
{
	struct sframe_header *h = map_file(&self->stub, PROT_READ);
	size_t size = self->stub.table_size;

	ASSERT_NE(NULL, h);
	ASSERT_EQ(0, madvise(h, PAGE, MADV_GUARD_INSTALL));
	EXPECT_EQ(-EFAULT, register_with(&self->stub, h, size));
	munmap(h, 2 * PAGE);
}

/* A file backs it, but its memory is not the file's. */
TEST_F(section, header_in_private_memory_of_dev_zero)
{
	int fd = open("/dev/zero", O_RDONLY);
	void *zeros = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0);

	ASSERT_NE(MAP_FAILED, zeros);
	EXPECT_EQ(-EINVAL, register_with(&self->stub, zeros, PAGE));
	munmap(zeros, PAGE);
	close(fd);
}

/* Memory of the kernel that is mapped by a file, and not through the page cache. */
TEST_F(section, header_in_memory_of_the_kernel)
{
	struct sampler sampler;

	ASSERT_EQ(0, sampler_open_syscall(&sampler, MARKER_NR));
	EXPECT_EQ(-EINVAL, register_with(&self->stub, sampler.cpu[0].ring,
					 PAGE));
	sampler_close(&sampler);
}

TEST_F(section, header_that_a_key_protects)
{
	struct sframe_header *h = map_file(&self->stub, PROT_READ);
	int key = pkey_alloc(0, PKEY_DISABLE_ACCESS);
	size_t size = self->stub.table_size;

	ASSERT_NE(NULL, h);
	ASSERT_LE(0, key);
	ASSERT_EQ(0, pkey_mprotect(h, 2 * PAGE, PROT_READ, key));
	EXPECT_EQ(-EFAULT, register_with(&self->stub, h, size));
	ASSERT_EQ(0, pkey_set(key, 0));
	EXPECT_EQ(0, register_with(&self->stub, h, size));
	pkey_free(key);
	munmap(h, 2 * PAGE);
}

/* Maps in the requested page, and reports the request. */
static void *map_in(void *uffd)
{
	struct uffdio_continue c = { .range.len = PAGE };
	int fd = *(int *)uffd;
	struct uffd_msg msg;

	if (read(fd, &msg, sizeof(msg)) != sizeof(msg))
		return NULL;
	c.range.start = msg.arg.pagefault.address & -PAGE;
	return ioctl(fd, UFFDIO_CONTINUE, &c) ? NULL : uffd;
}

/* Those who watch accesses to the file are notified of this one. */
TEST_F(section, header_that_others_want_to_know_of)
{
	struct uffdio_api api = {
		.api = UFFD_API, .features = UFFD_FEATURE_MINOR_SHMEM,
	};
	struct uffdio_register reg = {
		.range.len = PAGE, .mode = UFFDIO_REGISTER_MODE_MINOR,
	};
	int uffd = syscall(__NR_userfaultfd, O_CLOEXEC);
	int fd = memfd_create("table", 0);
	void *asked, *h;
	pthread_t thread;

	ASSERT_EQ(self->stub.table_size, write(fd, self->stub.table,
					       self->stub.table_size));
	h = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	ASSERT_NE(MAP_FAILED, h);
	reg.range.start = addr_of(h);
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_API, &api));
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_REGISTER, &reg));
	ASSERT_EQ(0, pthread_create(&thread, NULL, map_in, &uffd));
	EXPECT_EQ(0, register_with(&self->stub, h, self->stub.table_size));
	ASSERT_EQ(0, pthread_join(thread, &asked));
	EXPECT_EQ(&uffd, asked);
	munmap(h, PAGE);
	close(fd);
	close(uffd);
}

/* Only the header is read: the rest is checked as it is used. */
TEST_F(section, only_the_header_is_read)
{
	struct sframe_header *h = (void *)(self->stub.table + PAGE - sizeof(*h));

	memcpy(h, self->stub.table, sizeof(*h));
	ASSERT_EQ(0, mprotect(self->stub.table + PAGE, PAGE, PROT_NONE));
	EXPECT_EQ(0, register_with(&self->stub, h, self->stub.table_size));
}

static int page_is_present(const void *addr)
{
	uint64_t entry = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	if (pread(fd, &entry, sizeof(entry), addr_of(addr) / PAGE * sizeof(entry)) !=
	    sizeof(entry))
		return -1;
	close(fd);
	return entry >> 63;
}

/* Not even that: its page need not be in memory, nor mapped. */
TEST_F(section, header_left_for_later)
{
	struct stub stub = self->stub;
	struct sframe_header *h = map_file(&stub, PROT_READ);

	ASSERT_NE(NULL, h);
	stub.table = (uint8_t *)h;
	EXPECT_EQ(0, stub_register_unread(&stub));
	EXPECT_EQ(0, page_is_present(h));
	EXPECT_EQ(0, stub_unregister(&stub));
	EXPECT_EQ(0, stub_register(&stub));
	EXPECT_EQ(1, page_is_present(h));
	EXPECT_EQ(0, stub_unregister(&stub));
	munmap(h, 2 * PAGE);
	EXPECT_EQ(0, stub_register_unread(&stub));
	EXPECT_EQ(0, stub_unregister(&stub));
}

TEST_F(section, auxiliary_header_is_skipped)
{
	const struct fde_spec fde = stub_fde(&self->stub);

	for (int len = 1; len < 256; len *= 3) {
		self->stub.table_size = sframe_build(self->stub.table,
						     self->stub.table_room,
						     &fde, 1, len);
		EXPECT_EQ(0, register_with(&self->stub, self->stub.table,
					   self->stub.table_size))
			TH_LOG("%d bytes", len);
	}
}

TEST_F(section, any_alignment)
{
	size_t size = self->stub.table_size;

	for (int shift = 1; shift < 8; shift++) {
		memmove(self->stub.table + shift, self->stub.table + shift - 1,
			size);
		EXPECT_EQ(0, register_with(&self->stub,
					   self->stub.table + shift, size))
			TH_LOG("misaligned by %d", shift);
	}
}

TEST_F(section, shared_by_registrations)
{
	uint64_t text = addr_of(self->stub.text);

	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(0, register_text(text + i * 64, text + i * 64 + 64,
					   self->stub.table,
					   self->stub.table_size));
	}
}

TEST_HARNESS_MAIN
