// SPDX-License-Identifier: GPL-2.0
#include <elf.h>
#include <link.h>

#include "codectl_test.h"
#include "tracefs.h"

const struct trace_entry *
trace_find_register(const struct trace_log *log,
		    const struct trace_entry *after, int pid, uint64_t start,
		    struct trace_register *r)
{
	const struct trace_entry *e = after;

	while ((e = trace_find(log, e, "code_register: ")))
		if (trace_parse_register(e, r) && r->pid == pid &&
		    r->text_start == start)
			return e;
	return NULL;
}

const struct trace_entry *
trace_find_unregister(const struct trace_log *log, int pid, uint64_t start,
		      struct trace_unregister *u)
{
	const struct trace_entry *e = NULL;

	while ((e = trace_find(log, e, "code_unregister: ")))
		if (trace_parse_unregister(e, u) && u->pid == pid &&
		    u->text_start == start)
			return e;
	return NULL;
}

bool trace_find_file(const struct trace_log *log,
		     const struct trace_entry *before, uint64_t id,
		     struct trace_file *f)
{
	const struct trace_entry *e = NULL, *found = NULL;

	while ((e = trace_find(log, e, "file_map: ")) &&
	       (!before || e < before))
		if (trace_parse_file(e, f) && f->id == id)
			found = e;
	return found && trace_parse_file(found, f);
}

uint64_t trace_cookie(const struct trace_log *log,
		      const struct trace_entry *event, long type)
{
	const struct trace_entry *e = event + 1, *end = log->entry + log->nr;
	uint64_t cookie;
	long of;

	while (e < end && e->cpu != event->cpu)
		e++;
	if (e == end || e->pid != event->pid ||
	    sscanf(e->text, "<user unwind> cookie=%lx event=%ld", &cookie,
		   &of) != 2 || of != type)
		return 0;
	return cookie;
}

/* " =>  <OFFSET> : 0xID", and perhaps " code=0xID" and " exact", one a line. */
static void parse_frames(const char *text, struct trace_stack *s)
{
	uint64_t offset, id;
	int end;

	while ((text = strchr(text, '\n')) && s->nr < TRACE_STACK_MAX) {
		text++;
		if (sscanf(text, " =>  <%lx> : 0x%lx%n", &offset, &id, &end) != 2)
			return;
		text += end;
		if (sscanf(text, " code=0x%lx%n", &s->frame[s->nr].code_id, &end) == 1)
			text += end;
		s->frame[s->nr].exact = !strncmp(text, " exact", 6);
		s->frame[s->nr].offset = offset;
		s->frame[s->nr].id = id;
		s->nr++;
	}
}

static void parse_stack(const struct trace_entry *e, struct trace_stack *s)
{
	unsigned int first = 0, before = s->nr;
	const char *line = strchr(e->text, '\n') + 1;
	const char *stop = strstr(line, " stop=");
	const char *split = strstr(line, " first=");
	const char *frames = strchr(line, '\n');

	s->total = 0;
	if (split)
		sscanf(split, " first=%u frames=%u", &first, &s->total);
	if (stop && (!frames || stop < frames))
		sscanf(stop, " stop=%15s", s->stop);
	if (first != before)
		s->in_order = false;
	parse_frames(line, s);
	if (!split)
		s->total = s->nr;
	s->records++;
}

bool trace_stack(const struct trace_log *log, uint64_t cookie,
		 struct trace_stack *s)
{
	const struct trace_entry *e = NULL;
	uint64_t of;

	memset(s, 0, sizeof(*s));
	s->in_order = true;
	while ((e = trace_find(log, e, "<user stack unwind>\n"))) {
		if (sscanf(e->text, "<user stack unwind>\ncookie=%lx", &of) != 1 ||
		    of != cookie)
			continue;
		if (!s->first) {
			s->first = e;
			s->pid = e->pid;
		}
		parse_stack(e, s);
	}
	s->in_order = s->in_order && s->nr == s->total;
	return s->first;
}

bool trace_map_of(uint64_t addr, struct trace_map *m)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[1024];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		*m->path = '\0';
		found = sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %511[^\n]",
			       &m->start, &m->end, &m->offset, &m->dev_major,
			       &m->dev_minor, &m->inode, m->path) >= 6 &&
			addr >= m->start && addr < m->end;
	}
	if (f)
		fclose(f);
	return found;
}

/* @m and @f are those of the frame before, which most often are the same. */
static bool frame_is_true(const struct trace_log *log,
			  const struct trace_stack *s, unsigned int i,
			  uint64_t ip, struct trace_map *m,
			  struct trace_file *f)
{
	uint64_t offset = s->frame[i].offset, id = s->frame[i].id;
	uint64_t addr = i ? ip - 1 : ip;

	if (s->frame[i].exact != !i)
		return false;
	if ((addr < m->start || addr >= m->end) && !trace_map_of(addr, m))
		return false;
	if (id && f->id != id && !trace_find_file(log, s->first, id, f))
		return false;
	if (!m->inode)
		return offset == ip;
	return offset == ip - m->start + m->offset && f->id == id &&
	       !strcmp(f->n.names, "verified") && f->n.inode == m->inode &&
	       f->n.dev_major == m->dev_major &&
	       f->n.dev_minor == m->dev_minor && !strcmp(f->n.path, m->path);
}

bool trace_stack_is_true(const struct trace_log *log,
			 const struct trace_stack *s, const struct truth *t)
{
	unsigned int nr = t->nr < STACK_MAX ? t->nr : STACK_MAX;
	struct trace_map m = {};
	struct trace_file f = {};

	if (s->nr != nr || !s->in_order) {
		printf("# %u frames%s, not %u\n", s->nr,
		       s->in_order ? "" : " out of order", nr);
		return false;
	}
	for (unsigned int i = 0; i < nr; i++) {
		if (frame_is_true(log, s, i, t->ip[i], &m, &f))
			continue;
		printf("# frame %u: offset %lx id %lx, truth %lx\n", i,
		       s->frame[i].offset, s->frame[i].id, t->ip[i]);
		return false;
	}
	return true;
}

struct build_id_query {
	uint64_t addr;
	char *hex;
};

static bool note_build_id(const void *note, const void *end, char *hex)
{
	while (note < end) {
		const ElfW(Nhdr) *nh = note;
		const uint8_t *desc = note + sizeof(*nh) +
				      ((nh->n_namesz + 3) & ~3);

		if (nh->n_type == NT_GNU_BUILD_ID) {
			for (int i = 0; i < nh->n_descsz && i < 20; i++)
				sprintf(hex + 2 * i, "%02x", desc[i]);
			return true;
		}
		note = desc + ((nh->n_descsz + 3) & ~3);
	}
	return false;
}

static int match_object(struct dl_phdr_info *info, size_t, void *data)
{
	struct build_id_query *q = data;
	bool covers = false, found = false;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type == PT_LOAD && q->addr >= start &&
		    q->addr < start + ph->p_memsz)
			covers = true;
		if (ph->p_type == PT_NOTE && !found)
			found = note_build_id((void *)start,
					      (void *)start + ph->p_memsz,
					      q->hex);
	}
	return covers && found;
}

int loaded_build_id(const void *addr, char hex[48])
{
	struct build_id_query q = { .addr = addr_of(addr), .hex = hex };

	*hex = '\0';
	return dl_iterate_phdr(match_object, &q) ? 0 : -1;
}
