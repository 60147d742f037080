// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answer.h"
#include "perf_map.h"
#include "reader.h"
#include "sandbox.h"

static void *map(unsigned int descriptor, size_t size)
{
	void *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, SANDBOX_FD + descriptor, 0) :
			    MAP_FAILED;

	return data == MAP_FAILED ? NULL : data;
}

/* libelf may write to what it reads. */
static struct elf_names *open_names(const struct reader_job *job)
{
	struct image images[NR_IMAGES];

	for (size_t i = 0; i < NR_IMAGES; i++) {
		images[i].size = job->sizes[i];
		images[i].data = map(READER_IMAGES + i, job->sizes[i]);
		if (images[i].data &&
		    mprotect(images[i].data, images[i].size, PROT_READ | PROT_WRITE))
			images[i].data = NULL;
	}
	return elf_names_open(images, job->build_id, job->build_id_len);
}

void reader_want(void *arg, int out)
{
	struct elf_names *names = open_names(arg);
	struct elf_wanted wanted;

	if (!names)
		return;
	elf_names_wanted(names, &wanted);
	if (write(out, &wanted, sizeof(wanted)) < 0)
		return;
}

static void answer_by_elf(const struct reader_job *job, const uint64_t *offsets, FILE *to)
{
	struct elf_names *names = open_names(job);
	const void *bits;
	size_t len;

	if (names) {
		len = elf_names_build_id(names, &bits);
		answer_write_build_id(bits, len, to);
	}
	for (uint64_t i = 0; names && i < job->nr; i++) {
		struct symbol symbol = elf_names_find(names, job->unit, offsets[i]);

		answer_write(&symbol, to);
		symbol_free(&symbol);
	}
}

static void answer_by_map(const struct reader_job *job, const uint64_t *offsets, FILE *to)
{
	size_t size = job->sizes[IMAGE_FILE];
	const char *text = map(READER_IMAGES + IMAGE_FILE, size);
	struct perf_map perf_map;

	if (!text || !perf_map_parse(&perf_map, text, size))
		return;
	answer_write_build_id(NULL, 0, to);
	for (uint64_t i = 0; i < job->nr; i++) {
		const struct perf_name *found = perf_map_find(&perf_map, offsets[i]);
		struct symbol symbol = { 0 };

		if (found) {
			symbol.name = strndup(found->name.at, found->name.len);
			symbol.offset = offsets[i] - found->start;
		}
		answer_write(&symbol, to);
		symbol_free(&symbol);
	}
}

/* No stdio stream: that would query the descriptor. */
static ssize_t write_answers(void *unused, const char *data, size_t len)
{
	(void)unused;
	return write(SANDBOX_FD + READER_ANSWERS, data, len);
}

void reader_answer(void *arg, int out)
{
	const struct reader_job *job = arg;
	const uint64_t *offsets = map(READER_OFFSETS, job->nr * sizeof(*offsets));
	FILE *to = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = write_answers });

	(void)out;
	if (!offsets || !to)
		return;
	if (job->kind == READER_ELF)
		answer_by_elf(job, offsets, to);
	else
		answer_by_map(job, offsets, to);
	fflush(to);
}
