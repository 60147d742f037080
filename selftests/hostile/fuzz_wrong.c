// SPDX-License-Identifier: GPL-2.0
/* What is made wrong in a call, and the errors for it. */
#include <limits.h>

#include "fuzz_call.h"
#include "sframe_build.h"

static void wrong_option(struct fuzz *f, struct call *c)
{
	c->option = CODE_ATTACH_FILE + 1 + random_bits(f) % 0xfffffff0;
	c->wrong |= BIT(EINVAL);
}

static void wrong_flags(struct fuzz *f, struct call *c)
{
	c->flags = 1U << fuzz_random(f, 32);
	c->wrong |= BIT(EINVAL);
}

static void wrong_size(struct fuzz *f, struct call *c)
{
	if (one_in(f, 2)) {
		c->size = fuzz_random(f, sizes[c->kind][0]);
		c->wrong |= BIT(EINVAL);
	} else {
		c->size = PAGE + 1 + random_bits(f) % (-1ULL - PAGE);
		c->wrong |= BIT(E2BIG);
	}
}

static void wrong_tail(struct fuzz *f, struct call *c)
{
	size_t known = sizes[c->kind][1];

	c->size = known + 1 + fuzz_random(f, PAGE - known);
	c->arg.byte[known + fuzz_random(f, c->size - known)] = 0x80;
	c->wrong |= BIT(E2BIG);
}

static const void *wrong_address(struct fuzz *f)
{
	const uint64_t bad[] = {
		0, 8, KERNEL_ADDR, -1UL, -8UL, USER_END, 1UL << 60,
		addr_of(f->window) + 2 * PAGE, addr_of(f->window) + 3 * PAGE - 128,
	};

	return (void *)bad[fuzz_random(f, ARRAY_SIZE(bad))];
}

static void wrong_info(struct fuzz *f, struct call *c)
{
	c->info = one_in(f, 2) ? wrong_address(f) :
		  f->window + 2 * PAGE - 1 - fuzz_random(f, 15);
	c->bad_info = true;
	c->wrong |= BIT(EFAULT);
}

static void wrong_text(struct fuzz *f, struct call *c)
{
	const struct bad_range *bad = bad_range(fuzz_random(f, NR_BAD_RANGES));

	if (c->kind == CODE_REGISTER_ELF) {
		c->arg.elf.text_start = bad->start;
		c->arg.elf.text_end = bad->end;
	} else {
		c->arg.jit.text_start = bad->start;
		c->arg.jit.text_end = bad->end;
	}
	c->wrong |= BIT(EINVAL);
}

static void wrong_elf_range(struct fuzz *f, struct call *c)
{
	const struct bad_range *bad = bad_range(fuzz_random(f, NR_BAD_RANGES));

	if (c->kind != CODE_REGISTER_ELF)
		return;
	c->wrong |= BIT(EINVAL);
	if (one_in(f, 2)) {
		c->arg.elf.elf_start = c->arg.elf.text_start + 1;
		return;
	}
	c->arg.elf.elf_start = bad->start;
	c->arg.elf.elf_end = bad->end;
}

static void wrong_section(struct fuzz *f, struct call *c)
{
	struct sframe_header *header = (void *)(f->section + PAGE);

	if (c->kind != CODE_REGISTER_ELF)
		return;
	memcpy(header, f->section, PAGE);
	c->arg.elf.elf_flags &= ~CODE_ELF_HEADER_LATER;
	c->arg.elf.sframe_start = addr_of(header);
	c->arg.elf.sframe_end = c->arg.elf.sframe_start + PAGE;
	switch (fuzz_random(f, 7)) {
	case 0:
		header->magic ^= 1 + fuzz_random(f, 0xffff);
		break;
	case 1:
		header->version ^= 1 + fuzz_random(f, 0xff);
		break;
	case 2:
		header->flags |= 0x80;
		break;
	case 3:
		header->abi ^= 1 + fuzz_random(f, 0xff);
		break;
	case 4:
		header->num_fdes = 1U << 28;
		break;
	case 5:
		header->fre_off = PAGE;
		break;
	default:
		c->arg.elf.sframe_end = c->arg.elf.sframe_start +
					1 + fuzz_random(f, sizeof(*header) - 1);
	}
	c->wrong |= BIT(EINVAL) | BIT(EOPNOTSUPP);
}

static void wrong_pointer(struct fuzz *f, struct call *c)
{
	struct code_elf_info *elf = &c->arg.elf;
	__u64 at = addr_of(wrong_address(f));

	if (c->kind != CODE_REGISTER_ELF || !at)
		return;
	switch (fuzz_random(f, 4)) {
	case 0:
		elf->pathname = at;
		break;
	case 1:
		elf->debug_link_pathname = at;
		break;
	case 2:
		elf->build_id = at;
		elf->build_id_len = 1 + fuzz_random(f, 20);
		break;
	default:
		/* A malformed range is another error. */
		elf->elf_flags &= ~CODE_ELF_HEADER_LATER;
		elf->sframe_start = addr_of(f->window) + 2 * PAGE;
		elf->sframe_end = elf->sframe_start + 64;
	}
	c->wrong |= BIT(EFAULT);
}

static void wrong_length(struct fuzz *f, struct call *c)
{
	static char longest[PATH_MAX + 2];
	struct code_elf_info *elf = &c->arg.elf;

	if (c->kind != CODE_REGISTER_ELF)
		return;
	memset(longest, 'x', PATH_MAX + 1);
	switch (fuzz_random(f, 3)) {
	case 0:
		elf->pathname = addr_of(longest);
		break;
	case 1:
		elf->debug_link_pathname = addr_of(longest + 1);
		break;
	default:
		elf->build_id = addr_of(longest);
		elf->build_id_len = 21 + random_bits(f) % (UINT32_MAX - 20);
	}
	c->wrong |= BIT(ENAMETOOLONG);
}

static void wrong_format(struct fuzz *f, struct call *c)
{
	uint32_t format = 1 + random_bits(f) % UINT32_MAX;

	if (c->size < sizes[c->kind][1])
		return;
	if (c->kind == CODE_REGISTER_ELF)
		c->arg.elf.unwind_format = format;
	else if (c->kind == CODE_REGISTER_JIT)
		c->arg.jit.fre_size = format == 24 ? 25 : format;
	else
		return;
	c->wrong |= BIT(EOPNOTSUPP);
}

static void wrong_field(struct fuzz *f, struct call *c)
{
	struct code_jit_info *jit = &c->arg.jit;

	if (c->size < sizes[c->kind][1] || c->kind == CODE_UNREGISTER)
		return;
	c->wrong |= BIT(EINVAL);
	if (c->kind == CODE_REGISTER_ELF) {
		if (one_in(f, 2))
			c->arg.elf.elf_flags |= 2U << fuzz_random(f, 31);
		else
			c->arg.elf.sframe_addr = USER_END + random_bits(f);
		return;
	}
	switch (fuzz_random(f, 9)) {
	case 0:
		jit->__reserved[fuzz_random(f, 3)] = 1 + fuzz_random(f, 255);
		break;
	case 1:
		jit->jit_flags |= 16U << fuzz_random(f, 28);
		break;
	case 2:
		jit->unwind_head |= 1 + fuzz_random(f, 7);
		break;
	case 3:
		jit->unwind_head = -8 * (1 + fuzz_random(f, 1 << 20));
		break;
	case 4:
		jit->seq |= 1 + fuzz_random(f, 3);
		break;
	case 5:
		jit->jit_flags &= ~CODE_JIT_DEFAULT_RULE;
		jit->unwind_head = 0;
		jit->slots = 0;
		break;
	case 6:
		jit->jit_flags &= ~CODE_JIT_DEFAULT_RULE;
		jit->info = CODE_FRE_BASE_SP;
		break;
	case 7:
		if (jit->jit_flags & CODE_JIT_GRANULES)
			jit->pool_len = USER_END + random_bits(f);
		else
			jit->pool = 8;
		break;
	default:
		jit->info = CODE_FRE_FP_SAVED | CODE_FRE_FP_UNDEF;
	}
}

/* The result is undefined. */
static void random_bytes(struct fuzz *f, struct call *c)
{
	unsigned int n = 1 + fuzz_random(f, 4);

	while (n--)
		c->arg.byte[fuzz_random(f, sizes[c->kind][1])] = random_bits(f);
	c->any = true;
}

static void (*const wrongs[])(struct fuzz *f, struct call *c) = {
	wrong_option, wrong_flags, wrong_size, wrong_tail, wrong_info,
	wrong_text, wrong_elf_range, wrong_section, wrong_pointer, wrong_length,
	wrong_format, wrong_field, random_bytes, random_bytes,
};

void fuzz_make_wrong(struct fuzz *f, struct call *c)
{
	for (unsigned int n = 1 + fuzz_random(f, 2); n; n--)
		wrongs[fuzz_random(f, ARRAY_SIZE(wrongs))](f, c);
}
