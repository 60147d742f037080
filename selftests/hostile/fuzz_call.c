// SPDX-License-Identifier: GPL-2.0
/*
 * Calls are made right, and then something in them may be made wrong: the error must be
 * one for what is wrong, and there must be none otherwise.
 */
#include "fuzz_call.h"
#include "proc_file.h"

#define OK BIT(0)
#define COMMON (BIT(E2BIG) | BIT(EFAULT) | BIT(EINVAL))
#define REGISTERS (COMMON | BIT(EEXIST) | BIT(ENOMEM) | BIT(ENOSPC) |	\
		   BIT(EOPNOTSUPP))

/* As codectl(2) documents them. */
static const uint64_t documented[] = {
	[CODE_UNREGISTER] = COMMON | BIT(ENOENT) | BIT(ENOMEM),
	[CODE_REGISTER_ELF] = REGISTERS | BIT(ENAMETOOLONG),
	[CODE_REGISTER_JIT] = REGISTERS,
};

/* ------------------------------------------------------------ calls made right */

static void make_text(struct fuzz *f, __u64 *start, __u64 *end)
{
	uint64_t page = fuzz_random(f, FUZZ_PAGES);
	uint64_t from = page * PAGE, to = (page + 1 + fuzz_random(f, 4)) * PAGE;

	if (to > FUZZ_PAGES * PAGE)
		to = FUZZ_PAGES * PAGE;
	if (one_in(f, 4)) {
		from += fuzz_random(f, PAGE);
		to = from + 1 + fuzz_random(f, to - from);
	}
	*start = addr_of(f->text) + from;
	*end = addr_of(f->text) + to;
}

static void make_elf(struct fuzz *f, struct code_elf_info *elf)
{
	static const char name[] = "/claimed\n by nobody";

	make_text(f, &elf->text_start, &elf->text_end);
	elf->elf_start = addr_of(f->text);
	elf->elf_end = elf->elf_start + FUZZ_PAGES * PAGE;
	if (one_in(f, 2)) {
		elf->sframe_start = addr_of(f->section);
		elf->sframe_end = elf->sframe_start + PAGE;
	}
	/* All of it in user space, wherever that is. */
	if (elf->sframe_end && one_in(f, 4))
		elf->sframe_addr = fuzz_random(f, USER_END - PAGE);
	if (one_in(f, 4))
		elf->elf_flags = CODE_ELF_HEADER_LATER;
	if (one_in(f, 2))
		elf->pathname = addr_of(name);
	if (one_in(f, 4)) {
		elf->debug_link_pathname = addr_of(name + fuzz_random(f, 8));
		elf->debug_link_crc = random_bits(f);
	}
	if (one_in(f, 4)) {
		elf->build_id = addr_of(name);
		elf->build_id_len = fuzz_random(f, 20);
	}
}

/* All of it in user space, wherever that is. */
static void make_granules(struct fuzz *f, struct code_jit_info *jit)
{
	const uint64_t text = jit->text_end - jit->text_start;
	uint64_t slots;

	jit->jit_flags &= ~CODE_JIT_DESCENDING;
	jit->jit_flags |= CODE_JIT_GRANULES;
	jit->unwind_head = 0;
	jit->seq = 0;
	jit->granule_shift = CODE_JIT_MIN_SHIFT +
		fuzz_random(f, CODE_JIT_MAX_SHIFT - CODE_JIT_MIN_SHIFT + 1);
	slots = ((text - 1) >> jit->granule_shift) + 1;
	jit->slots = one_in(f, 2) ? addr_of(f->section) :
		     fuzz_random(f, (USER_END - 4 * slots) / 4) * 4 + 4;
	jit->pool = one_in(f, 2) ? addr_of(f->section) + PAGE / 2 :
		    fuzz_random(f, (USER_END - PAGE) / 8) * 8 + 8;
	jit->pool_len = sizeof(struct code_jit_record) +
		fuzz_random(f, one_in(f, 2) ? PAGE / 2 :
			    USER_END - jit->pool - PAGE / 2);
}

static void make_jit(struct fuzz *f, struct code_jit_info *jit, size_t size)
{
	const uint8_t infos[] = { 0, CODE_FRE_BASE_SP, CODE_FRE_OUTERMOST,
				  CODE_FRE_UNKNOWN, CODE_FRE_SIGNAL,
				  CODE_FRE_FP_SAVED, CODE_FRE_FP_UNDEF,
				  CODE_FRE_SP_SAVED };

	make_text(f, &jit->text_start, &jit->text_end);
	jit->unwind_head = one_in(f, 2) ? addr_of(f->section) :
			   fuzz_random(f, (USER_END - 24) / 8) * 8 + 8;
	if (size < CODE_JIT_INFO_SIZE_VER1)
		return;
	jit->jit_flags = fuzz_random(f, 8);
	jit->fre_size = one_in(f, 2) ? CODE_JIT_UNWIND_FRE_SIZE : 0;
	if (one_in(f, 2))
		jit->seq = fuzz_random(f, (USER_END - 4) / 4) * 4;
	if (size == sizeof(*jit) && one_in(f, 4))
		make_granules(f, jit);
	if (!(jit->jit_flags & CODE_JIT_DEFAULT_RULE))
		return;
	if (one_in(f, 2))
		jit->unwind_head = 0;
	jit->cfa_off = random_bits(f);
	jit->ra_off = random_bits(f);
	jit->fp_off = random_bits(f);
	jit->info = infos[fuzz_random(f, ARRAY_SIZE(infos))];
}

static void make_unregister(struct fuzz *f, struct code_unregister_info *info)
{
	const struct fuzz_region *r;

	make_text(f, &info->text_start, &info->text_end);
	if (!f->nr || one_in(f, 4))
		return;
	r = &f->region[fuzz_random(f, f->nr)];
	info->text_start = r->start;
	info->text_end = r->end;
	if (one_in(f, 16))
		info->text_end++;
}

/* Any size from the first version to a page; the unknown part is 0. */
static size_t make_size(struct fuzz *f, unsigned int option)
{
	const size_t *size = sizes[option];

	switch (fuzz_random(f, 8)) {
	case 0:
		return size[0];
	case 1:
		return size[0] + fuzz_random(f, size[1] - size[0] + 1);
	case 2:
		return size[1] + fuzz_random(f, PAGE - size[1] + 1);
	default:
		return size[1];
	}
}

static void make_call(struct fuzz *f, struct call *c)
{
	memset(c, 0, sizeof(*c));
	c->kind = fuzz_random(f, 3);
	c->option = c->kind;
	c->size = make_size(f, c->kind);
	if (c->kind == CODE_REGISTER_ELF)
		make_elf(f, &c->arg.elf);
	else if (c->kind == CODE_REGISTER_JIT)
		make_jit(f, &c->arg.jit, c->size);
	else
		make_unregister(f, &c->arg.unregister);
}

/* ---------------------------------------------------------- results of a call */

static void text_of(const struct call *c, uint64_t *start, uint64_t *end)
{
	if (c->kind == CODE_REGISTER_ELF) {
		*start = c->arg.elf.text_start;
		*end = c->arg.elf.text_end;
	} else {
		*start = c->arg.jit.text_start;
		*end = c->arg.jit.text_end;
	}
}

/* For a call with nothing wrong in itself. */
static uint64_t expect_right(struct fuzz *f, const struct call *c,
			     uint64_t start, uint64_t end)
{
	uint64_t want = 0;

	if (c->kind == CODE_UNREGISTER)
		return fuzz_find(f, start, end) ? OK : BIT(ENOENT);
	if (!fuzz_is_mapped(f, start, end, c->kind == CODE_REGISTER_ELF))
		want |= BIT(EINVAL);
	if (c->kind == CODE_REGISTER_ELF ? !fuzz_may_replace(f, start, end) :
					   !!fuzz_overlap(f, start, end))
		want |= BIT(EEXIST);
	return want ?: OK;
}

/* Which results are right. */
static uint64_t expect(struct fuzz *f, const struct call *c)
{
	uint64_t start, end, right = OK;

	text_of(c, &start, &end);
	if (!c->any && c->wrong)
		return c->wrong;
	if (!f->exact)
		return documented[c->kind] | OK;
	if (!c->any || fuzz_is_ours(f, start, end))
		right = expect_right(f, c, start, end);
	if (!c->any)
		return right;
	/* It must not have succeeded if it cannot. */
	return documented[c->kind] | c->wrong | (right & OK);
}

static long do_call(struct fuzz *f, struct call *c)
{
	size_t len = c->size < 2 * PAGE ? c->size : 2 * PAGE;
	uint8_t *at = f->window + 2 * PAGE - len;

	if (c->bad_info)
		return sys_codectl(c->option, c->info, c->size, c->flags);
	memcpy(at, &c->arg, len);
	return sys_codectl(c->option, at, c->size, c->flags);
}

/* The change that a successful call has made; false if it cannot be undone. */
static bool note(struct fuzz *f, const struct call *c)
{
	uint64_t start, end;

	f->good++;
	text_of(c, &start, &end);
	if (c->kind == CODE_UNREGISTER) {
		if (f->exact && fuzz_is_ours(f, start, end))
			fuzz_remove(f, fuzz_find(f, start, end));
		return true;
	}
	if (!fuzz_is_ours(f, start, end))
		return !unregister_text(start, end);
	if (f->exact) {
		fuzz_drop(f, start, end);
		fuzz_add(f, start, end, c->kind == CODE_REGISTER_JIT);
	}
	return true;
}

bool fuzz_call(struct fuzz *f)
{
	uint64_t want, start, end;
	struct call call, *c = &call;
	long ret;

	make_call(f, c);
	if (one_in(f, 3))
		fuzz_make_wrong(f, c);
	want = expect(f, c);
	ret = do_call(f, c);
	f->calls++;
	if (ret <= 0 && (want & BIT(-ret)) && (ret || note(f, c)))
		return true;
	text_of(c, &start, &end);
	printf("# call %lu: codectl(%u, size %zu, flags %x) of %lx-%lx: %ld, not of %lx\n",
	       f->calls, c->option, c->size, c->flags, start, end, ret, want);
	return false;
}

/* --------------------------------------------------------- several calls in one */

#define BATCH 40

/* An entry, made so that its result can be recognised afterwards. */
static void make_entry(struct fuzz *f, struct call *c, bool wrong,
		       struct code_batch_entry *entry)
{
	do {
		make_call(f, c);
		if (wrong)
			fuzz_make_wrong(f, c);
	} while (c->any || c->flags || c->size > UINT32_MAX);
	*entry = (struct code_batch_entry) {
		.option = c->option,
		.info_size = c->size,
		.info = addr_of(c->bad_info ? c->info : &c->arg),
	};
}

/* Applies the changes of the first @done entries; and checks the error of the next. */
static bool check_batch(struct fuzz *f, const struct call *calls, unsigned int nr,
			long ret)
{
	unsigned int done = ret < 0 ? 0 : ret;

	if (done > nr)
		return false;
	for (unsigned int i = 0; i < done; i++)
		if (!(expect(f, &calls[i]) & OK) || !note(f, &calls[i]))
			return false;
	if (done == nr)
		return true;
	return expect(f, &calls[done]) & (ret < 0 ? BIT(-ret) : ~OK);
}

bool fuzz_batch(struct fuzz *f)
{
	unsigned int nr = 1 + fuzz_random(f, BATCH), wrong = fuzz_random(f, 2 * nr);
	struct call *calls = calloc(nr, sizeof(*calls));
	struct code_batch_entry entry[BATCH];
	struct code_batch batch = { .entries = addr_of(entry), .nr = nr };
	bool good;
	long ret;

	for (unsigned int i = 0; calls && i < nr; i++)
		make_entry(f, &calls[i], i == wrong, &entry[i]);
	ret = sys_codectl(CODE_BATCH, &batch, sizeof(batch), 0);
	f->calls++;
	good = calls && check_batch(f, calls, nr, ret);
	if (!good)
		printf("# call %lu: a batch of %u: %ld\n", f->calls, nr, ret);
	free(calls);
	return good;
}

/* -------------------------------------------------------------------- queries */

static const uint64_t query_errors = COMMON | BIT(ENOENT) | BIT(ENAMETOOLONG) |
				     BIT(ENOMEM);

static uint64_t make_query_wrong(struct fuzz *f, struct code_query *q)
{
	switch (fuzz_random(f, 8)) {
	case 0:
		q->size = fuzz_random(f, CODE_QUERY_SIZE_VER0);
		return BIT(EINVAL);
	case 1:
		q->size = PAGE + 1 + random_bits(f) % (-1ULL - PAGE);
		return BIT(E2BIG);
	case 2:
		q->query_flags |= 2ULL * CODE_QUERY_WAIT << fuzz_random(f, 61);
		return BIT(EINVAL);
	case 3:
		q->__reserved2 = 1;
		return BIT(EINVAL);
	case 4:
		q->path_size = 1;
		return BIT(EINVAL);
	default:
		return 0;
	}
}

static bool check_answer(struct fuzz *f, const struct code_query *q,
			 uint64_t addr)
{
	const struct fuzz_region *r = fuzz_overlap(f, addr, addr + 1);

	if (q->query_flags & CODE_QUERY_OR_NEXT && !r)
		return q->text_start > addr;
	return r && q->text_start == r->start && q->text_end == r->end &&
	       q->kind == (r->jit ? CODE_REGISTER_JIT : CODE_REGISTER_ELF);
}

bool fuzz_query(struct fuzz *f, int fd)
{
	uint64_t addr = addr_of(f->text) + fuzz_random(f, FUZZ_PAGES * PAGE);
	struct code_query *q = (void *)(f->window + 2 * PAGE - sizeof(*q));
	uint64_t want;
	char path[64];
	int ret;

	*q = (struct code_query) {
		.size = sizeof(*q),
		.query_addr = addr,
		.query_flags = fuzz_random(f, 2 * CODE_QUERY_WAIT),
	};
	want = make_query_wrong(f, q);
	if (!want && one_in(f, 2)) {
		q->path_addr = addr_of(path);
		q->path_size = 1 + fuzz_random(f, sizeof(path));
	}
	ret = code_query(fd, q);
	if (!want && !ret)
		want = check_answer(f, q, addr) ? OK : 0;
	else if (!want)
		want = query_errors;
	if (!want || !(want & BIT(-ret)) ||
	    (ret == -ENOENT && fuzz_overlap(f, addr, addr + 1))) {
		printf("# query of %lx, flags %llx: %d\n", addr, q->query_flags, ret);
		return false;
	}
	return true;
}
