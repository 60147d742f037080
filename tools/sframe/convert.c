// SPDX-License-Identifier: MIT
/*
 * A table for a file that may be hostile.  The process that reads the file sends the
 * object twice, without and with the statistics of its rows, and then the rows.  All of
 * that is checked here, and the table is written here: a process that is taken over can
 * only cause a table with wrong rules for that file.
 */
#include <elf.h>
#include <errno.h>
#include <libelf.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "convert.h"
#include "frames.h"
#include "object.h"

/* libLLVM 14, with 5 MB of CFI, takes 100 MB and a second. */
#define MAX_MEMORY	(2UL << 30)

size_t convert_max_table = 64UL << 20;

struct bytes {
	void *data;
	size_t size;
};

/* --------------------------------------------------- in the confined process */

static void send(int out, const void *data, size_t len)
{
	ssize_t sent;

	for (size_t done = 0; done < len; done += sent) {
		sent = write(out, (const char *)data + done, len - done);
		if (sent < 0)
			return;
	}
}

static void read_object(void *arg, int out)
{
	const struct bytes *image = arg;
	struct object object;
	struct row *rows;
	Elf *elf;

	elf = object_open(image->data, image->size, &object);
	send(out, &object, sizeof(object));
	if (!elf)
		return;
	rows = frames_rows(elf, &object);
	if (!rows && !object.error)
		object.error = OBJECT_NO_ROWS;
	send(out, &object, sizeof(object));
	if (rows)
		send(out, rows, object.nr_rows * sizeof(*rows));
}

/* ----------------------------------------------------------------- outside */

const char *convert_error(unsigned int error)
{
	static const char * const texts[NR_OBJECT_ERRORS] = {
		[OBJECT_NOT_ELF] = "not an ELF program or library for x86-64",
		[OBJECT_NO_CODE] = "has no code",
		[OBJECT_NO_CFI] = "has no CFI",
		[OBJECT_NO_ROWS] = "has no CFI that covers its code",
		[OBJECT_MALFORMED] = "malformed segments",
		[OBJECT_TOO_LARGE] = "too many rows of CFI",
		[OBJECT_NO_MEMORY] = "its CFI takes too much memory",
	};

	return texts[error];
}

const char *convert_cause(unsigned int cause)
{
	static const char * const texts[NR_CAUSES] = {
		[CAUSE_CFA] = "the CFA is an expression that SFrame has no form for",
		[CAUSE_RA] = "the return address is in no place that SFrame can say",
		[CAUSE_FP] = "the frame pointer is in no place that SFrame can say",
		[CAUSE_FP_UNDEFINED] = "the frame pointer is undefined",
		[CAUSE_SP] = "the caller's stack pointer is not the CFA",
		[CAUSE_OVERLAP] = "several FDEs cover it",
		[CAUSE_MALFORMED] = "malformed CFI",
	};

	return texts[cause];
}

/* Is the range in one of the segments? */
static bool is_code(const struct object *object, uint64_t start, uint64_t size)
{
	for (size_t i = 0; i < object->nr_segments; i++) {
		uint64_t off = start - object->segments[i].vaddr;

		if (off < object->segments[i].len &&
		    size <= object->segments[i].len - off)
			return true;
	}
	return false;
}

static bool is_object(const struct object *object)
{
	if ((object->type != ET_EXEC && object->type != ET_DYN) ||
	    object->build_id_len > MAX_BUILD_ID || !object->nr_segments ||
	    object->nr_segments > MAX_SEGMENTS || object->table_addr > MAX_ADDRESS ||
	    object->nr_rows > MAX_ROWS)
		return false;
	for (size_t i = 0; i < object->nr_segments; i++)
		if (object->segments[i].len > MAX_ADDRESS ||
		    object->segments[i].vaddr > MAX_ADDRESS)
			return false;
	return true;
}

static bool are_rows(const struct object *object, const struct row *rows)
{
	uint64_t end = 0;

	for (const struct row *row = rows; row < rows + object->nr_rows; row++) {
		if (!table_takes(row, end) || !is_code(object, row->start, row->size))
			return false;
		end = row->start + row->size;
	}
	return true;
}

static const char *lasting(struct conversion *conversion, const char *wrong)
{
	conversion->lasting = true;
	return wrong;
}

static const char *read_sent(struct conversion *conversion)
{
	struct object *object = &conversion->object;

	if (!sandbox_read(&conversion->sandbox, object, sizeof(*object)))
		return "it ended early";
	if (object->error >= NR_OBJECT_ERRORS ||
	    (!object->error && !is_object(object)))
		return lasting(conversion, "its reader went wrong");
	conversion->lasting = object->error;
	return convert_error(object->error);
}

static const char *write_table(struct conversion *conversion)
{
	struct object *object = &conversion->object;
	size_t nr = object->nr_rows;
	const char *wrong = NULL;
	struct row *rows;

	rows = malloc(nr * sizeof(*rows));
	if (!rows)
		return "out of memory";
	if (!sandbox_read(&conversion->sandbox, rows, nr * sizeof(*rows)))
		wrong = "it ended early";
	else if (!nr || !are_rows(object, rows))
		wrong = lasting(conversion, "its reader went wrong");
	else if (!table_write(rows, nr, object->table_addr, &conversion->table))
		wrong = "no memory for the table";
	else if (conversion->table.size > convert_max_table)
		wrong = lasting(conversion, "its table would be too large");
	free(rows);
	return wrong;
}

bool convert_is_passed_over(const struct conversion *conversion)
{
	switch (conversion->object.error) {
	case OBJECT_NO_CODE:
	case OBJECT_NO_CFI:
	case OBJECT_NO_ROWS:
		return true;
	default:
		return false;
	}
}

/* The fate of the process tells more than what could not be read from it. */
static const char *end(struct conversion *conversion, const char *wrong)
{
	bool own;
	const char *ended = sandbox_end(&conversion->sandbox, &own);

	if (!wrong)
		return NULL;
	table_free(&conversion->table);
	if (!ended)
		return wrong;
	conversion->lasting = own;
	return ended;
}

const char *convert_start(struct conversion *conversion, void *image, size_t size,
			  unsigned int seconds)
{
	struct bytes arg = { image, size };
	const char *wrong;
	int error;

	*conversion = (struct conversion){ 0 };
	error = sandbox_start(&conversion->sandbox, read_object, &arg, MAX_MEMORY, seconds);
	if (error)
		return strerror(error);
	wrong = read_sent(conversion);
	return wrong ? end(conversion, wrong) : NULL;
}

const char *convert_finish(struct conversion *conversion)
{
	const char *wrong = read_sent(conversion);

	if (!wrong)
		wrong = write_table(conversion);
	return end(conversion, wrong);
}

void convert_cancel(struct conversion *conversion)
{
	bool own;

	kill(conversion->sandbox.pid, SIGKILL);
	sandbox_end(&conversion->sandbox, &own);
}
