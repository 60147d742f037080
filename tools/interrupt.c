// SPDX-License-Identifier: MIT
#include <stddef.h>

#include "interrupt.h"
#include "symbol.h"

volatile sig_atomic_t interrupted;
static volatile sig_atomic_t reports;

static void on_signal(int signal)
{
	(void)signal;
	interrupted = 1;
	symbols_stop = reports;
}

void interrupt_catch_also(int signal)
{
	const struct sigaction action = { .sa_handler = on_signal };

	sigaction(signal, &action, NULL);
}

void interrupt_catch(void)
{
	struct sigaction hangup;

	interrupt_catch_also(SIGINT);
	interrupt_catch_also(SIGTERM);
	/* Whoever has it ignored, as nohup does, wants that. */
	sigaction(SIGHUP, NULL, &hangup);
	if (hangup.sa_handler != SIG_IGN)
		interrupt_catch_also(SIGHUP);
}

void interrupt_names(void)
{
	reports = 1;
}
