// SPDX-License-Identifier: GPL-2.0
/*
 * usage: served PROGRAM [ARG...]
 *
 * Runs a copy of the program on a FUSE file system that never answers reads of its section headers,
 * which are not needed to run it.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../selftests/lib/fuse_file.h"

#define PAGE	4096UL
#define LOADER	"/lib64/ld-linux-x86-64.so.2"

static uint8_t *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "r");
	uint8_t *data;
	long len;

	if (!file || fseek(file, 0, SEEK_END))
		return NULL;
	len = ftell(file);
	rewind(file);
	*size = len;
	data = calloc(1, *size + 3 * PAGE);
	if (data && fread(data, 1, *size, file) != *size)
		return NULL;
	fclose(file);
	return data;
}

/* Moves the section headers to pages of their own at the end; returns where, or 0 without room. */
static size_t move_headers(uint8_t *data, size_t *size)
{
	Elf64_Ehdr *header = (Elf64_Ehdr *)data;
	size_t len = header->e_shnum * sizeof(Elf64_Shdr);
	size_t at = (*size + PAGE - 1) & -PAGE;

	if (len > PAGE)
		return 0;
	memcpy(data + at, data + header->e_shoff, len);
	header->e_shoff = at;
	*size = at + len;
	return at;
}

int main(int argc, char **argv)
{
	struct fuse_file file;
	size_t size, silent;
	uint8_t *data = argc > 1 ? read_file(argv[1], &size) : NULL;
	char **args = calloc(argc + 2, sizeof(*args));
	int error;

	silent = data && args ? move_headers(data, &size) : 0;
	if (!silent)
		return 1;
	error = fuse_file_serve(&file, data, size, silent);
	if (error) {
		fprintf(stderr, "served: %s\n", strerror(-error));
		return 1;
	}
	args[0] = LOADER;
	args[1] = file.path;
	memcpy(args + 2, argv + 2, (argc - 1) * sizeof(*args));
	execv(LOADER, args);
	fuse_file_stop(&file);
	return 1;
}
