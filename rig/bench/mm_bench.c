// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of registrations when address spaces change:
 *
 *	mm_bench CASE
 *
 * fork() with a child that exits, munmap() of an unrelated page, and removal of one more
 * registration, with 0, 50 and 5,000 registrations; munmap() of 50 to 60,000 texts, per text; and,
 * with none, operations that should not be affected.  The mappings are always the same.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "codectl_test.h"
#include "bench.h"

#define ROUNDS		9
#define FORK_ROUNDS	61
#define NR_FORKS	50
#define NR_CALLS	1000
#define MAX_TEXTS	5000

static double forks(void *arg)
{
	uint64_t from = ticks();

	for (int i = 0; i < NR_FORKS; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (!pid)
			_exit(0);
		if (waitpid(pid, NULL, 0) != pid)
			die("waitpid");
	}
	return (double)(ticks() - from) / NR_FORKS;
}

/* Maps single pages; @touch: with memory in them. */
static double unmap_pages(bool touch)
{
	uint64_t sum = 0, from;

	for (int i = 0; i < NR_CALLS; i++) {
		char *page = map_pages(1, PROT_READ | PROT_WRITE);

		if (!page)
			die("mmap");
		if (touch)
			*page = 1;
		from = ticks();
		munmap(page, PAGE);
		sum += ticks() - from;
	}
	return (double)sum / NR_CALLS;
}

static double munmaps(void *arg)
{
	return unmap_pages(true);
}

static double munmaps_untouched(void *arg)
{
	return unmap_pages(false);
}

static double mmaps(void *arg)
{
	uint64_t sum = 0, from;

	for (int i = 0; i < NR_CALLS; i++) {
		char *page;

		from = ticks();
		page = map_pages(1, PROT_READ | PROT_WRITE);
		sum += ticks() - from;
		if (!page || munmap(page, PAGE))
			die("mmap");
	}
	return (double)sum / NR_CALLS;
}

static double mremaps(void *arg)
{
	char *page = map_pages(2, PROT_READ | PROT_WRITE);
	char *to = map_pages(1, PROT_READ | PROT_WRITE);
	uint64_t from = ticks();

	for (int i = 0; i < NR_CALLS; i++) {
		if (mremap(page, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to ||
		    mremap(to, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, page) != page)
			die("mremap");
	}
	from = ticks() - from;
	munmap(page, 2 * PAGE);
	return (double)from / NR_CALLS;
}

struct texts {
	const char *start;	/* of every other page */
	int nr;
};

/* Removes a text between two others, at a different place each time. */
static double removals(void *arg)
{
	const struct texts *t = arg;
	uint64_t sum = 0, from;

	for (int i = 0; i < NR_CALLS; i++) {
		uint64_t at = addr_of(t->start) + 2 * PAGE * (i * 97 % t->nr) + PAGE;

		if (register_elf_text(at, at + PAGE))
			die("CODE_REGISTER_ELF");
		from = ticks();
		if (unregister_text(at, at + PAGE))
			die("CODE_UNREGISTER");
		sum += ticks() - from;
	}
	return (double)sum / NR_CALLS;
}

struct dropped {
	int nr;
	bool shared;	/* with a child, so that the registry is copied first */
};

/* All of them by one call; returns the share of each. */
static double drops(void *arg)
{
	const struct dropped *d = arg;
	char *text = map_pages(d->nr, PROT_READ | PROT_EXEC);
	pid_t pid = 0;
	uint64_t from;

	for (int i = 0; i < d->nr; i++) {
		uint64_t start = addr_of(text) + i * PAGE;

		if (register_elf_text(start, start + PAGE))
			die("CODE_REGISTER_ELF");
	}
	if (d->shared) {
		pid = fork();
		if (pid < 0)
			die("fork");
		if (!pid)
			for (;;)
				pause();
	}
	from = ticks();
	munmap(text, d->nr * PAGE);
	from = ticks() - from;
	if (pid && (kill(pid, SIGKILL) || waitpid(pid, NULL, 0) != pid))
		die("kill");
	return (double)from / d->nr;
}

static double syscalls(void *arg)
{
	uint64_t from = ticks();

	for (int i = 0; i < NR_CALLS; i++)
		syscall(SYS_getppid);
	return (double)(ticks() - from) / NR_CALLS;
}

/*
 * Removes what execve() and the C library have registered, and from then on touches no memory
 * that fork() would have to copy.
 */
static void unregister_all(void)
{
	struct code_query q = {
		.size = sizeof(q),
		.query_flags = CODE_QUERY_OR_NEXT,
	};
	int fd = open("/proc/self/codectl", O_RDONLY);

	while (fd >= 0 && !ioctl(fd, CODE_QUERY, &q)) {
		if (unregister_text(q.text_start, q.text_end))
			die("CODE_UNREGISTER");
		q = (struct code_query) {
			.size = sizeof(q),
			.query_flags = CODE_QUERY_OR_NEXT,
		};
	}
	close(fd);
}

static void register_up_to(const char *text, int *made, int nr)
{
	for (; *made < nr; (*made)++) {
		uint64_t start = addr_of(text) + 2 * PAGE * *made;

		if (register_elf_text(start, start + PAGE))
			die("CODE_REGISTER_ELF");
	}
}

static int cmp_double(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/*
 * The memory of a child is freed later, together with that of others, so the cheapest round would
 * not include the freeing that it causes.
 */
static void bench_forks(const char *who, const char *text, int nr)
{
	double figures[FORK_ROUNDS];

	for (size_t i = 0; i < FORK_ROUNDS; i++)
		figures[i] = forks(NULL);
	qsort(figures, FORK_ROUNDS, sizeof(figures[0]), cmp_double);
	result("fork", who, nr, figures[FORK_ROUNDS / 2], "insns");
}

static void bench_mappings(const char *who, const char *text, int nr)
{
	result("munmap", who, nr, least(munmaps, NULL, ROUNDS), "insns");
	result("munmap-untouched", who, nr,
	       least(munmaps_untouched, NULL, ROUNDS), "insns");
	result("mmap", who, nr, least(mmaps, NULL, ROUNDS), "insns");
	result("mremap", who, nr, least(mremaps, NULL, ROUNDS), "insns");
	if (nr)
		result("unregister", who, nr,
		       least(removals, &(struct texts){ text, nr }, ROUNDS),
		       "insns");
}

static void bench_drops(const char *who)
{
	const int sizes[] = { 50, MAX_TEXTS, 60000 };

	unregister_all();
	for (size_t s = 0; s < ARRAY_SIZE(sizes) && have_codectl(); s++) {
		struct dropped d = { sizes[s], false };

		result("munmap-registered", who, d.nr, least(drops, &d, 3), "insns");
		d.shared = true;
		result("munmap-shared", who, d.nr, least(drops, &d, 3), "insns");
	}
}

static void each_size(void (*bench)(const char *who, const char *text, int nr),
		      const char *who, const char *text)
{
	const int sizes[] = { 0, 50, MAX_TEXTS };
	int made = 0;

	unregister_all();
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		if (sizes[s] && !have_codectl())
			break;
		register_up_to(text, &made, sizes[s]);
		bench(who, text, made);
	}
}

int main(int argc, char **argv)
{
	const char *text, *who;

	if (argc != 2) {
		fprintf(stderr, "usage: mm_bench CASE\n");
		return 2;
	}
	who = argv[1];
	text = map_pages(2 * MAX_TEXTS, PROT_READ | PROT_EXEC);
	result("syscall", who, 0, least(syscalls, NULL, ROUNDS), "insns");
	bench_drops(who);
	each_size(bench_mappings, who, text);
	/* Only then, when nothing but registrations changes what it copies. */
	each_size(bench_forks, who, text);
	return 0;
}
