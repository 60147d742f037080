/* SPDX-License-Identifier: GPL-2.0 */
/* Samples of a thread's calls of the marker, of which only the size counts. */
#ifndef CODECTL_RING_H
#define CODECTL_RING_H

#include <linux/perf_event.h>
#include <stdint.h>

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/* Samples the marker, each time the calling thread calls it, with what @attr says. */
struct ring ring_open(struct perf_event_attr attr);
void ring_close(struct ring *r);
/* How many bytes were written since it was last empty; empties it. */
uint64_t ring_empty(struct ring *r);

#endif /* CODECTL_RING_H */
