/* SPDX-License-Identifier: GPL-2.0 */
/* The fixture of the tests of code_unregister: a registration of each kind. */
#ifndef CODECTL_TRACE_DROP_FIXTURE_H
#define CODECTL_TRACE_DROP_FIXTURE_H

#include "trace_fixture.h"
#include "jit_table.h"
#include "proc_file.h"

static inline int enable_events(const struct tracefs *t)
{
	return tracefs_enable(t, "codectl/code_register") ?:
	       tracefs_enable(t, "codectl/code_unregister");
}

#define ENABLE() ASSERT_EQ(0, enable_events(&self->t))

static inline int pages_register(uint64_t start, bool jit)
{
	return jit ? register_jit_text(start, start + PAGE) :
		     register_elf_text(start, start + PAGE);
}

FIXTURE(drop)
{
	struct tracefs t;
	struct trace_log log;
	uint8_t *mem;
	uint64_t id;
};

FIXTURE_VARIANT(drop)
{
	bool jit;
};

FIXTURE_VARIANT_ADD(drop, elf) { .jit = false };
FIXTURE_VARIANT_ADD(drop, jit) { .jit = true };

/* The second of three pages is registered. */
#define TEXT addr_of(self->mem + PAGE)

FIXTURE_SETUP(drop)
{
	struct proc_line l;

	REQUIRE_CODECTL();
	ASSERT_EQ(0, tracefs_borrow(&self->t));
	self->mem = map_pages(3, PROT_READ | PROT_EXEC);
	ASSERT_NE(NULL, self->mem);
	ASSERT_EQ(0, pages_register(TEXT, variant->jit));
	ASSERT_TRUE(proc_line_of(TEXT, &l));
	self->id = l.q.id;
	ENABLE();
}

FIXTURE_TEARDOWN(drop)
{
	if (_metadata->exit_code == KSFT_FAIL)
		trace_log_print(&self->log);
	trace_log_free(&self->log);
	EXPECT_EQ(0, tracefs_return(&self->t));
}

/* The registration went once, of that process and for that reason. */
static inline void expect_drop(struct __test_metadata *_metadata,
			       FIXTURE_DATA(drop) * self, pid_t pid,
			       const char *reason)
{
	const struct trace_entry *e = NULL;
	struct trace_unregister u;
	unsigned int nr = 0;

	READ_LOG();
	while ((e = trace_find(&self->log, e, "code_unregister: "))) {
		ASSERT_TRUE(trace_parse_unregister(e, &u)) {
			TH_LOG("%s", e->text);
		}
		if (u.text_start != TEXT)
			continue;
		nr++;
		EXPECT_EQ(pid, u.pid);
		EXPECT_EQ(TEXT + PAGE, u.text_end);
		EXPECT_EQ(self->id, u.id);
		EXPECT_STREQ(reason, u.reason);
	}
	EXPECT_EQ(*reason ? 1 : 0, nr);
}

#define EXPECT_DROP(pid, reason) expect_drop(_metadata, self, pid, reason)
#define EXPECT_NO_DROP() expect_drop(_metadata, self, 0, "")

#endif /* CODECTL_TRACE_DROP_FIXTURE_H */
