// SPDX-License-Identifier: MIT
/*
 * codectl where: which registration and which file cover an address, and which
 * function it is in.
 */
#include <errno.h>
#include <linux/codectl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "mapping.h"
#include "symbol.h"
#include "tool.h"

#define PATH_ROOM	4096

struct registration {
	struct code_query query;
	char path[PATH_ROOM];
	uint8_t build_id[20];
};

static const char * const names_text[] = {
	[CODE_NAMES_NONE]	= "nobody says so",
	[CODE_NAMES_VERIFIED]	= "verified",
	[CODE_NAMES_CLAIMED]	= "claimed",
};

/* False if no registration covers @address. */
static bool query(int fd, pid_t pid, uint64_t address, struct registration *found)
{
	*found = (struct registration){
		.query = {
			.size		= sizeof(found->query),
			.query_flags	= CODE_QUERY_FILE,
			.query_addr	= address,
			.path_addr	= (uintptr_t)found->path,
			.path_size	= sizeof(found->path),
			.build_id_addr	= (uintptr_t)found->build_id,
			.build_id_size	= sizeof(found->build_id),
		},
	};
	if (!ioctl(fd, CODE_QUERY, &found->query))
		return true;
	if (errno != ENOENT)
		die_proc(pid, "codectl", errno);
	return false;
}

/* -------------------------------------------------------------- the mapping */

/*
 * False if nothing is mapped at @address; @found points into @line, which is to be
 * freed.
 */
static bool find_mapping(pid_t pid, uint64_t address, struct mapping *found, char **line)
{
	FILE *file = need(fdopen(open_proc(pid, "maps"), "r"));
	bool covered = false;
	size_t room = 0;
	ssize_t len;

	while (!covered && (len = getline(line, &room, file)) > 0)
		covered = mapping_parse(found, *line, len) &&
			  found->start <= address && address < found->end;
	fclose(file);
	return covered;
}

/* ------------------------------------------------------------- what is said */

static void print_registration(const struct registration *found)
{
	const struct code_query *query = &found->query;
	const char *names = query->names <= CODE_NAMES_CLAIMED ?
			    names_text[query->names] : "?";
	char *path = escape(found->path, strnlen(found->path, PATH_ROOM), "");
	char *build_id = hex_build_id(found->build_id, query->build_id_size);

	printf("\tregistered  %llx-%llx, %s, id 0x%llx\n",
	       (unsigned long long)query->text_start,
	       (unsigned long long)query->text_end,
	       query->kind == CODE_REGISTER_JIT ? "compiled code" : "ELF",
	       (unsigned long long)query->id);
	if (*path)
		printf("\tpath        %s (%s)\n", path, names);
	if (*build_id)
		printf("\tbuild-id    %s (%s)\n", build_id, names);
	free(path);
	free(build_id);
}

static void print_mapping(const struct mapping *mapping, const char *path,
			  uint64_t address)
{
	if (*path == '/')
		printf("\tfile        %s, offset 0x%llx\n", path,
		       (unsigned long long)(address - mapping->start +
					    mapping->offset));
	else
		printf("\tmemory      %llx-%llx%s%s\n",
		       (unsigned long long)mapping->start,
		       (unsigned long long)mapping->end,
		       *path ? ", " : "", path);
}

/* A requested address. */
struct asked {
	uint64_t address, offset;	/* @offset: in @file */
	bool mapped;
	struct mapping mapping;
	char *path;
	struct registration registration;
	bool registered;
	struct symbol_file *file;	/* NULL if it is in none */
};

static void print_source(const char *before, const char *source, uint32_t line)
{
	if (source)
		printf(line ? "%s%s:%u" : "%s%s", before, source, line);
}

static void print_symbol(const struct asked *asked, const struct symbol *symbol)
{
	if (symbol->name)
		printf("0x%llx: %s+0x%llx\n", (unsigned long long)asked->address,
		       symbol->name, (unsigned long long)symbol->offset);
	else
		printf("0x%llx: no name\n", (unsigned long long)asked->address);
	for (size_t i = 0; i < symbol->nr_inlined; i++) {
		const struct function *function = &symbol->inlined[i];

		printf("\tinlined     %s", function->name);
		print_source(" at ", function->source, function->line);
		putchar('\n');
	}
	print_source("\tsource      ", symbol->source, symbol->line);
	if (symbol->source)
		putchar('\n');
}

/* False if nothing is mapped there. */
static bool print_asked(struct symbol_file *map, const struct asked *asked)
{
	static const struct symbol nothing;
	const struct symbol *symbol;

	if (!asked->mapped) {
		printf("0x%llx: not mapped\n", (unsigned long long)asked->address);
		return false;
	}
	symbol = symbol_find(map, asked->address);
	if (!symbol->name)
		symbol = asked->file ? symbol_find(asked->file, asked->offset) : &nothing;
	print_symbol(asked, symbol);
	print_mapping(&asked->mapping, asked->path, asked->address);
	if (asked->registered)
		print_registration(&asked->registration);
	else
		puts("\tnot registered");
	return true;
}

/* ------------------------------------------------------------- what it is in */

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

/* The mapping identifies the file, so no build-id is needed. */
static struct symbol_file *open_mapped(struct symbols *symbols, pid_t pid,
				       const struct mapping *mapping)
{
	struct file_record record = {
		.dev_major = mapping->major, .dev_minor = mapping->minor,
		.inode = mapping->inode, .unit = UNIT_FILE,
	};

	if (!mapping->path.len || mapping->path.len >= sizeof(record.path) ||
	    (!mapping->inode && !span_is(mapping->path, "[vdso]")))
		return NULL;
	memcpy(record.path, mapping->path.at, mapping->path.len);
	return symbols_add_file(symbols, pid, &record);
}

static void look_up(struct asked *asked, size_t nr, struct symbols *symbols, pid_t pid, int fd)
{
	struct asked *last = &asked[nr];
	char *line = NULL;

	last->mapped = find_mapping(pid, last->address, &last->mapping, &line);
	if (!last->mapped)
		return;
	last->path = escape(last->mapping.path.at, last->mapping.path.len, "");
	last->offset = last->address - last->mapping.start + last->mapping.offset;
	last->registered = query(fd, pid, last->address, &last->registration);
	for (size_t i = 0; i < nr && !last->file; i++)
		if (last->mapping.inode && asked[i].mapped &&
		    is_same_file(&asked[i].mapping, &last->mapping))
			last->file = asked[i].file;
	if (!last->file)
		last->file = open_mapped(symbols, pid, &last->mapping);
	free(line);
}

static bool print_all(struct asked *asked, size_t nr, pid_t pid)
{
	int fd = open_proc(pid, "codectl");
	struct symbols *symbols = symbols_new();
	struct symbol_file *map = symbols_add_map(symbols, pid);
	bool good = true;

	for (size_t i = 0; i < nr; i++) {
		look_up(asked, i, symbols, pid, fd);
		symbol_want(map, asked[i].address);
		if (asked[i].file)
			symbol_want(asked[i].file, asked[i].offset);
	}
	for (size_t i = 0; i < nr; i++) {
		good &= print_asked(map, &asked[i]);
		free(asked[i].path);
	}
	symbols_free(symbols);
	close(fd);
	return good;
}

int cmd_where(int argc, char **argv)
{
	struct asked *asked;
	size_t nr;
	bool good;
	pid_t pid;

	if (argc < 3 || argv[1][0] == '-')
		die_usage("where takes the id of a process and addresses");
	nr = argc - 2;
	asked = need(calloc(nr, sizeof(*asked)));
	for (size_t i = 0; i < nr; i++) {
		const struct span text = { argv[i + 2], strlen(argv[i + 2]) };

		if (!span_hex(text, &asked[i].address))
			die_usage("not an address in hexadecimal: %s", text.at);
	}
	pid = need_pid(argv[1]);
	need_codectl();
	good = print_all(asked, nr, pid);
	free(asked);
	finish_output();
	return good ? 0 : EXIT_FAILED;
}
