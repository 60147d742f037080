// SPDX-License-Identifier: GPL-2.0
/*
 * libFuzzer target for the SFrame decoder of the kernel
 *
 * The input is a choice of addresses, 16 bytes, and a section.  The section is
 * the whole arena, in a block of its own: a load outside of it ends the run, by
 * the check in linux/uaccess.h or by AddressSanitizer.
 */
#include <linux/errno.h>
#include <linux/uaccess.h>

#include "compare.h"
#include "sframe.h"

#define MAX_TRIED 16
/* Largest section that is cut at each byte. */
#define MAX_CUT 512

struct user_arena user_arena;

struct choice {
	u64 ip;
	u32 delta;
	u16 fault;
	u16 fde;
};

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check_loc(const struct unwind_loc *loc, bool may_be_same,
		      bool may_be_cfa)
{
	if (loc->kind == UNWIND_LOC_SAME) {
		require(may_be_same);
		return;
	}
	require(loc->kind == UNWIND_LOC_VAL || loc->kind == UNWIND_LOC_MEM);
	require(loc->base < SFRAME_AMD64_NR_REGS ||
		(may_be_cfa && loc->base == UNWIND_BASE_CFA));
}

static void try_ip(const struct sframe_section *sec, unsigned long ip)
{
	struct unwind_rule rule;
	int ret = sframe_find(sec, ip, &rule);

	require(user_arena.window_start == user_arena.window_end);
	if (ret) {
		require(ret == -ENOENT || ret == -ENODATA || ret == -EINVAL ||
			ret == -EOPNOTSUPP ||
			(ret == -EFAULT && user_arena.fault < user_arena.end));
		return;
	}

	require(ip - rule.start < rule.size);
	require(take_common(&rule));
	require(!(rule.flags & ~(UNWIND_RULE_OUTERMOST | UNWIND_RULE_SIGNAL |
				 UNWIND_RULE_EXACT)));
	require(!(rule.flags & UNWIND_RULE_EXACT) ||
		rule.flags & UNWIND_RULE_SIGNAL);
	if (!has_locs(rule.flags))
		return;
	check_loc(&rule.cfa, false, false);
	check_loc(&rule.ra, false, true);
	check_loc(&rule.fp, true, true);
}

/* A fault is reported, or the unreadable part is not needed. */
static void try_faults(const struct sframe_section *sec, unsigned long ip)
{
	struct unwind_rule rule;
	int ret, ret_fault;

	ret = sframe_find(sec, ip, &rule);
	for (user_arena.fault = sec->start; user_arena.fault < sec->end;
	     user_arena.fault++) {
		ret_fault = sframe_find(sec, ip, &rule);
		require(ret_fault == ret || ret_fault == -EFAULT);
	}
}

/* Addresses that an FDE is likely to cover, where random ones seldom are. */
static void try_fdes(const struct sframe_section *sec,
		     const struct choice *choice)
{
	struct sframe_fde_idx idx;
	unsigned long at, start;
	u32 i;

	for (i = 0; i < sec->num_fdes && i < MAX_TRIED; i++) {
		at = sec->fdes + ((choice->fde + i) % (u64)sec->num_fdes) *
				 sizeof(idx);
		memcpy(&idx, (void *)at, sizeof(idx));
		start = (sec->pcrel ? at : sec->start) + idx.func_start_offset;
		try_ip(sec, start - 1);
		try_ip(sec, start);
		try_ip(sec, start + idx.func_size - 1);
		try_ip(sec, start + idx.func_size);
		if (idx.func_size)
			try_ip(sec, start + choice->delta % idx.func_size);
	}
}

/* For a small section, at one address of the functions that it may have. */
static void try_cuts(const struct sframe_section *sec,
		     const struct choice *choice)
{
	struct sframe_section unread = { .start = sec->start, .end = sec->end };
	struct unwind_rule rule;
	unsigned long at, start;
	s64 off;
	u32 size;

	if (sec->num_fdes && choice->delta % 64 == 0) {
		at = sec->fdes + (choice->fde % (u64)sec->num_fdes) *
				 sizeof(struct sframe_fde_idx);
		memcpy(&off, (void *)at, sizeof(off));
		memcpy(&size, (void *)(at + offsetof(struct sframe_fde_idx,
						     func_size)), sizeof(size));
		start = (sec->pcrel ? at : sec->start) + off;
		user_arena.fault = user_arena.end;
		try_faults(sec, start + (size ? choice->delta % size : 0));
	}
	user_arena.fault = sec->start + sizeof(struct sframe_header) - 1;
	require(sframe_read_header(&unread) == -EFAULT);
	/* It is not looked at, either, if its last byte is not in user space. */
	user_arena.fault = user_arena.end--;
	require(sframe_find(sec, sec->start, &rule) == -EFAULT);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct sframe_section sec = {};
	struct choice choice;
	char *mem;

	if (size < sizeof(choice))
		return 0;
	memcpy(&choice, data, sizeof(choice));
	size -= sizeof(choice);

	mem = malloc(size ?: 1);
	require(mem);
	memcpy(mem, data + sizeof(choice), size);
	sec.start = (unsigned long)mem;
	sec.end = sec.start + size;
	user_arena.start = sec.start;
	user_arena.end = sec.end;
	user_arena.fault = sec.end;

	if (!sframe_read_header(&sec)) {
		if (choice.fault < size)
			user_arena.fault = sec.start + choice.fault;
		try_ip(&sec, choice.ip);
		try_ip(&sec, sec.start + choice.ip);
		try_fdes(&sec, &choice);
		if (size <= MAX_CUT)
			try_cuts(&sec, &choice);
	}
	free(mem);

	return 0;
}
