// SPDX-License-Identifier: GPL-2.0
/*
 * Compares the SFrame decoder of the kernel with libsframe and with DWARF CFI, on both
 * sides of each boundary between rules of the given ELF files and at random addresses.
 *
 * Both decoders get the section in the same block of memory; addresses here are
 * relative to its start.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/uaccess.h>

#include "compare.h"
#include "random.h"
#include "section.h"
#include "sframe.h"
#include "sframe_lib.h"
#include "symbols.h"
#include "third.h"

#define RANDOM_TRIES	100000
#define MAX_SHOWN	20

struct user_arena user_arena;

struct object {
	const char *path;
	struct lib_section *lib;
	struct third *third;
	struct sframe_section sec;
	u64 tried;
	u64 covered;
	u64 wrong;
};

static void compare(struct object *obj, s64 pc)
{
	struct unwind_rule ours = {}, theirs = {};
	int ret, lib_ret;

	ret = sframe_find(&obj->sec, obj->sec.start + pc, &ours);
	if (!ret && !take_common(&ours))
		ret = -EPROTO;
	lib_ret = lib_find(obj->lib, pc, &theirs);
	theirs.start += obj->sec.start;

	obj->tried++;
	obj->covered += !ret;
	third_compare(obj->third, pc, ret, &ours);
	if (ret == lib_ret && (ret || same_rule(&ours, &theirs)))
		return;
	if (obj->wrong++ < MAX_SHOWN) {
		printf("# %s: section %+lld\n", obj->path, (long long)pc);
		show_rule("kernel", ret, &ours);
		show_rule("libsframe", lib_ret, &theirs);
	}
}

static void compare_fde(struct object *obj, u32 i)
{
	struct lib_fde fde = lib_fde(obj->lib, i);
	u64 block = fde.rep_size ?: fde.size, at;
	u32 start;
	int j;

	compare(obj, fde.start - 1);
	compare(obj, fde.start);
	compare(obj, fde.start + fde.size - 1);
	compare(obj, fde.start + fde.size);
	for (at = 0; block && at < fde.size; at += block) {
		for (j = 0; lib_fre_start(obj->lib, i, j, &start); j++) {
			compare(obj, fde.start + at + start - 1);
			compare(obj, fde.start + at + start);
		}
	}
}

static void compare_all(struct object *obj, u32 nr)
{
	s64 low = lib_fde(obj->lib, 0).start;
	s64 high = lib_fde(obj->lib, nr - 1).start +
		       lib_fde(obj->lib, nr - 1).size;
	s64 pc;
	u32 i;

	for (i = 0; i < nr; i++)
		compare_fde(obj, i);
	while (third_next(obj->third, &pc))
		compare(obj, pc);
	for (i = 0; i < RANDOM_TRIES; i++)
		compare(obj, low + (s64)(next_random() % (high - low)));
	compare(obj, INT64_MIN / 2);
	compare(obj, INT64_MAX / 2);
}

static bool check_file(const char *path)
{
	struct object obj = { .path = path };
	size_t size = 0;
	char *data = section_read(path, &size);
	u32 nr = 0;
	int ret;
	bool ok;

	if (!data) {
		printf("# %s: no SFrame section\n", path);
		return false;
	}
	user_arena.start = (unsigned long)data;
	user_arena.end = user_arena.start + size;
	user_arena.fault = user_arena.end;
	obj.sec.start = user_arena.start;
	obj.sec.end = user_arena.end;

	ret = sframe_read_header(&obj.sec);
	obj.lib = lib_open(data, size, &nr);
	if (ret || !obj.lib || !nr || nr != obj.sec.num_fdes) {
		printf("# %s: kernel %d, %u FDEs; libsframe %s, %u FDEs\n", path,
		       ret, obj.sec.num_fdes, obj.lib ? "opens it" : "fails", nr);
		return false;
	}
	obj.third = third_open(path);
	if (!obj.third) {
		printf("# %s: no CFI that can be read\n", path);
		return false;
	}
	compare_all(&obj, nr);
	ok = !obj.wrong && obj.covered && third_agrees(obj.third);
	printf("# %s: %u FDEs, %llu addresses, %llu with a rule, %llu differ\n",
	       path, nr, (unsigned long long)obj.tried,
	       (unsigned long long)obj.covered, (unsigned long long)obj.wrong);
	third_close(obj.third);
	lib_close(obj.lib);
	free(data);

	return ok;
}

static bool check_numbered(const char *path, int number)
{
	const char *name = strrchr(path, '/');
	bool ok = check_file(path);

	printf("%sok %d - decoder, libsframe and DWARF agree on %s\n",
	       ok ? "" : "not ", number, name ? name + 1 : path);

	return ok;
}

/*
 * -a		pass over files that are not linked or have no SFrame
 * -p ARCHIVE	functions of its members have no SFrame if those have none
 */
int main(int argc, char **argv)
{
	int opt, nr = 0, failed = 0;
	bool any = false;

	printf("TAP version 13\n");
	while ((opt = getopt(argc, argv, "ap:")) != -1) {
		any |= opt == 'a';
		if (opt == '?' || (opt == 'p' && !plain_add(optarg)))
			return 2;
	}
	for (; optind < argc; optind++) {
		if (!any || section_is_linked(argv[optind]))
			failed += !check_numbered(argv[optind], ++nr);
	}
	third_print_totals();
	printf("1..%d\n", nr);

	return failed || !nr;
}
