// SPDX-License-Identifier: MIT
#include <stddef.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "tool.h"
#include "wait_kind.h"

/* Newer than the headers of Debian 12. */
#ifndef SYS_futex_wait
#define SYS_futex_wait		455
#endif

#define CALL(name, kind)	{ #name, SYS_##name, kind }

static const struct {
	const char *name;
	uint16_t nr;
	uint8_t kind;
} calls[] = {
	CALL(futex, WAIT_FUTEX), CALL(futex_waitv, WAIT_FUTEX), CALL(futex_wait, WAIT_FUTEX),

	CALL(read, WAIT_IO), CALL(write, WAIT_IO), CALL(pread64, WAIT_IO),
	CALL(pwrite64, WAIT_IO), CALL(readv, WAIT_IO), CALL(writev, WAIT_IO),
	CALL(preadv, WAIT_IO), CALL(pwritev, WAIT_IO), CALL(preadv2, WAIT_IO),
	CALL(pwritev2, WAIT_IO), CALL(sendfile, WAIT_IO), CALL(splice, WAIT_IO),
	CALL(tee, WAIT_IO), CALL(vmsplice, WAIT_IO), CALL(copy_file_range, WAIT_IO),
	CALL(fsync, WAIT_IO), CALL(fdatasync, WAIT_IO), CALL(sync, WAIT_IO),
	CALL(syncfs, WAIT_IO), CALL(sync_file_range, WAIT_IO), CALL(msync, WAIT_IO),
	CALL(io_getevents, WAIT_IO), CALL(io_pgetevents, WAIT_IO),
	CALL(io_uring_enter, WAIT_IO), CALL(open, WAIT_IO), CALL(openat, WAIT_IO),

	CALL(recvfrom, WAIT_NET), CALL(recvmsg, WAIT_NET), CALL(recvmmsg, WAIT_NET),
	CALL(sendto, WAIT_NET), CALL(sendmsg, WAIT_NET), CALL(sendmmsg, WAIT_NET),
	CALL(accept, WAIT_NET), CALL(accept4, WAIT_NET), CALL(connect, WAIT_NET),

	CALL(poll, WAIT_POLL), CALL(ppoll, WAIT_POLL), CALL(select, WAIT_POLL),
	CALL(pselect6, WAIT_POLL), CALL(epoll_wait, WAIT_POLL), CALL(epoll_pwait, WAIT_POLL),
	CALL(epoll_pwait2, WAIT_POLL),

	CALL(nanosleep, WAIT_SLEEP), CALL(clock_nanosleep, WAIT_SLEEP),

	CALL(pause, WAIT_SIGNAL), CALL(rt_sigsuspend, WAIT_SIGNAL),
	CALL(rt_sigtimedwait, WAIT_SIGNAL),

	CALL(wait4, WAIT_CHILD), CALL(waitid, WAIT_CHILD), CALL(vfork, WAIT_CHILD),

	CALL(flock, WAIT_LOCK), CALL(fcntl, WAIT_LOCK),

	CALL(semop, WAIT_IPC), CALL(semtimedop, WAIT_IPC), CALL(msgsnd, WAIT_IPC),
	CALL(msgrcv, WAIT_IPC), CALL(mq_timedsend, WAIT_IPC), CALL(mq_timedreceive, WAIT_IPC),
};

static const char * const names[NR_WAIT_KINDS] = {
	[WAIT_FUTEX]	= "futex",
	[WAIT_IO]	= "io",
	[WAIT_NET]	= "net",
	[WAIT_POLL]	= "poll",
	[WAIT_SLEEP]	= "sleep",
	[WAIT_SIGNAL]	= "signal",
	[WAIT_CHILD]	= "child",
	[WAIT_LOCK]	= "file-lock",
	[WAIT_IPC]	= "ipc",
	[WAIT_FAULT]	= "page-fault",
	[WAIT_STOPPED]	= "stopped",
	[WAIT_OTHER]	= "other",
};

enum wait_kind wait_kind_of_call(int64_t nr)
{
	if (nr < 0)
		return WAIT_FAULT;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == nr)
			return calls[i].kind;
	return WAIT_OTHER;
}

const char *wait_call_name(int64_t nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (calls[i].nr == nr)
			return calls[i].name;
	return NULL;
}

enum wait_kind wait_kind(const struct wait_record *record)
{
	if (record->state == 'T' || record->state == 't')
		return WAIT_STOPPED;
	return record->compat ? WAIT_OTHER : wait_kind_of_call(record->nr);
}

const char *wait_kind_name(uint32_t kind)
{
	static char text[32];
	uint32_t plain = kind & ~(WAIT_STILL | WAIT_WOKEN);
	const char *which = kind & WAIT_STILL ? "blocked" : kind & WAIT_WOKEN ? "woken" : "wait";

	snprintf(text, sizeof(text), "%s:%s", which, plain < NR_WAIT_KINDS && names[plain] ?
		 names[plain] : names[WAIT_OTHER]);
	return text;
}
