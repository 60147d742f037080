/* SPDX-License-Identifier: MIT */
/*
 * Reads a file for its names, in a process without privileges: sandbox.h.  All it has
 * of the files are their descriptors, which it maps into memory.
 */
#ifndef READER_H
#define READER_H

#include "elf_names.h"

enum reader_kind { READER_ELF, READER_MAP };

/* What to read, prepared before the process is started. */
struct reader_job {
	enum reader_kind kind;
	uint32_t unit;
	uint32_t build_id_len;
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t sizes[NR_IMAGES];	/* 0: there is no such image */
	uint64_t nr;			/* offsets */
};

/* Its descriptors, by position; a missing image has any placeholder. */
enum {
	READER_OFFSETS,			/* uint64_t each */
	READER_ANSWERS,			/* answer_write() for each offset */
	READER_IMAGES,
	READER_DESCRIPTORS = READER_IMAGES + NR_IMAGES
};

/*
 * As sandbox_work, with a job: writes a struct elf_wanted to @out, or nothing if it is
 * the wrong file; and its answers.
 */
void reader_want(void *job, int out);
void reader_answer(void *job, int out);

#endif
