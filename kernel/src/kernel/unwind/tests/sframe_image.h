/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Sections are encoded field by field, so that every field can be wrong, and
 * decoded from real user memory.  Addresses are relative to the start of the
 * section: the decoder reads no text.
 */
#ifndef _SFRAME_IMAGE_H
#define _SFRAME_IMAGE_H

#include <linux/string.h>

#include "../sframe.h"
#include "user_memory.h"

#define FLAGS		(SFRAME_F_FDE_SORTED | SFRAME_F_FDE_FUNC_START_PCREL)
#define SP		SFRAME_AMD64_SP
#define FP		SFRAME_AMD64_FP
#define RAX		0
#define RBX		3
#define R10		10
#define CFA		UNWIND_BASE_CFA

/* FRE info word; @size is 0, 1 or 2 for data words of 1, 2 or 4 bytes. */
#define INFO(base, count, size)	((size) << 5 | (count) << 1 | ((base) == SP))
/* Control words of flexible FDEs */
#define REG(reg)		((reg) << 3 | SFRAME_FLEX_REG)
#define DEREF(reg)		(REG(reg) | SFRAME_FLEX_DEREF)
#define DEREF_CFA		SFRAME_FLEX_DEREF

#define VAL(base, off)		{ UNWIND_LOC_VAL, base, off }
#define MEM(base, off)		{ UNWIND_LOC_MEM, base, off }
#define SAME			{ UNWIND_LOC_SAME }

struct fre_spec {
	u32	start;
	u8	info;
	s32	word[7];
};

struct fde_spec {
	s64	func;
	u32	size;
	u8	info;
	u8	info2;
	u8	rep_size;
	u16	nr;
	struct fre_spec fre[3];
};

/* A section under construction, at most a page, and where it will be. */
struct image {
	struct sframe_header	hdr;
	u8			*buf;
	size_t			len;
	unsigned long		at;
};

static inline void put_bytes(struct image *img, u64 val, unsigned int bytes)
{
	memcpy(img->buf + img->len, &val, bytes);
	img->len += bytes;
}

static inline void put_fre(struct image *img, unsigned int type,
			   const struct fre_spec *fre)
{
	unsigned int i;

	put_bytes(img, fre->start, 1 << type);
	put_bytes(img, fre->info, 1);
	for (i = 0; i < SFRAME_FRE_DATAWORD_COUNT(fre->info); i++)
		put_bytes(img, fre->word[i],
			  1 << SFRAME_FRE_DATAWORD_SIZE(fre->info));
}

static inline void put_fde(struct image *img, const struct fde_spec *fde)
{
	unsigned int i;

	put_bytes(img, fde->nr, 2);
	put_bytes(img, fde->info, 1);
	put_bytes(img, fde->info2, 1);
	put_bytes(img, fde->rep_size, 1);
	for (i = 0; i < fde->nr; i++)
		put_fre(img, fde->info & SFRAME_FDE_INFO_FRE_TYPE, &fde->fre[i]);
}

/* Header, index and FREs, in this order and without gaps. */
static inline void encode(struct image *img, u8 flags, s8 fixed_fp, s8 fixed_ra,
			  const struct fde_spec *fdes, unsigned int nr)
{
	size_t idx = sizeof(img->hdr), fres = idx + nr * sizeof(struct sframe_fde_idx);
	struct sframe_fde_idx fde = {};
	unsigned int i;

	img->len = fres;
	for (i = 0; i < nr; i++, idx += sizeof(fde)) {
		fde.func_start_offset = fdes[i].func;
		if (flags & SFRAME_F_FDE_FUNC_START_PCREL)
			fde.func_start_offset -= idx;
		fde.func_size = fdes[i].size;
		fde.func_start_fre_off = img->len - fres;
		memcpy(img->buf + idx, &fde, sizeof(fde));
		put_fde(img, &fdes[i]);
	}

	img->hdr = (struct sframe_header) {
		.magic			= SFRAME_MAGIC,
		.version		= SFRAME_VERSION_3,
		.flags			= flags,
		.abi_arch		= SFRAME_ABI_AMD64_ENDIAN_LITTLE,
		.cfa_fixed_fp_offset	= fixed_fp,
		.cfa_fixed_ra_offset	= fixed_ra,
		.num_fdes		= nr,
		.fre_len		= img->len - fres,
		.freoff			= fres - sizeof(img->hdr),
	};
	memcpy(img->buf, &img->hdr, sizeof(img->hdr));
}

/* Put the section in place and read its header from there. */
static inline int load(struct kunit *test, const struct image *img,
		       struct sframe_section *sec)
{
	KUNIT_ASSERT_EQ(test, 0, copy_to_user((void __user *)img->at, img->buf,
					      img->len));
	*sec = (struct sframe_section) {
		.start = img->at, .end = img->at + img->len,
	};

	return sframe_read_header(sec);
}

static inline int find(const struct sframe_section *sec, s64 ip,
		       struct unwind_rule *rule)
{
	memset(rule, 0x5a, sizeof(*rule));

	return sframe_find(sec, sec->start + ip, rule);
}

static inline struct image *new_image(struct kunit *test, unsigned long at)
{
	struct image *img = kunit_kzalloc(test, sizeof(*img), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, img);
	img->buf = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, img->buf);
	img->at = at;

	return img;
}

static inline int image_test_init(struct kunit *test)
{
	test->priv = new_image(test, map_user(test, 0, PAGE_SIZE));

	return 0;
}

#endif /* _SFRAME_IMAGE_H */
