/* SPDX-License-Identifier: GPL-2.0 */
/* Samples of a thread's calls of the marker; only their size matters. */
#ifndef CODECTL_RING_H
#define CODECTL_RING_H

#include <linux/perf_event.h>
#include <stdint.h>

struct ring {
	int fd;
	struct perf_event_mmap_page *page;
};

/* Samples each call of the marker by the calling thread, with the data in @attr. */
struct ring ring_open(struct perf_event_attr attr);
void ring_close(struct ring *r);
/* Return: the number of bytes written since the ring was last empty; empties it. */
uint64_t ring_empty(struct ring *r);

#endif /* CODECTL_RING_H */
