// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include "sframe_build.h"

static uint8_t *put(uint8_t *p, int64_t value, size_t size)
{
	memcpy(p, &value, size);
	return p + size;
}

static size_t fre_size(const struct fde_spec *fde, const struct fre_spec *fre)
{
	return (1U << (fde->info & 3)) + 1 +
	       (fre->info >> 1 & 0xf) * (1U << (fre->info >> 5 & 3));
}

static size_t attr_size(const struct fde_spec *fde)
{
	size_t size = sizeof(struct sframe_attr);

	for (unsigned int i = 0; i < fde->nr_fres; i++)
		size += fre_size(fde, &fde->fre[i]);
	return size;
}

static uint8_t *put_function(uint8_t *p, const struct fde_spec *fde)
{
	const struct sframe_attr attr = {
		.num_fres = fde->nr_fres,
		.info = fde->info,
		.info2 = fde->info2,
		.rep_size = fde->rep_size,
	};

	memcpy(p, &attr, sizeof(attr));
	p += sizeof(attr);
	for (unsigned int i = 0; i < fde->nr_fres; i++) {
		const struct fre_spec *fre = &fde->fre[i];
		unsigned int count = fre->info >> 1 & 0xf;

		p = put(p, fre->start, 1U << (fde->info & 3));
		*p++ = fre->info;
		for (unsigned int w = 0; w < count; w++)
			p = put(p, w < MAX_WORDS ? fre->word[w] : 0,
				1U << (fre->info >> 5 & 3));
	}
	return p;
}

size_t sframe_build(void *dst, size_t room, const struct fde_spec *fde,
		    unsigned int nr, uint8_t auxhdr_len)
{
	struct sframe_header *h = dst;
	size_t fre_len = 0, size;
	uint8_t *p;

	for (unsigned int i = 0; i < nr; i++)
		fre_len += attr_size(&fde[i]);
	size = sizeof(*h) + auxhdr_len + nr * sizeof(struct sframe_fde) +
	       fre_len;
	if (size > room)
		return 0;
	*h = (struct sframe_header) {
		.magic = SFRAME_MAGIC,
		.version = SFRAME_VERSION,
		.flags = SFRAME_F_SORTED | SFRAME_F_PCREL,
		.abi = SFRAME_ABI_AMD64,
		.fixed_ra_off = -8,
		.auxhdr_len = auxhdr_len,
		.num_fdes = nr,
		.fre_len = fre_len,
		.fre_off = nr * sizeof(struct sframe_fde),
	};
	memset(h + 1, 0xa5, auxhdr_len);
	p = (uint8_t *)sframe_fde_at(dst, nr);
	for (unsigned int i = 0; i < nr; i++) {
		struct sframe_fde *index = sframe_fde_at(dst, i);

		index->func_off = fde[i].func - (uintptr_t)index;
		index->func_size = fde[i].size;
		index->fre_off = p - (uint8_t *)sframe_fde_at(dst, nr);
		h->num_fres += fde[i].nr_fres;
		p = put_function(p, &fde[i]);
	}
	return size;
}

static uint8_t *after_header(void *section)
{
	struct sframe_header *h = section;

	return (uint8_t *)(h + 1) + h->auxhdr_len;
}

struct sframe_fde *sframe_fde_at(void *section, unsigned int i)
{
	struct sframe_header *h = section;

	return (struct sframe_fde *)(after_header(section) + h->fde_off) + i;
}

struct sframe_attr *sframe_attr_at(void *section, unsigned int i)
{
	struct sframe_header *h = section;

	return (struct sframe_attr *)(after_header(section) + h->fre_off +
				      sframe_fde_at(section, i)->fre_off);
}

uint8_t *sframe_fre_at(void *section, unsigned int i)
{
	return (uint8_t *)(sframe_attr_at(section, i) + 1);
}
