// SPDX-License-Identifier: MIT
/*
 * usage: shares SECONDS [COMM]
 *
 * Spends 20 % of SECONDS of CPU time in each of three functions, and the rest in another one,
 * with COMM as the name of the thread.  Prints the line of each function, and its share by the
 * thread's clock.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>

#define WORK	1000000

/* All on one line, which takes the time. */
#define SPIN(which, sum, nr, shift)						\
do {										\
	uint64_t *at = &(sum);							\
										\
	lines[which] = __LINE__;						\
	while ((nr)--)								\
		*at = *at * 6364136223846793005ULL + (*at >> (shift));		\
} while (0)

#define noinline	__attribute__((noinline, noclone))

static volatile uint64_t result;
static uint64_t spent[4];
static int lines[4];

static noinline void first(unsigned int nr)
{
	uint64_t sum = nr;

	SPIN(0, sum, nr, 7);
	result = sum;
}

static noinline void second(unsigned int nr)
{
	uint64_t sum = nr;

	SPIN(1, sum, nr, 9);
	result = sum;
}

static noinline void third(unsigned int nr)
{
	uint64_t sum = nr;

	SPIN(2, sum, nr, 11);
	result = sum;
}

static noinline void rest(unsigned int nr)
{
	uint64_t sum = nr;

	SPIN(3, sum, nr, 13);
	result = sum;
}

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ULL + time.tv_nsec;
}

static noinline void spend(int nr, void (*function)(unsigned int), unsigned int work)
{
	uint64_t before = now();

	function(work);
	spent[nr] += now() - before;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "first", "second", "third", "rest" };
	uint64_t end = now() + strtod(argc > 1 ? argv[1] : "1", NULL) * 1e9, sum = 0;

	if (argc > 2)
		prctl(PR_SET_NAME, argv[2]);
	while (now() < end) {
		spend(0, first, WORK);
		spend(1, second, WORK);
		spend(2, third, WORK);
		spend(3, rest, 2 * WORK);
	}
	for (int i = 0; i < 4; i++)
		sum += spent[i];
	for (int i = 0; i < 4; i++)
		printf("%s %.2f %d\n", names[i], 100.0 * spent[i] / sum, lines[i]);
	return 0;
}
