// SPDX-License-Identifier: MIT
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "image.h"

#define MAX_SIZE	(4L << 30)
/* Limit for an untrusted file, which is copied to memory as a whole. */
#define MAX_COPIED	(1L << 30)

/* Sets *@lasting if its contents are the reason that it is none. */
static bool is_elf(int fd, bool *lasting)
{
	Elf64_Ehdr header;
	ssize_t got = pread(fd, &header, sizeof(header), 0);

	*lasting = got >= 0;
	return got == sizeof(header) &&
	       !memcmp(header.e_ident, ELFMAG, SELFMAG) &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       header.e_ident[EI_DATA] == ELFDATA2LSB &&
	       header.e_machine == EM_X86_64 &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

/* The id of the mount of @path, or of @fd without one; 0 if it has none. */
static uint64_t mount_of(int fd, const char *path)
{
	struct statx file;

	if (statx(fd, path, AT_EMPTY_PATH, STATX_MNT_ID, &file) ||
	    !(file.stx_mask & STATX_MNT_ID))
		return 0;
	return file.stx_mnt_id;
}

static bool is_listed(uint64_t mount, const char *list)
{
	FILE *mounts = fopen(list, "re");
	unsigned long long id;
	bool listed = false;

	/* Each line starts with the id. */
	while (mounts && !listed && fscanf(mounts, "%llu%*[^\n]", &id) == 1)
		listed = id == mount;
	if (mounts)
		fclose(mounts);
	return listed;
}

/*
 * In this mount namespace, or in that of init, of which a service may have a copy:
 * containers have their own, and a root who may be anybody.
 */
static bool is_mounted_here(int fd)
{
	uint64_t mount = mount_of(fd, "");

	/* A chroot(2)'s is not listed. */
	return mount && (mount == mount_of(AT_FDCWD, "/") ||
			 is_listed(mount, "/proc/self/mountinfo") ||
			 is_listed(mount, "/proc/1/mountinfo"));
}

/* May root's files here have set-user-id?  Mounts made by users may claim anything. */
static bool is_of_root(int fd)
{
	struct statvfs mount;

	return !fstatvfs(fd, &mount) && !(mount.f_flag & ST_NOSUID);
}

static bool is_trusted(int fd, const struct stat *stat)
{
	return !(stat->st_mode & 0022) && is_mounted_here(fd) &&
	       (stat->st_uid ? stat->st_uid == geteuid() : is_of_root(fd));
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

/* Returns what is wrong with the file; or NULL, with what is known of it. */
static const char *look_at(int fd, struct image *image, bool *elf)
{
	struct stat stat;

	if (fstat(fd, &stat))
		return strerror(errno);
	*elf = S_ISREG(stat.st_mode) && is_elf(fd, &image->lasting);
	if (!*elf)
		return "not an ELF program or library for x86-64";
	image->trusted = is_trusted(fd, &stat);
	image->secret = !(stat.st_mode & 0004);
	image->lasting = stat.st_size > (image->trusted ? MAX_SIZE : MAX_COPIED);
	if (image->lasting)
		return image->trusted ? "larger than 4 GiB" :
		       "larger than 1 GiB, and not known to be root's";
	image->size = stat.st_size;
	return NULL;
}

/*
 * It may be a pipe or a device.  In a tree that others can write to, what was no link
 * when it was found may be one by now, and lead to any device.
 */
static int open_path(const char *path, bool no_links)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS,
	};

	/* A service with RestrictSUIDSGID= has no openat2(). */
	return no_links ? syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)) :
			  open(path, how.flags);
}

const char *image_open(const char *path, bool no_links, struct image *image, bool *elf)
{
	int fd = open_path(path, no_links);
	const char *wrong;

	image->lasting = false;
	*elf = true;
	if (fd < 0)
		return strerror(errno);
	wrong = look_at(fd, image, elf);
	if (!wrong && !map(fd, image))
		wrong = strerror(errno);
	close(fd);
	return wrong;
}

static const char no_hash[] = "cannot make its SHA-256";

/* As much of it as image_open() would copy. */
static bool hash_fd(int fd, size_t size, struct store_key *key,
		    const volatile sig_atomic_t *stop)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
	static char buffer[1 << 16];
	unsigned int len = 0;
	ssize_t got = 1;

	for (size_t done = 0; good && got > 0 && done < size; done += got) {
		size_t want = size - done < sizeof(buffer) ? size - done : sizeof(buffer);

		got = pread(fd, buffer, want, done);
		good = !*stop && got >= 0 && EVP_DigestUpdate(ctx, buffer, got);
	}
	good = good && EVP_DigestFinal_ex(ctx, key->bytes, &len);
	EVP_MD_CTX_free(ctx);
	key->is_hash = true;
	key->len = len;
	return good;
}

const char *image_key(const char *path, struct image *image, struct store_key *key,
		      const volatile sig_atomic_t *stop)
{
	int fd = open_path(path, false);
	const char *wrong;
	bool elf;

	image->lasting = false;
	if (fd < 0)
		return strerror(errno);
	wrong = look_at(fd, image, &elf);
	if (!wrong && image->trusted && !map(fd, image))
		wrong = strerror(errno);
	if (!wrong && !image->trusted && !hash_fd(fd, image->size, key, stop))
		wrong = no_hash;
	close(fd);
	return wrong;
}

const char *image_hash_file(const char *path, size_t size, struct store_key *key,
			    const volatile sig_atomic_t *stop)
{
	int fd = open_path(path, false);
	const char *wrong;

	if (fd < 0)
		return strerror(errno);
	wrong = hash_fd(fd, size, key, stop) ? NULL : no_hash;
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
