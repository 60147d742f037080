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

static const struct {
	uint16_t nr;
	uint8_t kind;
} calls[] = {
	{ SYS_futex, WAIT_FUTEX }, { SYS_futex_waitv, WAIT_FUTEX },
	{ SYS_futex_wait, WAIT_FUTEX },

	{ SYS_read, WAIT_IO }, { SYS_write, WAIT_IO }, { SYS_pread64, WAIT_IO },
	{ SYS_pwrite64, WAIT_IO }, { SYS_readv, WAIT_IO }, { SYS_writev, WAIT_IO },
	{ SYS_preadv, WAIT_IO }, { SYS_pwritev, WAIT_IO }, { SYS_preadv2, WAIT_IO },
	{ SYS_pwritev2, WAIT_IO }, { SYS_sendfile, WAIT_IO }, { SYS_splice, WAIT_IO },
	{ SYS_tee, WAIT_IO }, { SYS_vmsplice, WAIT_IO }, { SYS_copy_file_range, WAIT_IO },
	{ SYS_fsync, WAIT_IO }, { SYS_fdatasync, WAIT_IO }, { SYS_sync, WAIT_IO },
	{ SYS_syncfs, WAIT_IO }, { SYS_sync_file_range, WAIT_IO }, { SYS_msync, WAIT_IO },
	{ SYS_io_getevents, WAIT_IO }, { SYS_io_pgetevents, WAIT_IO },
	{ SYS_io_uring_enter, WAIT_IO }, { SYS_open, WAIT_IO }, { SYS_openat, WAIT_IO },

	{ SYS_recvfrom, WAIT_NET }, { SYS_recvmsg, WAIT_NET }, { SYS_recvmmsg, WAIT_NET },
	{ SYS_sendto, WAIT_NET }, { SYS_sendmsg, WAIT_NET }, { SYS_sendmmsg, WAIT_NET },
	{ SYS_accept, WAIT_NET }, { SYS_accept4, WAIT_NET }, { SYS_connect, WAIT_NET },

	{ SYS_poll, WAIT_POLL }, { SYS_ppoll, WAIT_POLL }, { SYS_select, WAIT_POLL },
	{ SYS_pselect6, WAIT_POLL }, { SYS_epoll_wait, WAIT_POLL },
	{ SYS_epoll_pwait, WAIT_POLL }, { SYS_epoll_pwait2, WAIT_POLL },

	{ SYS_nanosleep, WAIT_SLEEP }, { SYS_clock_nanosleep, WAIT_SLEEP },

	{ SYS_pause, WAIT_SIGNAL }, { SYS_rt_sigsuspend, WAIT_SIGNAL },
	{ SYS_rt_sigtimedwait, WAIT_SIGNAL },

	{ SYS_wait4, WAIT_CHILD }, { SYS_waitid, WAIT_CHILD }, { SYS_vfork, WAIT_CHILD },

	{ SYS_flock, WAIT_LOCK }, { SYS_fcntl, WAIT_LOCK },

	{ SYS_semop, WAIT_IPC }, { SYS_semtimedop, WAIT_IPC }, { SYS_msgsnd, WAIT_IPC },
	{ SYS_msgrcv, WAIT_IPC }, { SYS_mq_timedsend, WAIT_IPC },
	{ SYS_mq_timedreceive, WAIT_IPC },
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
