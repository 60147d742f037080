/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every codectl test needs: the system call without a C library in between,
 * registrations in one line, and mappings to register.
 */
#ifndef CODECTL_TEST_H
#define CODECTL_TEST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/codectl.h>

#ifndef __NR_codectl
#define __NR_codectl 473
#endif

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#endif

#define PAGE 4096UL
/* First address that user space cannot map: it depends on the CPU. */
#define USER_END user_end()
uint64_t user_end(void);
#define KERNEL_ADDR 0xffffffff81000000UL

static inline uint64_t addr_of(const void *p)
{
	return (uintptr_t)p;
}

/* All return 0 or a negative errno. */
long sys_codectl(unsigned int option, const void *info, size_t size,
		 unsigned int flags);
int register_elf(const struct code_elf_info *info);
int register_text(uint64_t start, uint64_t end, const void *sframe, size_t len);
/* Without a table. */
int register_elf_text(uint64_t start, uint64_t end);
int unregister_text(uint64_t start, uint64_t end);

/*
 * Makes the kernel look at all tables again: otherwise it uses what it has found
 * before, as tables do not change while they are registered.
 */
void forget_rules(void);

/* Whether some registration covers @addr; its page is mapped executable. */
bool text_is_registered(uint64_t addr);

/* Does the process have the page mapped?  The page cache may have it in any case. */
bool page_is_mapped(const void *page);

/*
 * Skip if the kernel has no codectl(2), unless the environment says that everything is
 * expected to be there.
 */
bool have_codectl(void);
#define REQUIRE_CODECTL() do {						\
	if (!have_codectl())						\
		SKIP(return, "no codectl(2) in this kernel");		\
} while (0)

/* Private anonymous memory; NULL on failure. */
void *map_pages(size_t pages, int prot);
/*
 * A userfaultfd for a missing page, for which whoever touches it waits; -1 on failure.
 */
int watch_page(void *page);

/* Ranges that no text can have. */
#define NR_BAD_RANGES 10
struct bad_range {
	const char *name;
	uint64_t start;
	uint64_t end;
};

const struct bad_range *bad_range(size_t i);

/* Two calls that read and write a sysctl; negative errno on failure. */
int sysctl_write(const char *name, long value);
long sysctl_read(const char *name);

/* [start, end) of the executable segment that @addr is part of; 0 or -1. */
int text_segment_of(const void *addr, uint64_t *start, uint64_t *end);

/* A deadline, scaled by TEST_TIME_SCALE for slow machines. */
unsigned int scaled_seconds(unsigned int seconds);
/* Are they scaled, so that memory accesses take several times as long? */
bool is_slow(void);
double now(void);

/*
 * 0 or -1; on that CPU a SCHED_IDLE task runs when the others wait, and a SCHED_FIFO
 * task as soon as its timer expires.
 */
int run_on_first_cpu(int policy);

/* A child that ends at once, and is waited for. */
void fork_once(void);
/* Is a task in this system call, and will it stay there for a while? */
bool waits_in(pid_t tid, int nr);

#endif /* CODECTL_TEST_H */
