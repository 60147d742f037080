// SPDX-License-Identifier: MIT
/* A static program, with a thread and callbacks from the C library. */
#include <pthread.h>
#include <stdlib.h>

static int values[4096];

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void *sort(void *seed)
{
	unsigned int random = (unsigned long)seed;

	for (;;) {
		int mine[sizeof(values) / sizeof(values[0])];

		for (size_t i = 0; i < sizeof(mine) / sizeof(mine[0]); i++)
			mine[i] = random = random * 1103515245 + 12345;
		qsort(mine, sizeof(mine) / sizeof(mine[0]), sizeof(mine[0]), compare);
		values[0] += mine[0];
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, sort, (void *)1))
		return 1;
	sort((void *)2);
}
