// SPDX-License-Identifier: MIT
/*
 * Which files are opened: regular ones, within the root of a process.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "in_dir.h"
#include "plain.h"
#include "tool.h"

static bool opens(const char *root, const char *path)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct plain file;
	bool good = plain_open(&file, fd, path);

	close(fd);
	if (good)
		close(file.fd);
	return good;
}

static void only_regular_files_are_opened(void)
{
	static const char *const others[] = {
		"/dev/null", "/dev/zero", "/dev", "/proc/self/maps", "/proc/version", "/none",
		"/sys/kernel/notes", "",
	};
	char *pipe = in_dir("pipe"), *text = in_dir("text");

	write_text(text, "text");
	CHECK(!mkfifo(pipe, 0666));
	CHECK(opens("/", text) && opens(dir, "text") && opens(dir, "/text"));
	CHECK(!opens("/", pipe) && !opens(dir, "pipe"));
	/* A file of size 0, as those of cgroups are. */
	write_text(text, "");
	CHECK(!opens(dir, "text"));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		CHECK(!opens("/", others[i]));
	unlink(pipe);
	unlink(text);
	free(pipe);
	free(text);
}

/* Links of a process are resolved in its root. */
static void links_stay_in_their_root(void)
{
	static const char *const targets[] = { "text", "/text", "/../text", "../../text" };
	char *link = in_dir("link"), *text = in_dir("text"), *out = format("..%s", text);

	write_text(text, "text");
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++) {
		CHECK(!symlink(targets[i], link));
		CHECK(opens(dir, "link"));
		unlink(link);
	}
	CHECK(!symlink(text, link) && opens("/", link) && !opens(dir, "link"));
	unlink(link);
	CHECK(!symlink(out, link) && !opens(dir, "link"));
	unlink(link);
	/* A link of procfs is not a path. */
	CHECK(!symlink("/proc/self/exe", link) && !opens(dir, "link") && !opens("/", link));
	unlink(link);
	unlink(text);
	free(link);
	free(text);
	free(out);
}

static void entries_are_no_links_and_not_the_kernels(void)
{
	char *link = in_dir("link"), *text = in_dir("text");
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct plain file;

	write_text(text, "text");
	CHECK(!symlink("text", link));
	CHECK(plain_open_entry(&file, fd, "text") && file.size == 4 && file.uid == geteuid());
	close(file.fd);
	CHECK(!plain_open_entry(&file, fd, "link") && file.fd < 0);
	close(fd);
	fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(!plain_open_entry(&file, fd, "version") && file.fd < 0);
	close(fd);
	unlink(link);
	unlink(text);
	free(link);
	free(text);
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	RUN(only_regular_files_are_opened);
	RUN(links_stay_in_their_root);
	RUN(entries_are_no_links_and_not_the_kernels);
	rmdir(dir);
	return check_end();
}
