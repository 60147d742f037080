// SPDX-License-Identifier: GPL-2.0
/*
 * Linked to each of libsframe's own tests: sections that the test passes to libsframe also go to
 * the kernel's decoder.  It has to refuse them for a known reason, or agree about all addresses
 * nearby and those that the test looks up.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/uaccess.h>

#include "../compare.h"
#include "../sframe_lib.h"
#include "dejagnu.h"
#include "sframe.h"

#define AROUND	64

struct sframe_decoder_ctx;
struct sframe_encoder_ctx;

struct sframe_decoder_ctx *__real_sframe_decode(const char *buf, size_t size,
						int *err);
struct sframe_decoder_ctx *__wrap_sframe_decode(const char *buf, size_t size,
						int *err);
char *__real_sframe_encoder_write(struct sframe_encoder_ctx *ctx, size_t *size,
				  bool sort, int *err);
char *__wrap_sframe_encoder_write(struct sframe_encoder_ctx *ctx, size_t *size,
				  bool sort, int *err);
int __real_sframe_find_fre(const struct sframe_decoder_ctx *ctx, s64 pc,
			   void *fre);
int __wrap_sframe_find_fre(const struct sframe_decoder_ctx *ctx, s64 pc,
			   void *fre);

struct user_arena user_arena;

static struct {
	struct sframe_section sec;
	struct lib_section *lib;
	const char *written;	/* not decoded by libsframe yet */
	bool decoded;
	bool amid;		/* the calls are our own */
} now;

static int nr, failed;

static void result(bool ok, const char *format, va_list args)
{
	failed += !ok;
	printf("%sok %d - ", ok ? "" : "not ", ++nr);
	vprintf(format, args);
	printf("\n");
}

void pass(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	result(true, format, args);
	va_end(args);
}

void fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	result(false, format, args);
	va_end(args);
}

static bool compare(s64 pc, u32 *rules)
{
	struct unwind_rule ours = {}, theirs = {};
	int ret, lib_ret;

	ret = sframe_find(&now.sec, now.sec.start + pc, &ours);
	lib_ret = lib_find(now.lib, pc, &theirs);
	theirs.start += now.sec.start;
	*rules += !ret;
	if (!ret && !take_common(&ours))
		ret = -EPROTO;
	if (ret == lib_ret && (ret || same_rule(&ours, &theirs)))
		return true;
	printf("# section %+lld\n", (long long)pc);
	show_rule("kernel", ret, &ours);
	show_rule("libsframe", lib_ret, &theirs);

	return false;
}

/* Return: the expected result, and the reason, according to the header in @buf. */
static int expected(const unsigned char *buf, size_t size, const char **why)
{
	*why = "too short";
	if (size < sizeof(struct sframe_header))
		return -EINVAL;
	*why = "other byte order";
	if (buf[0] != (SFRAME_MAGIC & 0xff) || buf[1] != SFRAME_MAGIC >> 8)
		return -EINVAL;
	*why = "other version";
	if (buf[2] != SFRAME_VERSION_3)
		return -EOPNOTSUPP;
	*why = "other ABI";
	if (buf[4] != SFRAME_ABI_AMD64_ENDIAN_LITTLE)
		return -EOPNOTSUPP;
	*why = "FDEs are not sorted";
	if (!(buf[3] & SFRAME_F_FDE_SORTED))
		return -EOPNOTSUPP;
	*why = "decoded";

	return 0;
}

static void compare_around(u32 nr_fdes)
{
	struct lib_fde last = lib_fde(now.lib, nr_fdes - 1);
	s64 pc = lib_fde(now.lib, 0).start - AROUND;
	u32 tried = 0, rules = 0, wrong = 0;

	for (; pc < last.start + last.size + AROUND; pc++, tried++)
		wrong += !compare(pc, &rules);
	if (wrong || !rules)
		fail("kernel says otherwise at %u of %u addresses", wrong, tried);
	else
		pass("kernel says the same at %u addresses, %u with a rule",
		     tried, rules);
}

static void decode_here(const char *buf, size_t size)
{
	const char *why;
	u32 nr_fdes = 0;
	int ret;

	user_arena.start = (unsigned long)buf;
	user_arena.end = user_arena.start + size;
	user_arena.fault = user_arena.end;
	now.sec.start = user_arena.start;
	now.sec.end = user_arena.end;

	ret = sframe_read_header(&now.sec);
	if (ret != expected((const unsigned char *)buf, size, &why))
		fail("kernel, version %d, ABI %d: %s", buf[2], buf[4],
		     strerror(-ret));
	else
		pass("kernel, version %d, ABI %d: %s (%s)", buf[2], buf[4],
		     ret ? strerrorname_np(-ret) : "OK", why);
	now.decoded = !ret;
	if (ret)
		return;
	now.amid = true;
	now.lib = lib_open(buf, size, &nr_fdes);
	if (now.lib && nr_fdes)
		compare_around(nr_fdes);
	else
		fail("libsframe does not open what the kernel does");
	now.amid = false;
}

struct sframe_decoder_ctx *__wrap_sframe_decode(const char *buf, size_t size,
						int *err)
{
	if (!now.amid && buf != now.written)
		decode_here(buf, size);
	now.written = NULL;

	return __real_sframe_decode(buf, size, err);
}

char *__wrap_sframe_encoder_write(struct sframe_encoder_ctx *ctx, size_t *size,
				  bool sort, int *err)
{
	char *buf = __real_sframe_encoder_write(ctx, size, sort, err);

	if (buf)
		decode_here(buf, *size);
	now.written = buf;

	return buf;
}

int __wrap_sframe_find_fre(const struct sframe_decoder_ctx *ctx, s64 pc,
			   void *fre)
{
	u32 rules = 0;

	if (!now.amid && now.decoded) {
		now.amid = true;
		if (!compare(pc, &rules))
			fail("kernel says otherwise where the test asks");
		now.amid = false;
	}

	return __real_sframe_find_fre(ctx, pc, fre);
}

static __attribute__((destructor)) void finish(void)
{
	printf("1..%d\n", nr);
	fflush(stdout);
	if (failed || !nr)
		_exit(1);
}
