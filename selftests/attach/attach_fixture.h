/* SPDX-License-Identifier: GPL-2.0 */
/* An object with a table to attach, and a stack through it. */
#ifndef CODECTL_ATTACH_FIXTURE_H
#define CODECTL_ATTACH_FIXTURE_H

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "unwind_common.h"
#include "attach.h"

/* A copy of an object of these tests, which is attached to and loaded. */
FIXTURE(attach)
{
	char path[64];
	void *object;
	void (*call)(void (*function)(void));
	struct attach_args args;
	struct sampler sampler;
	struct stack stack;
};

static inline int copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	struct stat st;
	int ret = -1;

	if (in >= 0 && out >= 0 && !fstat(in, &st))
		ret = sendfile(out, in, NULL, st.st_size) == st.st_size ? 0 : -1;
	close(in);
	close(out);
	return ret;
}

static inline bool load_object(FIXTURE_DATA(attach) * self, const char *path)
{
	self->object = dlopen(path, RTLD_NOW);
	if (!self->object)
		return false;
	self->call = dlsym(self->object, "attach_call");
	return self->call && !attach_args_of(self->call, &self->args);
}

FIXTURE_SETUP(attach)
{
	REQUIRE_CODECTL();
	truth_reset();
	snprintf(self->path, sizeof(self->path), "/tmp/attach_%d.so", getpid());
	ASSERT_EQ(0, copy_file("attach_object.so", self->path));
	ASSERT_TRUE(load_object(self, self->path));
	ASSERT_EQ(0, sampler_open_syscall(&self->sampler, MARKER_NR));
}

FIXTURE_TEARDOWN(attach)
{
	sampler_close(&self->sampler);
	close(self->args.info.fd);
	dlclose(self->object);
	unlink(self->path);
}

static noinline void leaf(void)
{
	truth_capture(marker());
	asm volatile("");
}

/* Is the stack of a callback that the object has called complete? */
static inline bool walks_through(FIXTURE_DATA(attach) * self)
{
	truth_reset();
	sampler_drain(&self->sampler);
	self->call(leaf);
	return sampler_next(&self->sampler, &self->stack) &&
	       stack_is_true(&self->stack, &truth);
}

/* Removes what ld.so has registered for the object. */
static inline int unregister_object(FIXTURE_DATA(attach) * self)
{
	const struct link_map *map = self->object;
	const struct code_file_segment *s = self->args.segments;

	return unregister_text(map->l_addr + s->vaddr,
			       map->l_addr + s->vaddr + s->len);
}

#endif /* CODECTL_ATTACH_FIXTURE_H */
