// SPDX-License-Identifier: GPL-2.0
/*
 * Damages sections, a byte at a time, and compares what the decoder of the kernel and libsframe
 * refuse, and their rules otherwise.  If they differ, a test must find the cause; it is counted as
 * well if libsframe dies.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/uaccess.h>

#include "compare.h"
#include "fence.h"
#include "section.h"
#include "sframe.h"
#include "sframe_lib.h"

#define MAX_PCS		4096
#define MAX_COUNTS	32
#define MAX_SHOWN	10
#define DAMAGES		12
#define MAX_ROWS	8

struct user_arena user_arena;

static struct {
	const char *what;
	unsigned long nr;
} counts[MAX_COUNTS];

static s64 pcs[MAX_PCS];
static unsigned int nr_pcs;
static unsigned long unexplained;

static void count(const char *what)
{
	unsigned int i;

	for (i = 0; i < MAX_COUNTS - 1 && counts[i].what; i++) {
		if (!strcmp(counts[i].what, what))
			break;
	}
	counts[i].what = what;
	counts[i].nr++;
}

static void add_pc(s64 pc)
{
	if (nr_pcs < MAX_PCS)
		pcs[nr_pcs++] = pc;
}

/* Where the rules of the undamaged section begin and end. */
static bool collect_pcs(const char *data, size_t size)
{
	u32 nr = 0, i, start;
	struct lib_section *lib = lib_open(data, size, &nr);
	int j;

	nr_pcs = 0;
	for (i = 0; i < nr; i++) {
		struct lib_fde fde = lib_fde(lib, i);

		add_pc(fde.start - 1);
		add_pc(fde.start + fde.size - 1);
		add_pc(fde.start + fde.size);
		for (j = 0; j < MAX_ROWS && lib_fre_start(lib, i, j, &start); j++)
			add_pc(fde.start + start);
	}
	if (lib)
		lib_close(lib);

	return nr;
}

/* Are the parts that the header names within the section? */
static bool parts_fit(const struct sframe_header *hdr, size_t size)
{
	u64 parts = sizeof(*hdr) + hdr->auxhdr_len;

	return parts + hdr->fdeoff + hdr->num_fdes * 16ull <= size &&
	       parts + hdr->freoff + hdr->fre_len <= size;
}

/* Why the two differ about a header, or NULL. */
static const char *header_cause(const struct sframe_header *hdr, size_t size,
				int ret, bool alive)
{
	if (ret == -EOPNOTSUPP && hdr->version != SFRAME_VERSION_3)
		return "refused: another version";
	if (ret == -EOPNOTSUPP && hdr->abi_arch != SFRAME_ABI_AMD64_ENDIAN_LITTLE)
		return "refused: another ABI";
	if (ret == -EOPNOTSUPP && !(hdr->flags & SFRAME_F_FDE_SORTED))
		return "refused: FDEs that are not sorted";
	if (ret == -EINVAL && !parts_fit(hdr, size))
		return alive ? "libsframe: takes parts outside of the section" :
			       "libsframe: dies of parts outside of the section";
	if (!ret && !alive)
		return "libsframe: dies while it reads the index";
	if (!ret && hdr->fdeoff > hdr->freoff)
		return "libsframe: refuses an index behind the rows";

	return NULL;
}

/* Why no address can be compared, or NULL. */
static const char *index_cause(struct lib_section *lib, u32 nr,
			       const struct sframe_header *hdr)
{
	u32 i;

	if (!(hdr->flags & SFRAME_F_FDE_FUNC_START_PCREL))
		return "libsframe: takes starts for relative to their field";
	if (hdr->fdeoff)
		return "libsframe: takes the index for the first part";
	for (i = 0; i < nr; i++) {
		struct lib_fde fde = lib_fde(lib, i);

		if (fde.start != (s64)((u64)fde.start << 16) >> 16)
			return "a function outside of the address space";
		if (i + 1 < nr && fde.start + fde.size > lib_fde(lib, i + 1).start)
			return "functions that overlap or are not sorted";
	}

	return NULL;
}

static void show(size_t at, u8 val, s64 pc, int ret, struct unwind_rule *ours,
		 int lib_ret, struct unwind_rule *theirs)
{
	if (unexplained++ >= MAX_SHOWN)
		return;
	printf("# byte %zu is %u, section %+lld\n", at, val, (long long)pc);
	show_rule("kernel", ret, ours);
	show_rule("libsframe", lib_ret, theirs);
}

static void compare(struct sframe_section *sec, struct lib_section *lib, s64 pc,
		    size_t at, u8 val)
{
	struct unwind_rule ours = {}, theirs = {};
	const char *volatile doubt = NULL;
	volatile int lib_ret = 0;
	bool either = false, alive;
	int ret = sframe_find(sec, sec->start + pc, &ours);

	if (!ret && !take_common(&ours))
		ret = -EPROTO;
	/* A function without FREs is an error to libsframe. */
	if (ret == -ENODATA)
		ret = -EINVAL;
	alive = fence_survives(lib_ret = lib_find(lib, pc, &theirs));
	if (!alive) {
		count("libsframe: dies of a lookup");
		return;
	}
	theirs.start += sec->start;
	if (ret == lib_ret && (ret || same_rule(&ours, &theirs))) {
		count(ret ? "same: no rule" : "same: a rule");
		return;
	}
	alive = fence_survives(doubt = lib_doubt(lib, pc, &either));
	if (!alive)
		count("libsframe: dies of rows that it did not look at");
	else if (doubt && (ret || either))
		count(doubt);
	else
		show(at, val, pc, ret, &ours, lib_ret, &theirs);
}

static void decode(char *data, size_t size, size_t at)
{
	struct sframe_section sec = {
		.start = (unsigned long)data, .end = (unsigned long)data + size,
	};
	const struct sframe_header *hdr = (void *)data;
	struct lib_section *volatile lib = NULL;
	u32 nr = 0, i;
	const char *cause;
	bool alive;
	int ret;

	user_arena.start = sec.start;
	user_arena.end = sec.end;
	user_arena.fault = sec.end;
	ret = sframe_read_header(&sec);
	alive = fence_survives(lib = lib_open(data, size, &nr));
	if (!alive || !ret != !!lib) {
		cause = header_cause(hdr, size, ret, alive);
		if (cause)
			count(cause);
		else
			show(at, data[at], 0, ret, &(struct unwind_rule) {},
			     alive && lib ? 0 : -EINVAL, &(struct unwind_rule) {});
		return;
	}
	count(ret ? "same: section refused" : "same: section taken");
	cause = ret ? NULL : index_cause(lib, nr, hdr);
	if (cause)
		count(cause);
	for (i = 0; !ret && !cause && i < nr_pcs; i++)
		compare(&sec, lib, pcs[i], at, data[at]);
}

/* Each bit flipped, no bit, all bits, one more and one less */
static u8 damaged(u8 val, unsigned int how)
{
	const u8 other[] = { 0, 0xff, val + 1, val - 1 };

	return how < 8 ? val ^ 1u << how : other[how - 8];
}

/* Of a large section, each byte of the header and 512 others. */
static bool damage_file(const char *path)
{
	size_t size = 0, at;
	char *sec = section_read(path, &size), *data;
	unsigned long before = unexplained;
	unsigned int how;

	if (!sec || !collect_pcs(sec, size))
		return false;
	for (at = 0; at < size;
	     at += at < sizeof(struct sframe_header) ? 1 : 1 + size / 512) {
		for (how = 0; how < DAMAGES; how++) {
			data = fence_alloc(size);
			memcpy(data, sec, size);
			data[at] = damaged(sec[at], how);
			decode(data, size, at);
			fence_free_all();
		}
	}
	free(sec);

	return unexplained == before;
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	fence_init();
	printf("TAP version 13\n1..%d\n", argc - 1);
	for (i = 1; i < argc; i++) {
		bool ok = damage_file(argv[i]);
		const char *name = strrchr(argv[i], '/');

		failed += !ok;
		printf("%sok %d - decoder and libsframe agree on what is wrong with %s\n",
		       ok ? "" : "not ", i, name ? name + 1 : argv[i]);
	}
	for (i = 0; i < MAX_COUNTS && counts[i].what; i++)
		printf("# %9lu %s\n", counts[i].nr, counts[i].what);
	printf("# %9lu unexplained\n", unexplained);

	return failed || argc < 2;
}
