// SPDX-License-Identifier: MIT
/*
 * libcodectl-preload, in a program that is linked with its unwinder: objects that come
 * later, with odd tables and table files, and who else is asked.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "stand_in.h"
#include "test.h"

#define MAX_SEGMENTS	8

static char dir[PATH_MAX];

void __register_frame_info(const void *begin, void *object);
void *__deregister_frame_info(const void *begin);

/* --- plugins */

static const char *path_of(const char *name)
{
	static char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);

	return path;
}

static void *open_path(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		printf("# %s\n", dlerror());
	CHECK(library);

	return library;
}

/**
 * struct plugin - what its file says
 * @header: its ELF header
 * @phdr: its program headers
 * @id: its build-id
 * @id_len: length of that
 */
struct plugin {
	Elf64_Ehdr header;
	Elf64_Phdr phdr[16];
	uint8_t id[32];
	uint32_t id_len;
};

static const Elf64_Phdr *segment(const struct plugin *plugin, uint32_t type,
				 uint32_t flags)
{
	unsigned int i;

	for (i = 0; i < plugin->header.e_phnum; i++) {
		if (plugin->phdr[i].p_type == type &&
		    (plugin->phdr[i].p_flags & flags) == flags)
			return &plugin->phdr[i];
	}
	CHECK(!"there is one");

	return NULL;
}

static void read_build_id(int fd, struct plugin *plugin)
{
	char notes[4096];
	Elf64_Nhdr note;
	unsigned int i;

	for (i = 0; i < plugin->header.e_phnum; i++) {
		const Elf64_Phdr *ph = &plugin->phdr[i];

		if (ph->p_type != PT_NOTE || ph->p_align != 4)
			continue;
		CHECK(ph->p_filesz <= sizeof(notes));
		CHECK_EQ(pread(fd, notes, ph->p_filesz, ph->p_offset), ph->p_filesz);
		memcpy(&note, notes, sizeof(note));
		if (note.n_type != NT_GNU_BUILD_ID)
			continue;
		CHECK(note.n_namesz == 4 && note.n_descsz <= sizeof(plugin->id));
		plugin->id_len = note.n_descsz;
		memcpy(plugin->id, notes + sizeof(note) + 4, note.n_descsz);
	}
	CHECK(plugin->id_len);
}

static struct plugin read_plugin(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct plugin plugin = { .id_len = 0 };
	size_t len;

	CHECK(fd >= 0);
	CHECK_EQ(pread(fd, &plugin.header, sizeof(plugin.header), 0),
		 sizeof(plugin.header));
	CHECK(plugin.header.e_phnum <= ARRAY_SIZE(plugin.phdr));
	len = plugin.header.e_phnum * sizeof(*plugin.phdr);
	CHECK_EQ(pread(fd, plugin.phdr, len, plugin.header.e_phoff), len);
	read_build_id(fd, &plugin);
	close(fd);

	return plugin;
}

/* --- their tables */

struct table {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	struct {
		Elf64_Nhdr note;
		char name[4];
		uint8_t id[32];
	} __attribute__((__packed__)) build_id;
	struct {
		Elf64_Nhdr note;
		char name[8];
		uint64_t words[1 + 3 * MAX_SEGMENTS];
	} __attribute__((__packed__)) segments;
	/* Version 3, sorted, for x86-64, with no function. */
	uint8_t sframe[28];
};

static Elf64_Shdr section(uint32_t type, size_t offset, size_t size)
{
	return (Elf64_Shdr) { .sh_type = type, .sh_offset = offset, .sh_size = size };
}

static struct table make_table(const struct plugin *plugin)
{
	struct table table = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
				     ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_REL, .e_machine = EM_X86_64,
			.e_shoff = offsetof(struct table, sections),
			.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4,
		},
		.build_id = { { 4, plugin->id_len, NT_GNU_BUILD_ID }, "GNU", { 0 } },
		.segments = { { 8, 0, 1 }, "codectl", { 1 } },
		.sframe = { 0xe2, 0xde, 3, 5, 3, 0, 0xf8 },
	};
	unsigned int i, nr = 1;

	memcpy(table.build_id.id, plugin->id, plugin->id_len);
	for (i = 0; i < plugin->header.e_phnum; i++) {
		const Elf64_Phdr *ph = &plugin->phdr[i];

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		CHECK(nr + 3 <= ARRAY_SIZE(table.segments.words));
		table.segments.words[nr++] = ph->p_offset;
		table.segments.words[nr++] = ph->p_filesz;
		table.segments.words[nr++] = ph->p_vaddr;
	}
	table.segments.note.n_descsz = nr * sizeof(uint64_t);
	table.sections[1] = section(SHT_NOTE, offsetof(struct table, build_id),
				    sizeof(Elf64_Nhdr) + 4 + plugin->id_len);
	table.sections[2] = section(SHT_NOTE, offsetof(struct table, segments),
				    sizeof(Elf64_Nhdr) + 8 +
				    table.segments.note.n_descsz);
	table.sections[3] = section(0x6ffffff4, offsetof(struct table, sframe),
				    sizeof(table.sframe));

	return table;
}

/* Where the table of a plugin is looked for: in a new store. */
static const char *path_of_table(const struct plugin *plugin)
{
	static char store[] = "/tmp/preload_objects_test.XXXXXX";
	static char path[PATH_MAX];
	unsigned int i;
	char *at;

	strcpy(strrchr(store, '.'), ".XXXXXX");
	CHECK(mkdtemp(store));
	setenv("CODECTL_SFRAME", store, 1);
	at = path + sprintf(path, "%s/%02x", store, plugin->id[0]);
	CHECK_EQ(mkdir(path, 0755), 0);
	*at++ = '/';
	for (i = 1; i < plugin->id_len; i++)
		at += sprintf(at, "%02x", plugin->id[i]);
	strcpy(at, ".sframe");

	return path;
}

static void remove_store(const char *path)
{
	char folder[PATH_MAX];

	unlink(path);
	strcpy(folder, path);
	rmdir(dirname(folder));
	rmdir(dirname(folder));
}

static const char *write_table(const struct plugin *plugin)
{
	const char *path = path_of_table(plugin);
	struct table table = make_table(plugin);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, &table, sizeof(table)), sizeof(table));
	close(fd);

	return path;
}

/* Whether the kernel knows the plugin by a table. */
static bool has_table(void *library, const struct plugin *plugin)
{
	const Elf64_Phdr *text = segment(plugin, PT_LOAD, PF_X);
	struct stand_in_entry entry;
	struct link_map *map;

	CHECK_EQ(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);

	return stand_in_find((map->l_addr + text->p_vaddr) & -4096UL, &entry) &&
	       entry.sframe_start;
}

static void opened_later(void)
{
	struct plugin plugin = read_plugin(path_of("fake_unwind.so"));
	const char *path = write_table(&plugin);
	void *library;

	stand_in();
	library = open_path(path_of("fake_unwind.so"));
	CHECK(!has_table(library, &plugin));
	errno = 77;
	CHECK(dlsym(library, "fake_nr"));
	CHECK_EQ(errno, 77);
	CHECK(has_table(library, &plugin));
	dlclose(library);
	remove_store(path);
}

static void *nothing(void *arg)
{
	return arg;
}

static void make_thread(void)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, nothing, NULL), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

static void seen_at_a_thread(void)
{
	struct plugin plugin = read_plugin(path_of("fake_unwind.so"));
	const char *path = write_table(&plugin);
	void *library;

	stand_in();
	library = open_path(path_of("fake_unwind.so"));
	make_thread();
	CHECK(has_table(library, &plugin));
	remove_store(path);
}

/* The pipe is opened, and nobody writes. */
static void a_pipe_for_a_table(void)
{
	struct plugin plugin = read_plugin(path_of("fake_unwind.so"));
	const char *path = path_of_table(&plugin);
	void *library;

	CHECK_EQ(mkfifo(path, 0644), 0);
	stand_in();
	library = open_path(path_of("fake_unwind.so"));
	alarm(60);
	make_thread();
	alarm(0);
	CHECK(!has_table(library, &plugin));
	remove_store(path);
}

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;

	CHECK(in >= 0 && out >= 0 && !fstat(in, &st));
	CHECK_EQ(sendfile(out, in, NULL, st.st_size), st.st_size);
	close(in);
	close(out);
}

/* The dynamic linker never looks at that note. */
static void a_note_that_is_not_loaded(void)
{
	struct plugin plugin = read_plugin(path_of("fake_unwind.so"));
	char path[] = "/tmp/preload_objects_test.so";
	unsigned int i;
	int fd;

	unlink(path);
	copy_file(path_of("fake_unwind.so"), path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	for (i = 0; i < plugin.header.e_phnum; i++) {
		if (plugin.phdr[i].p_type != PT_NOTE)
			continue;
		plugin.phdr[i].p_align = 4;
		plugin.phdr[i].p_vaddr = 1UL << 45;
		plugin.phdr[i].p_filesz = 1 << 20;
	}
	CHECK_EQ(pwrite(fd, plugin.phdr, sizeof(*plugin.phdr) * i,
			plugin.header.e_phoff), sizeof(*plugin.phdr) * i);
	close(fd);
	open_path(path);
	make_thread();
	unlink(path);
}

/* --- what the program can see of us */

/* The dynamic linker's lock is taken, and we must not wait for it. */
static void a_thread_of_a_constructor(void)
{
	void *library;
	int *threads;

	stand_in();
	alarm(60);
	library = open_path(path_of("fake_late.so"));
	alarm(0);
	threads = dlsym(library, "late_threads");
	CHECK(threads);
	CHECK_EQ(*threads, 1);
}

static void an_error_that_waits(void)
{
	static const uint32_t section[] = {
		0x14, 0, 0x00010001, 0x080c1078, 0x90010807, 0, 0
	};
	static uint64_t object[8];
	const char *error;

	stand_in();
	CHECK(!dlopen("/nowhere.so", RTLD_NOW));
	__register_frame_info(section, object);
	CHECK(__deregister_frame_info(section) == object);
	make_thread();
	error = dlerror();
	CHECK(error && strstr(error, "/nowhere.so"));
}

/* RTLD_NEXT means after the caller. */
static void symbols_by_caller(void)
{
	void *(*next)(const char *name);
	Dl_info info;
	void *found = dlsym(RTLD_NEXT, "mprotect");

	CHECK(dladdr(found, &info));
	CHECK(strstr(info.dli_fname, "libcodectl-preload"));
	next = dlsym(open_path(path_of("fake_late.so")), "late_next");
	CHECK(next);
	/* From what the plugin needs, which nobody else can see. */
	CHECK(next("fake_registered"));
	CHECK(!dlsym(RTLD_DEFAULT, "fake_registered"));
	CHECK(!next("late_next"));
	CHECK(strstr(dlerror(), "late_next"));
}

static void others_that_are_preloaded(void)
{
	int *mapped = dlsym(RTLD_DEFAULT, "fake_mapped"), before;
	__typeof__(mmap) *one = dlsym(RTLD_DEFAULT, "mmap");
	__typeof__(mmap64) *other = dlsym(RTLD_DEFAULT, "mmap64");

	CHECK(mapped);
	before = *mapped;
	CHECK(one(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	      MAP_FAILED);
	CHECK_EQ(*mapped, before);
	CHECK(other(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	      MAP_FAILED);
	CHECK_EQ(*mapped, before + 1);
}

static const struct test tests[] = {
	TEST(opened_later),
	TEST(seen_at_a_thread),
	TEST(a_pipe_for_a_table),
	TEST(a_note_that_is_not_loaded),
	TEST(a_thread_of_a_constructor),
	TEST(an_error_that_waits),
	TEST(symbols_by_caller),
	TEST(others_that_are_preloaded),
};

/* Uses the library next to this program if that is installed for a guest. */
int main(int argc, char **argv)
{
	char libraries[2 * PATH_MAX + 256];

	(void)argc;
	CHECK(realpath("/proc/self/exe", dir));
	dirname(dir);
	if (getenv("LD_PRELOAD"))
		return test_main(tests, ARRAY_SIZE(tests));
	snprintf(libraries, sizeof(libraries), "%s:%s/fake_mmap64.so",
		 access(path_of("libcodectl-preload.so"), R_OK) ?
		 PRELOAD : path_of("libcodectl-preload.so"), dir);
	setenv("LD_PRELOAD", libraries, 1);
	execv("/proc/self/exe", argv);

	return 1;
}
