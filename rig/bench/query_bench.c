// SPDX-License-Identifier: GPL-2.0
/*
 * The cost of finding out which code covers an address: by CODE_QUERY, by
 * PROCMAP_QUERY, and by reading the text of /proc/PID/maps up to it.  Exits with 0 if
 * the first is at least 20 times cheaper than the text, no more expensive than the
 * second, and the same for any number of mappings.
 *
 * Figures are nanoseconds by the clock of the machine, the best of several rounds.  Under an
 * emulator that counts instructions (qemu -icount shift=0) they are instructions, and the same in
 * each run; only then are a few percent significant.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

#include "codectl_test.h"

#define ROUNDS		5
#define NR_QUERIES	2000
#define NR_TEXTS	4

struct paths {
	int code;
	int maps;
};

typedef void (*resolver)(const struct paths *p, uint64_t addr);

static void die(const char *what)
{
	perror(what);
	exit(2);
}

static void by_code_query(const struct paths *p, uint64_t addr)
{
	static struct code_query q = { .size = sizeof(q) };

	q.query_addr = addr;
	if (ioctl(p->code, CODE_QUERY, &q) || q.text_start > addr ||
	    q.text_end <= addr)
		die("CODE_QUERY");
}

static void by_procmap_query(const struct paths *p, uint64_t addr)
{
	static struct procmap_query q = { .size = sizeof(q) };

	q.query_addr = addr;
	if (ioctl(p->maps, PROCMAP_QUERY, &q) || q.vma_start > addr ||
	    q.vma_end <= addr)
		die("PROCMAP_QUERY");
}

static void by_code_query_with_names(const struct paths *p, uint64_t addr)
{
	char path[256];
	uint8_t id[20];
	struct code_query q = {
		.size = sizeof(q),
		.query_addr = addr,
		.path_addr = addr_of(path),
		.path_size = sizeof(path),
		.build_id_addr = addr_of(id),
		.build_id_size = sizeof(id),
	};

	if (ioctl(p->code, CODE_QUERY, &q) || !q.path_size || !q.build_id_size)
		die("CODE_QUERY with names");
}

static void by_procmap_query_with_names(const struct paths *p, uint64_t addr)
{
	char path[256];
	uint8_t id[20];
	struct procmap_query q = {
		.size = sizeof(q),
		.query_addr = addr,
		.vma_name_addr = addr_of(path),
		.vma_name_size = sizeof(path),
		.build_id_addr = addr_of(id),
		.build_id_size = sizeof(id),
	};

	if (ioctl(p->maps, PROCMAP_QUERY, &q) || !q.vma_name_size ||
	    !q.build_id_size)
		die("PROCMAP_QUERY with names");
}

/* Reads no further than necessary; a truncated line is read again. */
static void by_text(const struct paths *p, uint64_t addr)
{
	static char buf[1 << 16];
	size_t kept = 0;
	ssize_t n;

	lseek(p->maps, 0, SEEK_SET);
	while ((n = read(p->maps, buf + kept, sizeof(buf) - 1 - kept)) > 0) {
		char *line = buf, *end;

		buf[kept + n] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			char *dash;
			uint64_t start = strtoull(line, &dash, 16);

			if (start <= addr &&
			    addr < strtoull(dash + 1, NULL, 16))
				return;
		}
		kept = strlen(line);
		memmove(buf, line, kept + 1);
	}
	die("/proc/self/maps");
}

static double cost(resolver resolve, const struct paths *p, uint64_t addr, int nr)
{
	double best = 1e30;

	resolve(p, addr);
	for (int round = 0; round < ROUNDS; round++) {
		double start = now(), each;

		for (int i = 0; i < nr; i++)
			resolve(p, addr);
		each = (now() - start) * 1e9 / nr;
		if (each < best)
			best = each;
	}
	return best;
}

/* Mappings of a file, each registered, between unregistered ones. */
static uint64_t make_mappings(int *made, int nr)
{
	static uint64_t middle;
	int fd = open("/proc/self/exe", O_RDONLY);

	for (; *made < nr; (*made)++) {
		int prot = *made & 1 ? PROT_READ : PROT_READ | PROT_EXEC;
		uint8_t *at = mmap(NULL, PAGE, prot, MAP_PRIVATE, fd, 0);

		if (at == MAP_FAILED)
			die("mmap");
		if (!(prot & PROT_EXEC))
			continue;
		if (register_elf_text(addr_of(at), addr_of(at) + PAGE))
			die("codectl");
		/* Later mappings are at lower addresses. */
		if (*made <= nr / 2)
			middle = addr_of(at);
	}
	close(fd);
	return middle;
}

static bool demand(const char *what, double is, bool met)
{
	printf("%s %-52s %8.2f\n", met ? "ok    " : "not ok", what, is);
	return met;
}

int main(void)
{
	static const struct {
		const char *name;
		resolver resolve;
		int nr;
	} methods[] = {
		{ "CODE_QUERY", by_code_query, NR_QUERIES },
		{ "PROCMAP_QUERY", by_procmap_query, NR_QUERIES },
		{ "text of maps", by_text, NR_TEXTS },
		{ "CODE_QUERY, path and build-id", by_code_query_with_names,
		  NR_QUERIES },
		{ "PROCMAP_QUERY, path and build-id",
		  by_procmap_query_with_names, NR_QUERIES },
	};
	const int sizes[] = { 50, 5000 };
	struct paths p = {
		.code = open("/proc/self/codectl", O_RDONLY),
		.maps = open("/proc/self/maps", O_RDONLY),
	};
	double ns[ARRAY_SIZE(methods)][2];
	bool ok = true;
	int made = 20;	/* about as many already exist */

	if (p.code < 0 || p.maps < 0)
		die("/proc/self");
	for (int s = 0; s < 2; s++) {
		uint64_t addr = make_mappings(&made, sizes[s]);

		for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
			ns[i][s] = cost(methods[i].resolve, &p, addr,
					methods[i].nr);
	}
	printf("%-42s %8d %8d mappings\n", "", sizes[0], sizes[1]);
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		printf("%-42s %8.0f %8.0f ns\n", methods[i].name, ns[i][0],
		       ns[i][1]);
	for (int s = 0; s < 2; s++) {
		double text = ns[2][s] / ns[0][s], peer = ns[0][s] / ns[1][s];

		printf("with %d mappings\n", sizes[s]);
		ok &= demand("text / CODE_QUERY, at least 20", text, text >= 20);
		ok &= demand("CODE_QUERY / PROCMAP_QUERY, at most 1", peer,
			     peer <= 1);
	}
	ok &= demand("CODE_QUERY with many / with few mappings, 1",
		     ns[0][1] / ns[0][0], ns[0][1] / ns[0][0] <= 1.25);
	return !ok;
}
