/* SPDX-License-Identifier: MIT */
/*
 * The records of perf record -o - as they come, sorted by time: perf writes those of
 * one CPU after those of another one, and marks the end of each round.
 */
#ifndef PERF_STREAM_H
#define PERF_STREAM_H

#include "perf_data.h"

struct perf_stream;

/* @record is valid until it returns. */
typedef void (*perf_stream_fn)(void *context, const struct perf_record *record);

struct perf_stream *perf_stream_new(perf_stream_fn take, void *context);
void perf_stream_free(struct perf_stream *stream);

/* Bytes that records may take until their order is known: 256 MiB. */
extern size_t perf_stream_max_bytes;

/* NULL if all is well; otherwise what is wrong, and nothing more can be read. */
const char *perf_stream_feed(struct perf_stream *stream, const void *data, size_t len);

/* Passes on all that is still kept; no more can come. */
void perf_stream_end(struct perf_stream *stream);

/* Records that could not be parsed. */
unsigned long perf_stream_malformed(const struct perf_stream *stream);

#endif
