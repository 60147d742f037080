// SPDX-License-Identifier: MIT
#include <sys/wait.h>

#include "test.h"

#define SKIPPED 77

void test_fail(const char *file, int line, const char *what, long long got,
	       long long want)
{
	printf("# %s:%d: %s: %lld, not %lld\n", file, line, what, got, want);
	fflush(stdout);
	_exit(1);
}

void test_skip(const char *why)
{
	printf("# skipped: %s\n", why);
	fflush(stdout);
	_exit(SKIPPED);
}

static int run(const struct test *test)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		test->run();
		fflush(stdout);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	if (WIFSIGNALED(status))
		printf("# killed by signal %d\n", WTERMSIG(status));

	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int test_main(const struct test *tests, size_t nr)
{
	size_t i, failed = 0;
	int ret;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("1..%zu\n", nr);
	for (i = 0; i < nr; i++) {
		ret = run(&tests[i]);
		failed += ret && ret != SKIPPED;
		printf("%sok %zu %s%s\n", ret && ret != SKIPPED ? "not " : "",
		       i + 1, tests[i].name, ret == SKIPPED ? " # SKIP" : "");
	}

	return failed ? 1 : 0;
}

uint64_t test_text(size_t len)
{
	void *map = mmap(NULL, len, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(map != MAP_FAILED);

	return (uintptr_t)map;
}

struct codectl_region *test_open(size_t len,
				 const struct codectl_region_attr *attr,
				 uint64_t *text)
{
	struct codectl_region *region;

	*text = test_text(len);
	CHECK_EQ(codectl_region_open((void *)*text, len, attr, &region), 0);

	return region;
}

struct codectl_region *test_open_without_rows(size_t len, uint64_t *text)
{
	const struct code_jit_unwind_fre rule = { .cfa_off = 16,
						  .ra_off = -8 };
	struct codectl_region_attr attr = {
		.flags = CODECTL_REGION_NO_ROWS,
		.jit_flags = CODE_JIT_DEFAULT_RULE,
		.default_rule = &rule,
	};

	return test_open(len, &attr, text);
}

struct code_jit_unwind_fre test_row(uint32_t ip_off, uint32_t size, int32_t id)
{
	return (struct code_jit_unwind_fre) {
		.ip_off = ip_off,
		.size = size,
		.cfa_off = id,
		.ra_off = ~id,
		.fp_off = id ^ 0x5555,
		.info = CODE_FRE_BASE_SP,
	};
}

int test_add(struct codectl_region *region, uint64_t start, uint32_t len,
	     int32_t id, const char *name)
{
	struct code_jit_unwind_fre row = test_row(0, len, id);

	return codectl_region_add(region, start, len, &row, 1, name);
}

int test_id(uint64_t ip)
{
	struct codectl_rule rule;
	int ret = codectl_lookup(ip, &rule);

	if (ret)
		return ret;
	CHECK(rule.start <= ip && ip - rule.start < rule.size);
	CHECK_EQ(rule.ra_off, ~rule.cfa_off);
	CHECK_EQ(rule.fp_off, rule.cfa_off ^ 0x5555);
	CHECK_EQ(rule.info, CODE_FRE_BASE_SP);

	return rule.cfa_off;
}

void test_wait(pid_t pid)
{
	int status;

	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

void test_wait_for(const uint32_t *word, uint32_t bits)
{
	unsigned int tries = 10000;

	while (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bits) && --tries)
		usleep(1000);
	CHECK(tries);
}

unsigned int test_rounds(unsigned int rounds)
{
	const char *scale = getenv("TEST_TIME_SCALE");

	return scale && atoi(scale) > 1 ? rounds / 5 : rounds;
}

uint32_t test_random(uint32_t below)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;

	return (state >> 32) % below;
}
