// SPDX-License-Identifier: MIT
/*
 * The frequency of the time stamp counter in kHz, measured for 50 ms.
 *
 * The guest uses the same counter, but calibrates it against emulated timers, which are late on a
 * busy machine: errors by a factor of 50 have been seen.
 */
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static double ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

int main(void)
{
	unsigned long long start = __rdtsc();
	double begin = ms(), end;

	do
		end = ms();
	while (end < begin + 50);
	printf("%.0f\n", (__rdtsc() - start) / (end - begin));
	return 0;
}
