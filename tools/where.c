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
#include "names.h"
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

/* False where no registration covers @address. */
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

/* False where nothing is mapped at @address; @path is escaped, for free(). */
static bool find_mapping(pid_t pid, uint64_t address, struct mapping *found,
			 char **path)
{
	FILE *file = need(fdopen(open_proc(pid, "maps"), "r"));
	bool covered = false;
	char *text = NULL;
	size_t room = 0;
	ssize_t len;

	while (!covered && (len = getline(&text, &room, file)) > 0)
		covered = mapping_parse(found, text, len) &&
			  found->start <= address && address < found->end;
	if (covered)
		*path = escape(found->path.at, found->path.len, "");
	free(text);
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

static struct symbol name_address(struct symbol_process *process,
				  const struct names *compiled, uint64_t address)
{
	struct symbol symbol = names_find(compiled, address);

	return symbol.name ? symbol : symbol_in_process(process, address);
}

/* False if nothing is mapped at @address. */
static bool print_address(pid_t pid, int fd, struct symbol_process *process,
			  const struct names *compiled, uint64_t address)
{
	struct registration registration;
	struct mapping mapping;
	struct symbol symbol;
	char *path;

	if (!find_mapping(pid, address, &mapping, &path)) {
		printf("0x%llx: not mapped\n", (unsigned long long)address);
		return false;
	}
	symbol = name_address(process, compiled, address);
	if (symbol.name)
		printf("0x%llx: %s+0x%llx\n", (unsigned long long)address,
		       symbol.name, (unsigned long long)symbol.offset);
	else
		printf("0x%llx: no name\n", (unsigned long long)address);
	print_mapping(&mapping, path, address);
	if (query(fd, pid, address, &registration))
		print_registration(&registration);
	else
		puts("\tnot registered");
	free(symbol.name);
	free(path);
	return true;
}

int cmd_where(int argc, char **argv)
{
	struct symbol_process *process;
	struct names *compiled;
	uint64_t address;
	int fd, status = 0;
	pid_t pid;

	if (argc < 3 || argv[1][0] == '-')
		die_usage("where takes the id of a process and addresses");
	for (int i = 2; i < argc; i++)
		if (!span_hex((struct span){ argv[i], strlen(argv[i]) }, &address))
			die_usage("not an address in hexadecimal: %s", argv[i]);
	pid = need_pid(argv[1]);
	need_codectl();
	fd = open_proc(pid, "codectl");
	process = symbol_process_open(pid);
	compiled = names_open(pid);
	for (int i = 2; i < argc; i++) {
		span_hex((struct span){ argv[i], strlen(argv[i]) }, &address);
		if (!print_address(pid, fd, process, compiled, address))
			status = EXIT_FAILED;
	}
	names_close(compiled);
	symbol_process_close(process);
	close(fd);
	finish_output();
	return status;
}
