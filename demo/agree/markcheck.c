// SPDX-License-Identifier: MIT
/*
 * markcheck: compare the frames of compiled code in the kernel's deferred call
 * chains with the marks that this code has written to its frames.
 *
 * usage: markcheck [-m MINIMUM] [-i INTERRUPTED] [-t PERCENT] [-v] -l LOG FILE...
 *
 * LOG is the output of jit-demo -l, FILE that of stackdump in the same run.  A mark
 * is two words: a magic number combined with the CFA of the frame, and the number of
 * the code, which is never reused.  Its distance from that CFA has to be the one in
 * the log.
 *
 * The exit status is 0 only if at least MINIMUM samples with such frames were
 * compared, a signal handler had interrupted such a frame in at least INTERRUPTED
 * of them, at most PERCENT of them (0 by default) have fewer frames than marks, and
 * all others agree.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"

#define MARK_MAGIC	0x6b72616d2d74696aULL
#define MAX_FRAMES	1024
#define MAX_REGIONS	8

struct code {
	uint64_t start;
	uint32_t len, mark_off, mark_from, mark_to;
	char name[96];
};

struct mark {
	uint64_t cfa;
	const struct code *code;
};

static struct {
	uint64_t start, end;
} regions[MAX_REGIONS];
static int nr_regions;

/* The code that handlers return to: mov $15, %rax (7 bytes); syscall (2). */
#define RESTORER_BYTES	9
static uint64_t restorer;

static struct code *codes;		/* indexed by number */
static uint32_t nr_codes;

static struct {
	unsigned long compared, frames, interrupted, agree, truncated, wrong;
	unsigned long no_chain;
} sum;

static bool verbose;

/* ------------------------------------------------------------------- the log */

static void add_code(uint32_t id, const struct code *code)
{
	if (id >= nr_codes) {
		codes = reallocarray(codes, 2 * id + 1, sizeof(*codes));
		if (!codes)
			recording_fail("log", "no memory");
		memset(codes + nr_codes, 0,
		       (2 * id + 1 - nr_codes) * sizeof(*codes));
		nr_codes = 2 * id + 1;
	}
	codes[id] = *code;
}

static void read_log(const char *path)
{
	FILE *file = fopen(path, "r");
	char *line = NULL;
	size_t size = 0;
	struct code c;
	uint32_t id;

	if (!file)
		recording_fail(path, "cannot be read");
	while (getline(&line, &size, file) > 0) {
		if (sscanf(line, "code %u %lx %u %u %u %u %95s", &id, &c.start,
			   &c.len, &c.mark_off, &c.mark_from, &c.mark_to,
			   c.name) == 7)
			add_code(id, &c);
		sscanf(line, "restorer %lx", &restorer);
		if (nr_regions < MAX_REGIONS &&
		    sscanf(line, "region %lx %lx", &regions[nr_regions].start,
			   &regions[nr_regions].end) == 2)
			nr_regions++;
	}
	free(line);
	fclose(file);
}

static bool is_compiled(uint64_t ip)
{
	for (int i = 0; i < nr_regions; i++)
		if (ip >= regions[i].start && ip < regions[i].end)
			return true;
	return false;
}

static bool holds(const struct code *code, uint64_t ip)
{
	return ip >= code->start && ip - code->start < code->len;
}

/* Does a frame of @code that was interrupted at @ip have its mark? */
static bool has_mark(const struct code *code, uint64_t ip)
{
	return ip - code->start >= code->mark_from &&
	       ip - code->start < code->mark_to;
}

/* May a frame that was interrupted at @ip have no mark yet, or no mark any more? */
static bool may_lack_mark(uint64_t ip)
{
	const struct code *c;

	for (c = codes; c < codes + nr_codes; c++)
		if (holds(c, ip) && !has_mark(c, ip))
			return true;
	return false;
}

/* ----------------------------------------------------------------- one stack */

static uint64_t word_at(const struct dump_sample *sample, uint64_t address)
{
	uint64_t off = address - sample->regs[7], word;

	if (off > sample->stack_len || sample->stack_len - off < 8)
		return 0;
	memcpy(&word, sample->stack + off, sizeof(word));
	return word;
}

static int find_marks(const struct dump_sample *sample, struct mark *marks)
{
	uint64_t sp = sample->regs[7], id, cfa;
	int nr = 0;

	for (uint64_t at = sp; at - sp + 16 <= sample->stack_len; at += 8) {
		cfa = word_at(sample, at) ^ MARK_MAGIC;
		id = word_at(sample, at + 8);
		if (id < nr_codes && codes[id].mark_off &&
		    at == cfa - codes[id].mark_off && nr < MAX_FRAMES)
			marks[nr++] = (struct mark){ cfa, &codes[id] };
	}
	return nr;
}

/*
 * Was the frame at @i interrupted, by the sample or by a signal, so that its address
 * is not a return address?
 */
static bool is_exact(const struct dump_chain *chain, uint64_t i)
{
	return !i || (restorer && chain->ips[i - 1] - restorer <= RESTORER_BYTES);
}

/*
 * Do the code and the return address below the CFA of @mark match the frame at @i of
 * the chain?
 */
static bool is_frame_of(const struct dump_sample *sample,
			const struct dump_chain *chain, uint64_t i,
			const struct mark *mark)
{
	bool exact = is_exact(chain, i);

	/* a return address may be just past the last instruction */
	return holds(mark->code, chain->ips[i] - !exact) &&
	       (!exact || has_mark(mark->code, chain->ips[i])) &&
	       (i + 1 == chain->nr ||
		word_at(sample, mark->cfa - 8) == chain->ips[i + 1]);
}

static void print_stack(const struct dump_chain *chain,
			const struct mark *marks, int nr, const char *what)
{
	printf("%s:\n", what);
	for (uint64_t i = 0; i < chain->nr; i++)
		printf("  frame %#lx%s\n", (long)chain->ips[i],
		       is_compiled(chain->ips[i]) ? " *" : "");
	for (int i = 0; i < nr; i++)
		printf("  mark  %#lx %s, CFA %#lx\n",
		       (long)marks[i].code->start, marks[i].code->name,
		       (long)marks[i].cfa);
}

enum verdict { AGREE, TRUNCATED, WRONG };

static enum verdict judge(const struct dump_sample *sample,
			  const struct dump_chain *chain,
			  const struct mark *marks, int nr, int *frames,
			  bool *interrupted)
{
	int next = 0;

	*frames = 0;
	*interrupted = false;
	for (uint64_t i = 0; i < chain->nr; i++) {
		if (!is_compiled(chain->ips[i]))
			continue;
		++*frames;
		if (next < nr && is_frame_of(sample, chain, i, &marks[next]))
			next++;
		else if (!is_exact(chain, i) || !may_lack_mark(chain->ips[i]))
			return WRONG;
		*interrupted |= i && is_exact(chain, i);
	}
	return next == nr ? AGREE : TRUNCATED;
}

static void on_stack(void *arg, const struct dump_sample *sample,
		     const struct dump_chain *chain)
{
	static struct mark marks[MAX_FRAMES];
	int nr = find_marks(sample, marks), frames;
	enum verdict verdict;
	bool interrupted;

	(void)arg;
	verdict = judge(sample, chain, marks, nr, &frames, &interrupted);
	if (!nr && !frames)
		return;
	sum.compared++;
	sum.frames += frames;
	sum.interrupted += interrupted;
	sum.agree += verdict == AGREE;
	sum.truncated += verdict == TRUNCATED;
	sum.wrong += verdict == WRONG;
	if (verdict == WRONG && (verbose || sum.wrong <= 5))
		print_stack(chain, marks, nr, "DISAGREES");
	if (verdict == TRUNCATED && (verbose || sum.truncated <= 5))
		print_stack(chain, marks, nr, "TRUNCATED");
}

static void on_map(void *arg, const struct dump_map *map)
{
	(void)arg;
	(void)map;
}

static void on_vdso(void *arg, const struct dump_vdso *vdso)
{
	(void)arg;
	(void)vdso;
}

/* ---------------------------------------------------------------------- main */

static void print_sum(void)
{
	printf("samples with compiled frames  %8lu\n", sum.compared);
	printf("frames of compiled code       %8lu\n", sum.frames);
	printf("samples in signal handlers    %8lu\n", sum.interrupted);
	printf("samples that agree wholly     %8lu\n", sum.agree);
	printf("fewer frames than marks       %8lu\n", sum.truncated);
	printf("disagree                      %8lu\n", sum.wrong);
	printf("samples without a chain       %8lu\n", sum.no_chain);
}

int main(int argc, char **argv)
{
	static const struct recording_reader reader = {
		.on_map = on_map,
		.on_vdso = on_vdso,
		.on_stack = on_stack,
	};
	unsigned long minimum = 1, interrupted = 0, percent = 0;
	int opt;

	while ((opt = getopt(argc, argv, "m:i:t:l:v")) != -1) {
		if (opt == 'm')
			minimum = strtoul(optarg, NULL, 10);
		else if (opt == 'i')
			interrupted = strtoul(optarg, NULL, 10);
		else if (opt == 't')
			percent = strtoul(optarg, NULL, 10);
		else if (opt == 'l')
			read_log(optarg);
		else if (opt == 'v')
			verbose = true;
		else
			return 2;
	}
	if (optind == argc || !nr_regions)
		recording_fail("usage", "markcheck [-m MINIMUM] [-i INTERRUPTED] [-t PERCENT] [-v] -l LOG FILE...");
	while (optind < argc)
		sum.no_chain += recording_read(argv[optind++], &reader, NULL);
	print_sum();
	if (sum.compared < minimum) {
		printf("fewer than %lu samples\n", minimum);
		return 1;
	}
	if (sum.interrupted < interrupted) {
		printf("fewer than %lu samples in a signal handler\n", interrupted);
		return 1;
	}
	return sum.wrong || sum.no_chain > RECORDING_FEW ||
	       sum.truncated * 100 > percent * sum.compared;
}
