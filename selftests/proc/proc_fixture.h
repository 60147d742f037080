/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of the tests of /proc/PID/codectl. */
#ifndef CODECTL_PROC_FIXTURE_H
#define CODECTL_PROC_FIXTURE_H

#include "jit_table.h"
#include "kselftest_harness.h"
#include "proc_file.h"

#define DEBUG_LINK "a b\\c\x7f.debug"

/* One registration of each kind, in six pages; the path has 4,095 bytes. */
FIXTURE(proc)
{
	uint8_t *mem;
	uint64_t elf;
	uint64_t jit;
	struct stub stub;
	char path[PATH_MAX];
	uint8_t build_id[20];
	char *all;
	size_t len;
	int fd;
};

static inline int register_elf_claims(FIXTURE_DATA(proc) * self)
{
	return register_elf(&(struct code_elf_info) {
		.elf_start = self->elf - PAGE,
		.elf_end = self->elf + 2 * PAGE,
		.text_start = self->elf,
		.text_end = self->elf + 5,
		.pathname = addr_of(self->path),
		.build_id = addr_of(self->build_id),
		.build_id_len = 20,
		.debug_link_pathname = addr_of(DEBUG_LINK),
		.debug_link_crc = 0x89abcdef,
	});
}

static inline int register_jit_all(FIXTURE_DATA(proc) * self)
{
	return register_jit(&(struct code_jit_info) {
		.text_start = self->jit,
		.text_end = self->jit + PAGE,
		.unwind_head = self->jit + 16,
		.jit_flags = CODE_JIT_DEFAULT_RULE | CODE_JIT_DESCENDING,
		.seq = self->jit + 4,
		.cfa_off = 16,
		.ra_off = -8,
		.fp_off = INT32_MIN,
		.info = CODE_FRE_FP_SAVED,
	});
}

FIXTURE_SETUP(proc)
{
	REQUIRE_CODECTL();
	self->mem = map_pages(6, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	self->elf = addr_of(self->mem) + PAGE;
	self->jit = self->elf + 2 * PAGE;
	memset(self->path, '\n', PATH_MAX - 1);
	self->path[0] = '/';
	elf_build_id(3, self->build_id);
	ASSERT_EQ(0, register_elf_claims(self));
	ASSERT_EQ(0, register_jit_all(self));
	ASSERT_EQ(0, stub_map(&self->stub, 1));
	stub_table(&self->stub);
	ASSERT_EQ(0, stub_register(&self->stub));
	self->fd = proc_open(0);
	ASSERT_LE(0, self->fd);
	self->all = proc_read(self->fd, &self->len);
	ASSERT_NE(NULL, self->all);
}

FIXTURE_TEARDOWN(proc)
{
	free(self->all);
	close(self->fd);
	stub_unmap(&self->stub);
	munmap(self->mem, 6 * PAGE);
}

#endif /* CODECTL_PROC_FIXTURE_H */
