// SPDX-License-Identifier: GPL-2.0
/*
 * libsframe, wrapped in the kernel's types: its rule for an address, and small sections that it
 * encodes from the functions of a large one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sframe-api.h>

#include "sframe_lib.h"

#define SEED_FDES	4
#define AMD64_FP	6
#define AMD64_SP	7

struct lib_section {
	sframe_decoder_ctx *ctx;
	u32 nr;
};

struct funcdesc {
	u32 nr_fres;
	u32 size;
	int64_t off;
	unsigned char info;
	unsigned char info2;
	u8 rep_size;
};

static struct funcdesc get_funcdesc(struct lib_section *lib, u32 i)
{
	struct funcdesc fd = {};

	if (sframe_decoder_get_funcdesc_v3(lib->ctx, i, &fd.nr_fres, &fd.size,
					   &fd.off, &fd.info, &fd.info2,
					   &fd.rep_size))
		abort();

	return fd;
}

struct lib_section *lib_open(const char *data, size_t size, u32 *nr)
{
	struct lib_section *lib = calloc(1, sizeof(*lib));
	int err = 0;

	if (!lib)
		return NULL;
	lib->ctx = sframe_decode(data, size, &err);
	if (!lib->ctx) {
		free(lib);
		return NULL;
	}
	lib->nr = sframe_decoder_get_num_fidx(lib->ctx);
	*nr = lib->nr;

	return lib;
}

void lib_close(struct lib_section *lib)
{
	sframe_decoder_free(&lib->ctx);
	free(lib);
}

struct lib_fde lib_fde(struct lib_section *lib, u32 i)
{
	struct funcdesc fd = get_funcdesc(lib, i);
	int err = 0;
	u32 at = sframe_decoder_get_offsetof_fde_start_addr(lib->ctx, i,
								 &err);
	bool mask = SFRAME_V3_FDE_PC_TYPE(fd.info) == SFRAME_V3_FDE_PCTYPE_MASK;

	return (struct lib_fde) {
		.start = fd.off + at, .size = fd.size,
		.rep_size = mask ? fd.rep_size : 0,
	};
}

bool lib_fre_start(struct lib_section *lib, u32 fde, u32 fre, u32 *start)
{
	sframe_frame_row_entry row;

	if (fre >= get_funcdesc(lib, fde).nr_fres ||
	    sframe_decoder_get_fre(lib->ctx, fde, fre, &row))
		return false;
	*start = row.fre_start_addr;

	return true;
}

/* The FDE that covers @pc, found without libsframe's own bisection. */
static bool find_fde(struct lib_section *lib, s64 pc, u32 *found)
{
	u32 low = 0, high = lib->nr;

	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (lib_fde(lib, mid).start <= pc)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return false;
	*found = low - 1;

	return pc - lib_fde(lib, low - 1).start < lib_fde(lib, low - 1).size;
}

static struct unwind_loc mem_cfa(s32 off)
{
	return (struct unwind_loc) { UNWIND_LOC_MEM, UNWIND_BASE_CFA, off };
}

static int default_rule(struct lib_section *lib, sframe_frame_row_entry *row,
			struct unwind_rule *rule)
{
	int type = SFRAME_FDE_TYPE_DEFAULT, err = 0, err_fp = 0;
	u8 base = sframe_fre_get_base_reg_id(row, &err);
	s32 fp;

	if (err)
		return -EINVAL;
	rule->cfa = (struct unwind_loc) {
		UNWIND_LOC_VAL, base == SFRAME_BASE_REG_SP ? AMD64_SP : AMD64_FP,
		sframe_fre_get_cfa_offset(lib->ctx, row, type, &err),
	};
	if (err)
		return -EINVAL;
	rule->ra = mem_cfa(sframe_fre_get_ra_offset(lib->ctx, row, type, &err));
	if (err)
		return -EINVAL;
	fp = sframe_fre_get_fp_offset(lib->ctx, row, type, &err_fp);
	if (!err_fp)
		rule->fp = mem_cfa(fp);

	return 0;
}

static struct unwind_loc flex_loc(u32 ctl, s32 off)
{
	return (struct unwind_loc) {
		SFRAME_V3_FLEX_FDE_CTRLWORD_DEREF_P(ctl) ? UNWIND_LOC_MEM :
							   UNWIND_LOC_VAL,
		SFRAME_V3_FLEX_FDE_CTRLWORD_REG_P(ctl) ?
			SFRAME_V3_FLEX_FDE_CTRLWORD_REGNUM(ctl) :
			UNWIND_BASE_CFA,
		off,
	};
}

/* The order of the control words is that of dump_sframe_func_fres_flex(). */
static int flex_rule(struct lib_section *lib, sframe_frame_row_entry *row,
		     struct unwind_rule *rule)
{
	int type = SFRAME_FDE_TYPE_FLEX, err = 0, err_off = 0, fp_idx = 4;
	u32 ctl = sframe_get_fre_udata(row, 0, &err);
	s32 off = sframe_fre_get_cfa_offset(lib->ctx, row, type, &err_off);

	if (err || err_off)
		return -EINVAL;
	rule->cfa = flex_loc(ctl, off);

	ctl = sframe_get_fre_udata(row, 2, &err);
	if (!err && !ctl)
		fp_idx = 3;
	if (err || !ctl) {
		rule->ra = mem_cfa(sframe_decoder_get_fixed_ra_offset(lib->ctx));
	} else {
		off = sframe_fre_get_ra_offset(lib->ctx, row, type, &err_off);
		rule->ra = flex_loc(ctl, off);
	}

	ctl = sframe_get_fre_udata(row, fp_idx, &err);
	if (!err && ctl) {
		off = sframe_fre_get_fp_offset(lib->ctx, row, type, &err_off);
		rule->fp = flex_loc(ctl, off);
	} else if (sframe_decoder_get_fixed_fp_offset(lib->ctx)) {
		rule->fp = mem_cfa(sframe_decoder_get_fixed_fp_offset(lib->ctx));
	}

	return err_off ? -EINVAL : 0;
}

/* As sframe_find(); rule->start is relative to the section. */
int lib_find(struct lib_section *lib, s64 pc, struct unwind_rule *rule)
{
	sframe_frame_row_entry row = {};
	struct funcdesc fd;
	u32 i;
	int err = 0;

	if (!find_fde(lib, pc, &i))
		return sframe_find_fre(lib->ctx, pc, &row) ? -ENOENT : 0;

	fd = get_funcdesc(lib, i);
	rule->start = lib_fde(lib, i).start;
	rule->size = fd.size;
	if (SFRAME_V3_FDE_SIGNAL_P(fd.info))
		rule->flags = fd.nr_fres ? UNWIND_RULE_SIGNAL | UNWIND_RULE_EXACT :
					   UNWIND_RULE_SIGNAL;
	if (unwind_rule_is_sigframe(rule->flags))
		return 0;
	if (sframe_find_fre(lib->ctx, pc, &row))
		return -EINVAL;
	if (sframe_fre_get_ra_undefined_p(lib->ctx, &row, &err)) {
		rule->flags |= UNWIND_RULE_OUTERMOST;
		return err ? -EINVAL : 0;
	}

	return SFRAME_V3_FDE_TYPE(fd.info2) == SFRAME_FDE_TYPE_FLEX ?
	       flex_rule(lib, &row, rule) : default_rule(lib, &row, rule);
}

/* Only libsframe's own lookup. */
int lib_look(struct lib_section *lib, s64 pc)
{
	sframe_frame_row_entry row;

	return sframe_find_fre(lib->ctx, pc, &row);
}

/* Does a row have the words of its kind of FDE? */
static bool words_fit(struct lib_section *lib, const struct funcdesc *fd,
		      const sframe_frame_row_entry *row)
{
	u32 nr = SFRAME_V3_FRE_DATAWORD_COUNT(row->fre_info), i = 0, what;
	bool has_ra = sframe_decoder_get_fixed_ra_offset(lib->ctx);
	u32 least = 1 + !has_ra;
	u32 most = least + !sframe_decoder_get_fixed_fp_offset(lib->ctx);
	int err = 0;

	if (!nr)
		return true;
	if (SFRAME_V3_FDE_TYPE(fd->info2) != SFRAME_FDE_TYPE_FLEX)
		return nr >= least && nr <= most;
	for (what = 0; what < 3 && i < nr; what++) {
		u32 ctl = sframe_get_fre_udata(row, i, &err);

		/* A CFA needs a register, and no address near it is an RA. */
		if (err || (ctl & 4) || (ctl & 1 && ctl >> 3 > 15) ||
		    (!what && !(ctl & 1)) || (what == 1 && ctl && !(ctl & 3)))
			return false;
		has_ra |= what == 1 && ctl;
		i += ctl ? 2 : 1;
	}

	return i == nr && has_ra;
}

/* From the start of the function; a row that libsframe refuses takes a byte. */
static bool rows_ascend(struct lib_section *lib, u32 fde, u32 nr)
{
	sframe_frame_row_entry row;
	s64 before = -1;
	u32 i;

	for (i = 0; i < nr; i++) {
		if (sframe_decoder_get_fre(lib->ctx, fde, i, &row)) {
			before++;
			continue;
		}
		if (before < 0 ? row.fre_start_addr : row.fre_start_addr <= before)
			return false;
		before = row.fre_start_addr;
	}

	return true;
}

/* libsframe finds a function 4 GiB further on. */
static bool is_found_far_away(struct lib_section *lib, s64 pc)
{
	u32 i;

	for (i = 0; i < lib->nr; i++) {
		s64 distance = pc - lib_fde(lib, i).start;

		if (distance > UINT32_MAX && (u32)distance < lib_fde(lib, i).size)
			return true;
	}

	return false;
}

/*
 * Why the kernel may refuse what libsframe accepts, according to what libsframe has
 * read, or NULL.  With @either each may find a different row.
 */
const char *lib_doubt(struct lib_section *lib, s64 pc, bool *either)
{
	sframe_frame_row_entry row;
	struct funcdesc fd;
	u32 i, j;

	*either = false;
	if (!find_fde(lib, pc, &i))
		return is_found_far_away(lib, pc) ?
		       "libsframe: takes distances modulo 4 GiB" : NULL;
	fd = get_funcdesc(lib, i);
	if ((fd.info & 0x4f) > SFRAME_FRE_TYPE_ADDR4 ||
	    fd.info2 > SFRAME_FDE_TYPE_FLEX)
		return "an FDE of no known kind";
	*either = !rows_ascend(lib, i, fd.nr_fres);
	if (*either)
		return "rows out of order";
	for (j = 0; j < fd.nr_fres; j++) {
		if (sframe_decoder_get_fre(lib->ctx, i, j, &row))
			return "a row of no known kind";
		if (SFRAME_V1_FRE_MANGLED_RA_P(row.fre_info))
			return "a mangled return address";
		if (!words_fit(lib, &fd, &row))
			return "words that do not fit the row";
	}

	return NULL;
}

static void add_fde(struct lib_section *lib, sframe_encoder_ctx *out,
		    u32 from, u32 to)
{
	struct funcdesc fd = get_funcdesc(lib, from);
	size_t size;
	u32 nr;
	char *buf;

	if (sframe_decoder_get_fres_buf(lib->ctx, from, &buf, &size, &nr) ||
	    sframe_encoder_add_funcdesc_v3(out, fd.off, fd.size, fd.info,
					   fd.info2, fd.rep_size, fd.nr_fres) ||
	    sframe_encoder_add_fres_buf(out, to, nr, buf, size))
		abort();
}

static bool write_seed(struct lib_section *lib, const char *path, u32 first)
{
	/* Of struct choice in sframe_fuzz.c: no fault, and all else 0 */
	static const unsigned char choice[16] = { [12] = 0xff, [13] = 0xff };
	sframe_encoder_ctx *out;
	size_t size = 0;
	u32 i;
	int err = 0;
	FILE *file;
	char *buf;
	bool ok;

	out = sframe_encode(SFRAME_VERSION_3,
			    sframe_decoder_get_flags(lib->ctx),
			    sframe_decoder_get_abi_arch(lib->ctx),
			    sframe_decoder_get_fixed_fp_offset(lib->ctx),
			    sframe_decoder_get_fixed_ra_offset(lib->ctx), &err);
	if (!out)
		return false;
	for (i = 0; i < SEED_FDES && first + i < lib->nr; i++)
		add_fde(lib, out, first + i, i);
	buf = sframe_encoder_write(out, &size, true, &err);
	file = buf ? fopen(path, "we") : NULL;
	ok = file && fwrite(choice, sizeof(choice), 1, file) == 1 &&
	     fwrite(buf, size, 1, file) == 1;
	if (file && fclose(file))
		ok = false;
	sframe_encoder_free(&out);

	return ok;
}

/* One for each kind of function; returns how many were written, or -1. */
int lib_write_seeds(struct lib_section *lib, const char *prefix)
{
	bool seen[2][256] = {};
	char path[4096];
	int nr = 0;
	u32 i;

	for (i = 0; i < lib->nr; i++) {
		struct funcdesc fd = get_funcdesc(lib, i);
		bool *kind = &seen[fd.info2 & 1][fd.info];

		if (*kind)
			continue;
		*kind = true;
		snprintf(path, sizeof(path), "%s-%u", prefix, i);
		if (!write_seed(lib, path, i))
			return -1;
		nr++;
	}

	return nr;
}
