// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>

#include "heaps.h"
#include "methods.h"
#include "rows.h"
#include "vm.h"

static struct rows rows;

static const struct code_jit_unwind_fre *row_at(uint32_t off)
{
	unsigned int i;

	for (i = 0; i < rows.nr; i++) {
		if (off - rows.fre[i].ip_off < rows.fre[i].size)
			return &rows.fre[i];
	}

	return NULL;
}

/*
 * Did the prologue make the frame that the VM reports?  The VM need not report the size of
 * frames with FP, and methods without a frame have a size of their own.
 */
static bool is_right(const struct vm_blob *blob)
{
	const struct code_jit_unwind_fre *row = row_at(blob->frame_complete);

	if (!blob->frame_size)
		return true;

	return row && !(row->info & CODE_FRE_UNKNOWN) &&
	       (!(row->info & CODE_FRE_BASE_SP) || row->cfa_off == 8 ||
		row->cfa_off == (int32_t)blob->frame_size);
}

int methods_add(uint64_t start, const char *name)
{
	struct code code = {
		.begin = STATE_CALLED, .otherwise = STATE_BODY, .by_sp = true,
	};
	struct vm_blob blob;
	int ret;

	if (!vm_blob_at(start, &blob) || blob.start != start)
		return -ENOENT;
	code.start = blob.start;
	code.len = blob.end - blob.start;
	code.frame_size = blob.frame_size;
	code.osr_entry = blob.osr_entry;
	ret = rows_of(&rows, &code);
	if (!ret && !is_right(&blob)) {
		/* A method that is no longer entered has a jump over its prologue. */
		code.body = blob.frame_complete;
		ret = rows_of(&rows, &code);
	}
	if (ret)
		return ret;
	if (!is_right(&blob))
		return -EBADMSG;

	return heaps_add(blob.start, code.len, rows.fre, rows.nr, name);
}
