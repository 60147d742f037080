// SPDX-License-Identifier: MIT
/* The files that a process has mapped, with a stand-in for the lookup of its owner. */
#include <errno.h>
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "attach/files.h"
#include "check.h"

#define OWNER	12345

/* The number of lookups, and how many of them find this owner before another one. */
static unsigned int asked, owners;

bool owner_of(pid_t pid, uid_t *uid)
{
	*uid = pid == getpid() && asked++ < owners ? OWNER : OWNER + 1;
	return true;
}

/* The mapping of this program. */
static struct files look(unsigned int times, struct files files)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start = 0, end = 0;
	char permissions[5] = "";

	while (permissions[2] != 'x' &&
	       fscanf(maps, "%lx-%lx %4s%*[^\n]", &start, &end, permissions) == 3)
		;
	fclose(maps);
	asked = 0;
	owners = times;
	files.of_one = true;
	files.owner = OWNER;
	files_add_mapping(&files, getpid(), start, end, "name");
	return files;
}

static void forget(struct files *files)
{
	for (size_t i = 0; i < files->nr; i++) {
		close(files->file[i].fd);
		free(files->file[i].name);
	}
	free(files->file);
}

static void of_the_owner(void)
{
	struct files files = look(2, (struct files){ 0 });

	CHECK(files.nr == 1 && asked == 2 && !files.unopened);
	CHECK(!files.nr || (!strcmp(files.file[0].name, "name") && !files.file[0].named));
	forget(&files);
}

static void of_another(void)
{
	struct files files = look(0, (struct files){ 0 });

	CHECK(!files.nr && asked == 1 && !files.unopened);
	forget(&files);
}

/* A file that has been mapped meanwhile may be on a file system that does not answer. */
static void of_another_since(void)
{
	struct files files = look(1, (struct files){ 0 });

	CHECK(!files.nr && asked == 2 && !files.unopened);
	forget(&files);
}

/* No file is opened for a known mapping. */
static void known_already(void)
{
	struct files files = look(2, (struct files){ 0 });
	uint64_t seen = files.nr ? files.file[0].seen : 0;

	files = look(1, files);
	CHECK(files.nr == 1 && asked == 1 && files.file[0].seen > seen);
	forget(&files);
}

static void only_looked_at(void)
{
	struct files files = look(2, (struct files){ .only_looks = true });

	CHECK(!files.nr);
	forget(&files);
}

/* Opening it may have effects. */
static void no_device_is_opened(void)
{
	struct files files = { .of_one = true, .owner = OWNER };
	const size_t size = getpagesize();
	int device = open("/dev/zero", O_RDONLY | O_CLOEXEC), opened = inotify_init1(IN_NONBLOCK);
	char *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, device, 0), event[512];

	owners = 2;
	asked = 0;
	CHECK(mapped != MAP_FAILED && inotify_add_watch(opened, "/dev/zero", IN_OPEN) > 0);
	files_add_mapping(&files, getpid(), (unsigned long)mapped, (unsigned long)mapped + size,
			  "name");
	CHECK(asked && !files.nr && !files.unopened);
	CHECK(read(opened, event, sizeof(event)) < 0 && errno == EAGAIN);
	forget(&files);
	munmap(mapped, size);
	close(device);
	close(opened);
}

/* Without a descriptor, all processes have to be scanned again. */
static void no_descriptor_left(void)
{
	struct files files = { .of_one = true, .owner = OWNER };
	struct rlimit before, room;

	asked = 0;
	owners = 1000;
	CHECK(files_add_all(&files) && files.nr);
	forget(&files);
	files = (struct files){ .of_one = true, .owner = OWNER };
	CHECK(!getrlimit(RLIMIT_NOFILE, &before));
	room = before;
	/* Enough to open the directory, but not to read it. */
	room.rlim_cur = 4;
	CHECK(!setrlimit(RLIMIT_NOFILE, &room));
	CHECK(!files_add_all(&files) && !files.nr);
	room.rlim_cur = 3;
	CHECK(!setrlimit(RLIMIT_NOFILE, &room));
	files_add_mapping(&files, getpid(), 0, 1, "name");
	CHECK(files.unopened == 1 && files.error == EMFILE);
	CHECK(!setrlimit(RLIMIT_NOFILE, &before));
	forget(&files);
}

/* Takes CAP_CHECKPOINT_RESTORE in the first user namespace. */
static bool may_open_mappings(void)
{
	struct files files = look(2, (struct files){ 0 });
	const bool may = files.error != EPERM;

	forget(&files);
	return may;
}

int main(void)
{
	/* From here on the numbers of descriptors are known. */
	while (open("/dev/null", O_RDONLY) < 3)
		;
	close_range(3, ~0U, 0);
	if (!may_open_mappings()) {
		printf("1..0 # SKIP files cannot be opened by their mappings\n");
		return 0;
	}
	RUN(of_the_owner);
	RUN(of_another);
	RUN(of_another_since);
	RUN(known_already);
	RUN(only_looked_at);
	RUN(no_device_is_opened);
	RUN(no_descriptor_left);
	return check_end();
}
