/* SPDX-License-Identifier: MIT */
/*
 * Reads a file for its names, in a process without privileges: sandbox.h.  That has nothing
 * of the files but their descriptors, which it maps into memory.
 */
#ifndef READER_H
#define READER_H

#include "elf_names.h"

enum reader_kind { READER_ELF, READER_MAP };

/* What is to be read, as it was before the process was started. */
struct reader_job {
	enum reader_kind kind;
	uint32_t unit;
	uint32_t build_id_len;
	uint8_t build_id[BUILD_ID_MAX];
	uint64_t sizes[NR_IMAGES];	/* 0: there is no such image */
	uint64_t nr;			/* offsets */
};

/* The descriptors that it has, by their places; without an image anything stands for it. */
enum {
	READER_OFFSETS,			/* uint64_t each */
	READER_ANSWERS,			/* answer_write() for each offset */
	READER_IMAGES,
	READER_DESCRIPTORS = READER_IMAGES + NR_IMAGES
};

/*
 * As sandbox_work, with a job: writes a struct elf_wanted to @out, or nothing if the file is
 * not the one; and what it answers.
 */
void reader_want(void *job, int out);
void reader_answer(void *job, int out);

#endif
