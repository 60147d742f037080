/* SPDX-License-Identifier: GPL-2.0 */
/* Files with a build-id and code that has stacks taken, and their ids in the trace. */
#ifndef CODECTL_TRACE_FILE_FIXTURE_H
#define CODECTL_TRACE_FILE_FIXTURE_H

#include <sys/mount.h>
#include <sys/stat.h>

#include "stub.h"
#include "trace_fixture.h"
#include "proc_file.h"

#define ASK() ASSERT_EQ(0, ask_for_stacks(&self->t, false))

/* A file with a build-id, and the stub in its second page. */
static inline int file_create(const char *path, uint8_t version)
{
	struct stub stub;
	int fd, err;

	unlink(path);
	fd = elf_create(path, version);
	if (fd < 0 || stub_map(&stub, 1))
		return -1;
	err = pwrite(fd, stub.text, PAGE, PAGE) == PAGE ? 0 : -1;
	stub_unmap(&stub);
	close(fd);
	return err;
}

/* Code of the file. */
static inline int file_map(const char *path, struct stub *stub)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *text = MAP_FAILED;

	if (fd >= 0 && !stub_map(stub, 1))
		text = mmap(stub->text, PAGE, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_FIXED, fd, PAGE);
	close(fd);
	return text == MAP_FAILED ? -1 : 0;
}

/* Has a stack taken there; stores what its topmost frame says. */
static inline void file_take(struct __test_metadata *_metadata,
			     FIXTURE_DATA(trace) * self,
			     const struct stub *stub, struct trace_file *f)
{
	const struct trace_entry *e = NULL, *last = NULL;

	memset(f, 0, sizeof(*f));
	stub_run(stub, NULL);
	READ_LOG();
	while ((e = trace_find(&self->log, e, "sys_enter: ")))
		last = e;
	ASSERT_TRUE(trace_stack(&self->log, cookie_of(&self->log, last),
				&self->stack));
	EXPECT_EQ(PAGE + stub->marker_off, self->stack.frame[0].offset);
	ASSERT_TRUE(trace_find_file(&self->log, self->stack.first,
				    self->stack.frame[0].id, f));
	EXPECT_STREQ("verified", f->n.names);
}

#define TAKE(stub, f) file_take(_metadata, self, stub, f)

/* Both, with a temporary mapping. */
static inline void file_run(struct __test_metadata *_metadata,
			    FIXTURE_DATA(trace) * self, const char *path,
			    struct trace_file *f)
{
	struct stub stub;

	ASSERT_EQ(0, file_map(path, &stub));
	TAKE(&stub, f);
	stub_unmap(&stub);
}

#define RUN(path, f) file_run(_metadata, self, path, f)

static inline bool is_version(const struct trace_file *f, uint8_t version)
{
	uint8_t build_id[20];
	char hex[48];

	elf_build_id(version, build_id);
	for (int i = 0; i < 20; i++)
		sprintf(hex + 2 * i, "%02x", build_id[i]);
	return !strcmp(hex, f->n.build_id);
}

/* How often the id was explained. */
static inline unsigned int nr_maps(const struct trace_log *log, uint64_t id)
{
	const struct trace_entry *e = NULL;
	struct trace_file f;
	unsigned int nr = 0;

	while ((e = trace_find(log, e, "file_map: ")))
		nr += trace_parse_file(e, &f) && f.id == id;
	return nr;
}

/* Whether the first stack has the id alone, as the file that it is of is not known any more. */
static inline bool is_nameless(const struct trace_log *log, uint64_t id)
{
	char line[48];

	snprintf(line, sizeof(line), "> : 0x%llx", (unsigned long long)id);
	return strstr(trace_find(log, NULL, "<user stack unwind>")->text, line);
}

#define NAME "/tmp/trace_file"
#define OTHER "/tmp/trace_file_other"

#endif /* CODECTL_TRACE_FILE_FIXTURE_H */
