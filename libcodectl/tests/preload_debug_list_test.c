// SPDX-License-Identifier: MIT
/*
 * libcodectl-preload, in a program that does not know it: what it reports to debuggers is
 * registered with the kernel.
 */
#include <elf.h>

#include "preloaded.h"

#define MANY	128

struct debug_entry {
	struct debug_entry *next, *prev;
	const char *file;
	uint64_t size;
};

struct debug_list {
	uint32_t version, action;
	struct debug_entry *relevant, *first;
};

__attribute__((__visibility__("default")))
struct debug_list __jit_debug_descriptor = { .version = 1 };

struct object {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[32];
	uint8_t frame[128];
};

static struct object make_object(uint64_t start)
{
	struct object object = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_EXEC, .e_machine = EM_X86_64,
			.e_shoff = offsetof(struct object, sections),
			.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3,
			.e_shstrndx = 1,
		},
		.sections = {
			[1] = { .sh_type = SHT_STRTAB,
				.sh_offset = offsetof(struct object, names),
				.sh_size = sizeof(object.names) },
			[2] = { .sh_type = SHT_PROGBITS, .sh_name = 1,
				.sh_offset = offsetof(struct object, frame) },
		},
		.names = "\0.debug_frame",
	};

	size = 0;
	put_cie(-1);
	put_fde(0, start);
	memcpy(object.frame, section, size);
	object.sections[2].sh_size = size;

	return object;
}

/* The list says which entry has changed; then memory is made executable. */
static void change(struct debug_entry *relevant, struct debug_entry *first)
{
	__jit_debug_descriptor.relevant = relevant;
	__jit_debug_descriptor.first = first;
	errno = 77;
	CHECK_EQ(mprotect((void *)text, LEN, PROT_READ | PROT_EXEC), 0);
	CHECK_EQ(errno, 77);
}

static void list_of_debuggers(void)
{
	struct object first, second;
	struct debug_entry b = { NULL, NULL, (void *)&second, sizeof(second) };
	struct debug_entry a = { &b, NULL, (void *)&first, sizeof(first) };

	prepare();
	first = make_object(text);
	second = make_object(text + STEP);
	change(&b, &b);
	CHECK_EQ(nr_found(), 1);
	change(&a, &a);
	CHECK_EQ(nr_found(), 2);
	a.next = NULL;
	change(&b, &a);
	CHECK_EQ(nr_found(), 1);
	CHECK(stand_in_find(text, &entry));
	change(NULL, NULL);
	CHECK_EQ(nr_found(), 0);
	/* Mapping memory is enough. */
	__jit_debug_descriptor.relevant = &a;
	__jit_debug_descriptor.first = &a;
	CHECK(mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	      MAP_FAILED);
	CHECK_EQ(nr_found(), 1);
	change(NULL, NULL);
}

/* An allocator maps memory under its own lock, as it were, and is not asked for any. */
static bool allocator_locked;

void *__libc_malloc(size_t len);
void *malloc(size_t len);

__attribute__((__visibility__("default"))) void *malloc(size_t len)
{
	CHECK(!allocator_locked);

	return __libc_malloc(len);
}

/* There are more functions than fit on a stack, and the last one comes first. */
static void within_an_allocator(void)
{
	static struct {
		struct object object;
		uint8_t frame[24 + MANY * 32];
	} many;
	struct debug_entry a = { NULL, NULL, (void *)&many, sizeof(many) };
	unsigned int i;

	prepare();
	many.object = make_object(text);
	many.object.sections[2].sh_offset = offsetof(__typeof__(many), frame);
	many.object.sections[2].sh_size = sizeof(many.frame);
	memcpy(many.frame, section, 24);
	for (i = 0; i < MANY; i++) {
		size = 0;
		put_fde(0, text + (MANY - 1 - i) * 64);
		memcpy(many.frame + 24 + i * 32, section, 32);
	}
	allocator_locked = true;
	change(&a, &a);
	allocator_locked = false;
	CHECK_EQ(nr_found(), 1);
	change(NULL, NULL);
}

static void try_object(struct object *object, uint64_t len)
{
	struct debug_entry a = { NULL, NULL, (void *)object, len };

	change(&a, &a);
	CHECK_EQ(nr_found(), 0);
	change(NULL, NULL);
}

/* Blobs that are no ELF files, and damaged ones. */
static void objects_that_are_none(void)
{
	struct object good, bad;
	uint64_t i;

	prepare();
	good = make_object(text);
	for (i = 0; i < offsetof(struct object, frame) + size; i += 1 + i / 64)
		try_object(&good, i);
	bad = good;
	bad.header.e_ident[0] = 0;
	try_object(&bad, sizeof(bad));
	bad = good;
	bad.header.e_type = ET_REL;
	try_object(&bad, sizeof(bad));
	bad = good;
	bad.header.e_shnum = 60000;
	try_object(&bad, sizeof(bad));
	bad = good;
	bad.header.e_shstrndx = 3;
	try_object(&bad, sizeof(bad));
	bad = good;
	bad.header.e_shoff = -sizeof(Elf64_Shdr);
	try_object(&bad, sizeof(bad));
	bad = good;
	bad.sections[2].sh_offset = UINT64_MAX - 8;
	try_object(&bad, sizeof(bad));
	bad = good;
	bad.sections[2].sh_name = UINT32_MAX;
	try_object(&bad, sizeof(bad));
	bad = good;
	bad.sections[2].sh_size = UINT64_MAX;
	try_object(&bad, sizeof(bad));
}

static void lists_that_are_damaged(void)
{
	struct object object;
	struct debug_entry a = { &a, NULL, (void *)&object, sizeof(object) };

	prepare();
	object = make_object(text);
	/* It is circular; an entry is nowhere; its object is nowhere. */
	change(&a, &a);
	CHECK_EQ(nr_found(), 1);
	a.next = (void *)8;
	change(NULL, &a);
	change((void *)8, (void *)8);
	change(NULL, NULL);
	CHECK_EQ(nr_found(), 0);
	a = (struct debug_entry) { NULL, NULL, (void *)8, 4096 };
	change(&a, &a);
	a.size = UINT64_MAX;
	change(NULL, &a);
	change(NULL, NULL);
	/* Something else that has the name. */
	a = (struct debug_entry) { NULL, NULL, (void *)&object, sizeof(object) };
	__jit_debug_descriptor.version = 2;
	change(&a, &a);
	CHECK_EQ(nr_found(), 0);
}

static const struct test tests[] = {
	TEST(list_of_debuggers),
	TEST(within_an_allocator),
	TEST(objects_that_are_none),
	TEST(lists_that_are_damaged),
};

int main(int argc, char **argv)
{
	(void)argc;

	return preloaded_main(tests, ARRAY_SIZE(tests), argv);
}
