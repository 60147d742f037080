/* SPDX-License-Identifier: GPL-2.0 */
/* /proc/PID/codectl: its lines, its ioctl, and files to map code from. */
#ifndef CODECTL_PROC_FILE_H
#define CODECTL_PROC_FILE_H

#include <limits.h>

#include "codectl_test.h"

/* Readers on an emulated debug kernel take their time. */
#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 900

/* A line, taken apart; its numbers are in the fields of CODE_QUERY. */
struct proc_line {
	struct code_query q;
	uint64_t sframe_addr;
	bool has_debug_link;
	uint8_t build_id[20];
	char debug_link[PATH_MAX];
	char path[2 * PATH_MAX];
};

/* @pid 0: this process.  A descriptor or a negative errno. */
int proc_open(pid_t pid);
/* The rest of the file, with a NUL; NULL on failure.  For free(). */
char *proc_read(int fd, size_t *len);
/* As far as the first byte of the line of @all that starts like this; 0 or -1. */
int proc_enter_line(int fd, const char *all, const char *start);
/* Is the line, which has no newline, right in every byte? */
bool proc_parse(const char *line, struct proc_line *l);
/* The one that starts with @text_start in what was read. */
bool proc_find(const char *all, uint64_t text_start, struct proc_line *l);
/* Opens, reads and finds, for this process. */
bool proc_line_of(uint64_t text_start, struct proc_line *l);
/* Whether lines are ascending, whole and right; their number or -1. */
int proc_check(const char *all);

/* Registers what the line says; 0 or a negative errno. */
int proc_register(const struct proc_line *l);

/* Leaves this process without registrations; 0 or a negative errno. */
int proc_unregister_all(void);

/* CODE_QUERY: 0 or a negative errno. */
int code_query(int fd, struct code_query *q);
/* All about the registration that covers @addr, names into @l. */
int code_query_all(int fd, uint64_t addr, struct proc_line *l);

/*
 * A file of two pages with an ELF header and this build-id, the second byte of
 * which is @version; -1 on failure, with errno.
 */
int elf_write(int fd, uint8_t version);
int elf_create(const char *path, uint8_t version);
void elf_build_id(uint8_t version, uint8_t build_id[20]);
/* Its text, mapped and registered: one page; NULL on failure. */
uint8_t *elf_map(int fd);
uint8_t *elf_map_path(const char *path);

/*
 * An object whose addresses are not its offsets: a page of headers, a gap of
 * three, and three pages of text, the first of which is the second of its file.
 */
#define OBJECT_PAGES	7
#define OBJECT_TEXT	(4 * PAGE)
#define OBJECT_OFFSET	PAGE

/* Makes the file @path of one, with that build-id; a descriptor or -1. */
int object_create(const char *path, uint8_t version);
/* Where it is mapped, not registered yet; NULL on failure. */
uint8_t *object_map(int fd);
/* Without a table; 0 or a negative errno. */
int object_register(const uint8_t *object);
/*
 * Moves @nr pages of its text, from @first on, to anonymous memory, as tools that
 * want huge pages do: copied, and then moved over the old ones.
 */
int object_move_text(uint8_t *object, size_t first, size_t nr);

#endif /* CODECTL_PROC_FILE_H */
