// SPDX-License-Identifier: MIT
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image.h"

#define MAX_SIZE	(4L << 30)

static bool is_elf(int fd)
{
	Elf64_Ehdr header;

	return pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	       !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_ident[EI_DATA] == ELFDATA2LSB &&
	       header.e_machine == EM_X86_64 &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

/* As much of the file as there is, up to @image->size. */
static bool copy(int fd, struct image *image)
{
	size_t done = 0;
	ssize_t got;

	do {
		got = pread(fd, (char *)image->data + done, image->size - done, done);
		if (got > 0)
			done += got;
	} while (got > 0 || (got < 0 && errno == EINTR));
	return !got;
}

static bool map(int fd, struct image *image)
{
	int flags = MAP_PRIVATE | (image->trusted ? 0 : MAP_ANONYMOUS);

	image->data = mmap(NULL, image->size, PROT_READ | PROT_WRITE, flags,
			   image->trusted ? fd : -1, 0);
	if (image->data == MAP_FAILED)
		return false;
	if (image->trusted || copy(fd, image))
		return true;
	image_close(image);
	return false;
}

static const char *open_fd(int fd, struct image *image, bool *elf)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return strerror(errno);
	*elf = S_ISREG(stat.st_mode) && is_elf(fd);
	if (!*elf)
		return "not an ELF program or library for x86-64";
	if (stat.st_size > MAX_SIZE)
		return "larger than 4 GiB";
	image->size = stat.st_size;
	image->trusted = (!stat.st_uid || stat.st_uid == geteuid()) &&
			 !(stat.st_mode & 0022);
	return map(fd, image) ? NULL : strerror(errno);
}

const char *image_open(const char *path, struct image *image, bool *elf)
{
	/* Of what may be a pipe or a device. */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	const char *wrong;

	*elf = true;
	if (fd < 0)
		return strerror(errno);
	wrong = open_fd(fd, image, elf);
	close(fd);
	return wrong;
}

bool image_hash(const struct image *image, struct store_key *key)
{
	unsigned int len;

	key->is_hash = true;
	if (!EVP_Digest(image->data, image->size, key->bytes, &len, EVP_sha256(), NULL))
		return false;
	key->len = len;
	return true;
}

void image_close(struct image *image)
{
	munmap(image->data, image->size);
}
