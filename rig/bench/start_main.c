// SPDX-License-Identifier: GPL-2.0
/* A program that is started and does nothing. */
#include <unistd.h>

int main(void)
{
	_exit(0);
}
