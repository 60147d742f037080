// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output.h"
#include "tool.h"

static void __attribute__((noreturn)) fail(const char *path)
{
	die("cannot write %s: %s", path, strerror(errno ?: EIO));
}

/* An existing file need not have the @mode of open(). */
static bool keep_private(int fd, mode_t mode)
{
	struct stat st;

	return !fstat(fd, &st) && (!S_ISREG(st.st_mode) || !fchmod(fd, mode));
}

static FILE *open_with(const char *path, mode_t mode, bool private)
{
	FILE *file;
	int fd;

	if (!path)
		return NULL;
	if (!strcmp(path, "-"))
		return stdout;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	file = fd < 0 || (private && !keep_private(fd, mode)) ? NULL : fdopen(fd, "w");
	if (!file)
		fail(path);
	return file;
}

FILE *output_open(const char *path)
{
	return open_with(path, 0666, false);
}

FILE *output_open_private(const char *path)
{
	return open_with(path, 0600, true);
}

void output_drop(FILE *file, const char *path)
{
	struct stat st;

	if (file && file != stdout && !fstat(fileno(file), &st) && S_ISREG(st.st_mode))
		unlink(path);
}

void output_close(FILE *file, const char *path)
{
	if (!file)
		return;
	if (fflush(file) || ferror(file)) {
		const int error = errno;

		output_drop(file, path);
		errno = error;
		fail(path);
	}
	if (file != stdout && fclose(file))
		fail(path);
}
