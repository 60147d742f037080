// SPDX-License-Identifier: MIT
/*
 * A library that is loaded late: as it is loaded, it waits for a thread that registers
 * code; and it looks for what only it can find.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stddef.h>

void __register_frame_info(const void *begin, void *object);
void *__deregister_frame_info(const void *begin);
void *late_next(const char *name);

extern size_t fake_nr;

/* So that it needs that library. */
size_t *late_needs = &fake_nr;
int late_threads;

/* Without a function. */
static const uint32_t section[] = { 0x14, 0, 0x00010001, 0x080c1078, 0x90010807, 0, 0 };
static uint64_t object[8];

static void *work(void *arg)
{
	__register_frame_info(section, object);
	late_threads++;
	__deregister_frame_info(section);

	return arg;
}

__attribute__((__constructor__)) static void begin(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, work, NULL))
		pthread_join(thread, NULL);
}

void *late_next(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	/* It uses our address: keep this from becoming a jump. */
	__asm__ volatile("" : "+r"(found));

	return found;
}
