// SPDX-License-Identifier: GPL-2.0
#include "trace_proc.h"

bool trace_same_as_proc(const struct trace_register *r,
			const struct proc_line *l)
{
	bool jit = l->q.kind == CODE_REGISTER_JIT;
	char hex[48] = "";

	for (int i = 0; i < l->q.build_id_size; i++)
		sprintf(hex + 2 * i, "%02x", l->build_id[i]);
	return r->text_start == l->q.text_start &&
	       r->text_end == l->q.text_end &&
	       r->elf_start == l->q.elf_start && r->elf_end == l->q.elf_end &&
	       r->table == (jit ? l->q.unwind_head + l->q.slots : l->q.sframe_start) &&
	       r->table_end == l->q.sframe_end &&
	       r->flags == l->q.jit_flags && r->id == l->q.id &&
	       r->file_id == l->q.file_id &&
	       r->n.dev_major == l->q.dev_major &&
	       r->n.dev_minor == l->q.dev_minor && r->n.inode == l->q.inode &&
	       !strcmp(r->kind, jit ? "jit" : "elf") &&
	       !strcmp(r->n.build_id, hex);
}

int trace_not_told(const struct trace_log *log, pid_t pid)
{
	const struct trace_entry *e;
	static struct trace_register r;
	static struct proc_line l;
	int fd = proc_open(pid);
	uint64_t addr = 0;
	int bad = 0, nr;

	for (nr = 0; ; nr++) {
		memset(&l, 0, sizeof(l));
		l.q.size = sizeof(l.q);
		l.q.query_addr = addr;
		l.q.query_flags = CODE_QUERY_OR_NEXT | CODE_QUERY_FILE;
		l.q.build_id_addr = addr_of(l.build_id);
		l.q.build_id_size = sizeof(l.build_id);
		if (code_query(fd, &l.q))
			break;
		addr = l.q.text_end;
		for (e = NULL; (e = trace_find_register(log, e, pid,
							l.q.text_start, &r));)
			if (trace_same_as_proc(&r, &l))
				break;
		if (!e) {
			printf("# not told: %llx\n", l.q.text_start);
			bad++;
		}
	}
	close(fd);
	return nr ? bad : -1;
}
