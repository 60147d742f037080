// SPDX-License-Identifier: MIT
#include <stddef.h>

#include "interrupt.h"
#include "symbol.h"
#include "tool.h"

volatile sig_atomic_t interrupted;
static volatile sig_atomic_t reports;

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
	symbols_stop = reports;
}

void interrupt_catch(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_signal };

	for (size_t i = 0; i < ARRAY_SIZE(caught); i++)
		sigaction(caught[i], &action, NULL);
}

void interrupt_names(void)
{
	reports = 1;
}
