// SPDX-License-Identifier: MIT
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perf_stream.h"
#include "tool.h"

/* perf's own: perf.data-file-format.txt. */
#define MAGIC			"PERFILE2"
#define RECORD_USER_START	64
#define RECORD_HEADER_ATTR	64
#define RECORD_TRACING_DATA	66
#define RECORD_FINISHED_ROUND	68
#define RECORD_AUXTRACE		71
#define RECORD_COMPRESSED	81
#define RECORD_COMPRESSED2	83

struct file_header {
	char magic[8];
	uint64_t size;
};

struct queued {
	uint64_t time;
	uint64_t nr;		/* at the same time the first one comes first */
	char *data;
	size_t len;
};

struct perf_stream {
	perf_stream_fn take;
	void *context;
	struct perf_format format;
	struct queued *queue;
	size_t nr, room, bytes;
	uint64_t last_nr, latest;	/* time of the latest record so far */
	uint64_t until;		/* up to here records are in order */
	char partial[1 << 16];	/* of a record, or of the header */
	size_t len;
	bool begun;
	unsigned long malformed;
};

size_t perf_stream_max_bytes = 256UL << 20;

struct perf_stream *perf_stream_new(perf_stream_fn take, void *context)
{
	struct perf_stream *stream = need(calloc(1, sizeof(*stream)));

	stream->take = take;
	stream->context = context;
	return stream;
}

void perf_stream_free(struct perf_stream *stream)
{
	for (size_t i = 0; i < stream->nr; i++)
		free(stream->queue[i].data);
	free(stream->queue);
	perf_format_free(&stream->format);
	free(stream);
}

unsigned long perf_stream_malformed(const struct perf_stream *stream)
{
	return stream->malformed;
}

/* -------------------------------------------------------------------- order */

static int by_time(const void *one, const void *other)
{
	const struct queued *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->nr < b->nr ? -1 : a->nr > b->nr;
}

static void deliver(struct perf_stream *stream, struct queued *queued)
{
	struct perf_record record;

	if (perf_record_parse(&record, &stream->format, queued->data, queued->len))
		stream->take(stream->context, &record);
	stream->bytes -= queued->len + sizeof(*queued);
	free(queued->data);
}

static void flush(struct perf_stream *stream, uint64_t until)
{
	size_t nr = 0;

	if (stream->nr)
		qsort(stream->queue, stream->nr, sizeof(*stream->queue), by_time);
	while (nr < stream->nr && stream->queue[nr].time <= until)
		deliver(stream, &stream->queue[nr++]);
	stream->nr -= nr;
	if (stream->nr)
		memmove(stream->queue, stream->queue + nr, stream->nr * sizeof(*stream->queue));
}

/*
 * perf reads one CPU after the other: a round may lack what came to a CPU after that
 * was read, but nothing that is as old as something of the round before.
 */
static void finish_round(struct perf_stream *stream)
{
	flush(stream, stream->until);
	stream->until = stream->latest;
}

static void enqueue(struct perf_stream *stream, const char *data, size_t len)
{
	struct perf_record record;
	struct queued queued = { .nr = stream->last_nr++, .len = len };

	if (!perf_record_parse(&record, &stream->format, data, len)) {
		stream->malformed++;
		return;
	}
	if (record.kind == PERF_KIND_OTHER)
		return;
	queued.time = record.time;
	queued.data = need(malloc(len));
	memcpy(queued.data, data, len);
	if (record.time > stream->latest)
		stream->latest = record.time;
	if (stream->nr == stream->room) {
		stream->room = stream->room ? 2 * stream->room : 256;
		stream->queue = need(reallocarray(stream->queue, stream->room,
						  sizeof(*stream->queue)));
	}
	stream->queue[stream->nr++] = queued;
	stream->bytes += len + sizeof(queued);
	if (stream->bytes > perf_stream_max_bytes)
		flush(stream, UINT64_MAX);
}

/* ------------------------------------------------------------------ framing */

static const char *take_whole(struct perf_stream *stream, const char *data, size_t len)
{
	struct perf_event_header header;

	memcpy(&header, data, sizeof(header));
	switch (header.type) {
	case RECORD_HEADER_ATTR:
		return perf_format_add(&stream->format, data, len) ? NULL :
		       "perf records events in a form that is not known";
	case RECORD_FINISHED_ROUND:
		finish_round(stream);
		return NULL;
	case RECORD_TRACING_DATA:
	case RECORD_AUXTRACE:
	case RECORD_COMPRESSED:
	case RECORD_COMPRESSED2:
		return "perf writes what it was not asked for";
	}
	if (header.type < RECORD_USER_START)
		enqueue(stream, data, len);
	return NULL;
}

/* Length of what begins at the start of the partial record; 0: no record has it. */
static size_t wanted_len(const struct perf_stream *stream)
{
	struct perf_event_header header;

	if (!stream->begun)
		return sizeof(struct file_header);
	if (stream->len < sizeof(header))
		return sizeof(header);
	memcpy(&header, stream->partial, sizeof(header));
	return header.size < sizeof(header) ? 0 : header.size;
}

static const char *take_header(struct perf_stream *stream)
{
	struct file_header header;

	memcpy(&header, stream->partial, sizeof(header));
	if (memcmp(header.magic, MAGIC, sizeof(header.magic)) || header.size != sizeof(header))
		return "perf does not write what 'perf record -o -' does";
	stream->begun = true;
	stream->len = 0;
	return NULL;
}

/* The partial record is as long as was wanted. */
static const char *take_partial(struct perf_stream *stream)
{
	const char *wrong;

	if (!stream->begun)
		return take_header(stream);
	if (wanted_len(stream) > stream->len)
		return NULL;
	if (!wanted_len(stream))
		return "perf has written what is no record";
	wrong = take_whole(stream, stream->partial, stream->len);
	stream->len = 0;
	return wrong;
}

const char *perf_stream_feed(struct perf_stream *stream, const void *data, size_t len)
{
	const char *at = data, *wrong = NULL;

	while (!wrong && len) {
		size_t more = wanted_len(stream) - stream->len;

		if (more > len)
			more = len;
		memcpy(stream->partial + stream->len, at, more);
		stream->len += more;
		at += more;
		len -= more;
		if (stream->len == wanted_len(stream) || !wanted_len(stream))
			wrong = take_partial(stream);
	}
	return wrong;
}

void perf_stream_end(struct perf_stream *stream)
{
	flush(stream, UINT64_MAX);
}
