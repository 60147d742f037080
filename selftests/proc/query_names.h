/* SPDX-License-Identifier: GPL-2.0 */
/* A directory of its own for a test, and the names of the code in its files. */
#ifndef CODECTL_QUERY_NAMES_H
#define CODECTL_QUERY_NAMES_H

#include <sys/mount.h>
#include <sys/stat.h>

#include "proc_file.h"

#define DIR "/tmp/codectl-query"
#define AT(name) DIR "/dir/" name

/* What is below it may have names that rm cannot pass. */
static inline int make_dir(void)
{
	mkdir(DIR, 0755);
	return mount("tmpfs", DIR, "tmpfs", 0, NULL) || mkdir(DIR "/dir", 0755);
}

static inline void remove_dir(void)
{
	umount2(DIR "/dir", MNT_DETACH);
	umount2(DIR, MNT_DETACH);
	rmdir(DIR);
}

/* By query and by line, which have to agree. */
static inline bool ask(int proc, const uint8_t *text, struct proc_line *l)
{
	static struct proc_line line;

	if (code_query_all(proc, addr_of(text), l) ||
	    !proc_line_of(l->q.text_start, &line))
		return false;
	return l->q.file_id == line.q.file_id && l->q.id == line.q.id &&
	       l->q.inode == line.q.inode && l->q.names == line.q.names &&
	       l->q.dev_major == line.q.dev_major &&
	       l->q.dev_minor == line.q.dev_minor &&
	       l->q.file_offset == line.q.file_offset &&
	       l->q.build_id_size == line.q.build_id_size &&
	       l->q.debug_link_crc == line.q.debug_link_crc &&
	       l->has_debug_link == line.has_debug_link &&
	       !memcmp(l->build_id, line.build_id, sizeof(line.build_id)) &&
	       !strcmp(l->path, line.path) &&
	       !strcmp(l->debug_link, line.debug_link);
}

static inline bool has_build_id(const struct proc_line *l, uint8_t version)
{
	uint8_t id[20];

	elf_build_id(version, id);
	return l->q.build_id_size == 20 && !memcmp(id, l->build_id, 20);
}

#define EXPECT_NAMES(l, who, name, version) do {			\
	EXPECT_EQ(who, (l).q.names);					\
	EXPECT_STREQ(name, (l).path);					\
	EXPECT_TRUE(has_build_id(&(l), version));			\
} while (0)

#endif /* CODECTL_QUERY_NAMES_H */
