// SPDX-License-Identifier: MIT
/*
 * usage: signalled ROUNDS
 *
 * Makes a system call (getppid) in a signal handler that interrupts interrupted() at its first
 * byte: the byte before belongs to another function.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define UD2_LEN	2

static void handler(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	(void)signal;
	(void)info;
	syscall(SYS_getppid);
	interrupted->uc_mcontext.gregs[REG_RIP] += UD2_LEN;
}

static __attribute__((noinline, naked)) void interrupted(void)
{
	__asm__("ud2\n\t"
		"ret");
}

int main(int argc, char **argv)
{
	struct sigaction action = {
		.sa_sigaction	= handler,
		.sa_flags	= SA_SIGINFO,
	};
	int rounds = argc == 2 ? atoi(argv[1]) : 0;

	if (sigaction(SIGILL, &action, NULL))
		return 1;
	for (int i = 0; i < rounds; i++)
		interrupted();
	return 0;
}
