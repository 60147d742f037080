// SPDX-License-Identifier: MIT
/*
 * Records of waits, and their names.
 */
#include <sys/syscall.h>

#include "check.h"
#include "samples.h"
#include "tool.h"
#include "wait_kind.h"

static const char *formats;

/* ------------------------------------------------------------------ records */

static void a_record(void)
{
	const struct raw_wait raw = {
		.ns = 1ULL << 40, .nr = -1, .arg0 = 0x1000, .arg1 = 9, .pid = 7, .state = 'D',
		.compat = 1,
	};
	struct tep_handle *tep = tep_alloc();
	struct wait_layout layout;
	struct wait_record wait;
	void *exact = exact_copy(&raw, offsetof(struct raw_wait, compat) + 1);

	CHECK(add_format(tep, formats, "task_waited"));
	CHECK(wait_layout_read(&layout, tep, "task_waited"));
	CHECK(!wait_layout_read(&layout, tep, "task_wakes"));
	CHECK(wait_layout_read(&layout, tep, "task_waited"));
	CHECK(layout.type == 25);
	CHECK(wait_record_parse(&wait, &layout, exact, offsetof(struct raw_wait, compat) + 1));
	CHECK(wait.ns == 1ULL << 40 && wait.nr == -1 && wait.arg0 == 0x1000 && wait.arg1 == 9);
	CHECK(wait.tid == 7);
	CHECK(wait.state == 'D' && wait.compat);
	for (size_t len = 0; len <= offsetof(struct raw_wait, compat); len++)
		CHECK(!wait_record_parse(&wait, &layout, exact, len));
	free(exact);
	tep_free(tep);
}

static void other_formats(void)
{
	static const char * const fields[] = {
		" ns;", " nr;", " arg0;", " arg1;", " pid;", " state;", " compat;",
	};
	struct wait_layout layout;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct tep_handle *tep = tep_alloc();

		CHECK(add_changed(tep, formats, "task_waited", fields[i], " other;"));
		CHECK(!wait_layout_read(&layout, tep, "task_waited"));
		tep_free(tep);
	}
}

/* There may be more frames than in the format, or none. */
static void a_stack_of_the_kernel(void)
{
	const struct raw_kernel raw = { .size = 10, .caller = { 1, 2, 3, [9] = 10 } };
	const size_t size = offsetof(struct raw_kernel, caller[10]);
	struct tep_handle *tep = tep_alloc();
	static struct kernel_record kernel;
	struct kernel_layout layout;
	void *exact = exact_copy(&raw, size);
	struct raw_kernel other = raw;

	CHECK(!kernel_layout_read(&layout, tep));
	CHECK(add_format(tep, formats, "kernel_stack"));
	CHECK(kernel_layout_read(&layout, tep));
	CHECK(layout.type == 4);
	CHECK(kernel_record_parse(&kernel, &layout, exact, size));
	CHECK(kernel.nr == 10 && kernel.address[2] == 3 && kernel.address[9] == 10);
	for (size_t len = 0; len < size; len++)
		CHECK(!kernel_record_parse(&kernel, &layout, exact, len));
	other.size = KERNEL_MAX_FRAMES + 1;
	CHECK(!kernel_record_parse(&kernel, &layout, &other, sizeof(other)));
	other.size = UINT32_MAX;
	CHECK(!kernel_record_parse(&kernel, &layout, &other, sizeof(other)));
	other.size = KERNEL_MAX_FRAMES;
	CHECK(kernel_record_parse(&kernel, &layout, &other, sizeof(other)));
	free(exact);
	tep_free(tep);
}

static enum wait_kind kind_of(long nr, char state, bool compat)
{
	return wait_kind(&(struct wait_record){ .nr = nr, .state = state, .compat = compat });
}

static void kinds(void)
{
	CHECK(kind_of(SYS_futex, 'S', false) == WAIT_FUTEX);
	CHECK(kind_of(SYS_read, 'S', false) == WAIT_IO);
	CHECK(kind_of(SYS_fsync, 'D', false) == WAIT_IO);
	CHECK(kind_of(SYS_recvmsg, 'S', false) == WAIT_NET);
	CHECK(kind_of(SYS_epoll_wait, 'S', false) == WAIT_POLL);
	CHECK(kind_of(SYS_clock_nanosleep, '?', false) == WAIT_SLEEP);
	CHECK(kind_of(SYS_rt_sigtimedwait, 'S', false) == WAIT_SIGNAL);
	CHECK(kind_of(SYS_wait4, 'S', false) == WAIT_CHILD);
	CHECK(kind_of(SYS_flock, 'S', false) == WAIT_LOCK);
	CHECK(kind_of(SYS_semop, 'S', false) == WAIT_IPC);
	CHECK(kind_of(-1, 'D', false) == WAIT_FAULT);
	CHECK(kind_of(SYS_futex, 'T', false) == WAIT_STOPPED);
	CHECK(kind_of(SYS_futex, 't', true) == WAIT_STOPPED);
	CHECK(kind_of(SYS_futex, 'S', true) == WAIT_OTHER);
	CHECK(kind_of(100000, 'S', false) == WAIT_OTHER);
}

static void names_of_kinds(void)
{
	for (uint32_t kind = 1; kind < NR_WAIT_KINDS; kind++) {
		CHECK(!strncmp(wait_kind_name(kind), "wait:", 5));
		CHECK(!strncmp(wait_kind_name(kind | WAIT_STILL), "blocked:", 8));
		CHECK(!strncmp(wait_kind_name(kind | WAIT_WOKEN), "woken:", 6));
	}
	CHECK(!strcmp(wait_kind_name(WAIT_FUTEX), "wait:futex"));
	CHECK(!strcmp(wait_kind_name(WAIT_FUTEX | WAIT_STILL), "blocked:futex"));
	CHECK(!strcmp(wait_kind_name(WAIT_FUTEX | WAIT_WOKEN), "woken:futex"));
	CHECK(!strcmp(wait_kind_name(UINT32_MAX), "blocked:other"));
}

int main(int argc, char **argv)
{
	formats = argc > 1 ? argv[1] : "formats";
	RUN(a_record);
	RUN(other_formats);
	RUN(a_stack_of_the_kernel);
	RUN(kinds);
	RUN(names_of_kinds);
	return check_end();
}
