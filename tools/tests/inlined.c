// SPDX-License-Identifier: MIT
/* The seed for the fuzzer of names: inlined functions and lines. */
static inline __attribute__((always_inline)) int add(int a, int b)
{
	__asm__ volatile("nop");
	return a + b;
}

static inline __attribute__((always_inline)) int twice(int a)
{
	return add(a, a);
}

int four_times(int a);

int four_times(int a)
{
	return twice(twice(a));
}
