// SPDX-License-Identifier: MIT
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol.h"
#include "tool.h"

static char *debuginfo_path;

static const Dwfl_Callbacks process_callbacks = {
	.find_elf	= dwfl_linux_proc_find_elf,
	.find_debuginfo	= dwfl_standard_find_debuginfo,
	.debuginfo_path	= &debuginfo_path,
};

static const Dwfl_Callbacks file_callbacks = {
	.find_elf	= dwfl_build_id_find_elf,
	.find_debuginfo	= dwfl_standard_find_debuginfo,
	.debuginfo_path	= &debuginfo_path,
};

static struct symbol find_symbol(Dwfl_Module *module, uint64_t address)
{
	struct symbol symbol = { 0 };
	const char *name = NULL;
	GElf_Off offset = 0;
	GElf_Sym sym;

	if (module)
		name = dwfl_module_addrinfo(module, address, &offset, &sym,
					    NULL, NULL, NULL);
	if (name && *name) {
		symbol.name = escape(name, strlen(name), "");
		symbol.offset = offset;
	}
	return symbol;
}

/* ---------------------------------------------------------------- processes */

struct symbol_process {
	Dwfl *dwfl;
};

struct symbol_process *symbol_process_open(pid_t pid)
{
	struct symbol_process *process = need(calloc(1, sizeof(*process)));
	int error;

	process->dwfl = need(dwfl_begin(&process_callbacks));
	dwfl_report_begin(process->dwfl);
	error = dwfl_linux_proc_report(process->dwfl, pid);
	if (error > 0)
		die_proc(pid, "maps", error);
	if (error < 0 || dwfl_report_end(process->dwfl, NULL, NULL))
		die("cannot make out the mappings of process %d: %s", pid,
		    dwfl_errmsg(-1));
	return process;
}

void symbol_process_close(struct symbol_process *process)
{
	dwfl_end(process->dwfl);
	free(process);
}

struct symbol symbol_in_process(struct symbol_process *process,
				uint64_t address)
{
	return find_symbol(dwfl_addrmodule(process->dwfl, address), address);
}

/* -------------------------------------------------------------------- files */

struct symbol_file {
	Dwfl *dwfl;
	Dwfl_Module *module;	/* with the addresses of the file */
	Elf *elf;
	int fd;
};

/* libdwfl keeps a descriptor of its own. */
static bool report_file(struct symbol_file *file, const char *path)
{
	GElf_Addr bias;
	int fd = dup(file->fd);

	dwfl_report_begin(file->dwfl);
	if (fd >= 0)
		file->module = dwfl_report_elf(file->dwfl, path, path, fd, 0, true);
	if (!file->module && fd >= 0)
		close(fd);
	if (dwfl_report_end(file->dwfl, NULL, NULL) || !file->module)
		return false;
	file->elf = dwfl_module_getelf(file->module, &bias);
	return file->elf && !bias;
}

static bool has_build_id(Dwfl_Module *module, const uint8_t *build_id, size_t len)
{
	const unsigned char *bits;
	GElf_Addr address;

	return len && dwfl_module_build_id(module, &bits, &address) == (int)len &&
	       !memcmp(bits, build_id, len);
}

struct symbol_file *symbol_file_open(const char *path, const uint8_t *build_id,
				     size_t build_id_len)
{
	struct symbol_file *file = need(calloc(1, sizeof(*file)));
	struct stat stat;

	/* Not to wait for whoever writes to a pipe of that name. */
	file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	file->dwfl = need(dwfl_begin(&file_callbacks));
	if (file->fd >= 0 && !fstat(file->fd, &stat) && S_ISREG(stat.st_mode) &&
	    report_file(file, path) &&
	    has_build_id(file->module, build_id, build_id_len))
		return file;
	symbol_file_close(file);
	return NULL;
}

void symbol_file_close(struct symbol_file *file)
{
	dwfl_end(file->dwfl);
	if (file->fd >= 0)
		close(file->fd);
	free(file);
}

/* Segments may share a page of the file: that of code comes first. */
static bool address_of(Elf *elf, uint64_t offset, uint64_t *address)
{
	bool found = false;
	GElf_Phdr ph;
	size_t nr;

	if (elf_getphdrnum(elf, &nr))
		return false;
	for (size_t i = 0; i < nr; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD ||
		    offset < ph.p_offset || offset - ph.p_offset >= ph.p_filesz)
			continue;
		*address = ph.p_vaddr + (offset - ph.p_offset);
		found = true;
		if (ph.p_flags & PF_X)
			break;
	}
	return found;
}

struct symbol symbol_at_offset(struct symbol_file *file, uint64_t offset)
{
	uint64_t address;

	if (!address_of(file->elf, offset, &address))
		return (struct symbol){ 0 };
	return find_symbol(file->module, address);
}

struct symbol symbol_from_start(struct symbol_file *file, uint64_t offset)
{
	GElf_Addr start = 0;

	dwfl_module_info(file->module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	return find_symbol(file->module, start + offset);
}

/* The section headers come last. */
static size_t vdso_size(const Elf64_Ehdr *header)
{
	return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

char *symbol_vdso_path(void)
{
	const Elf64_Ehdr *vdso = (void *)getauxval(AT_SYSINFO_EHDR);
	int fd = memfd_create("vdso", MFD_CLOEXEC);

	if (!vdso || fd < 0 ||
	    write(fd, vdso, vdso_size(vdso)) != (ssize_t)vdso_size(vdso))
		return need(strdup(""));
	return format("/proc/self/fd/%d", fd);
}
