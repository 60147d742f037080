// SPDX-License-Identifier: GPL-2.0
#include <elf.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "jit_table.h"
#include "proc_file.h"

int proc_open(pid_t pid)
{
	char path[64] = "/proc/self/codectl";
	int fd;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/codectl", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

char *proc_read(int fd, size_t *len)
{
	size_t size = 1 << 16, used = 0;
	char *all = malloc(size);
	ssize_t n;

	while (all && (n = read(fd, all + used, size - used - 1))) {
		if (n < 0) {
			free(all);
			return NULL;
		}
		used += n;
		if (used == size - 1)
			all = realloc(all, size *= 2);
	}
	if (all)
		all[used] = '\0';
	if (len)
		*len = used;
	return all;
}

int proc_enter_line(int fd, const char *all, const char *start)
{
	const char *line = all ? strstr(all, start) : NULL;
	char c;

	if (!line || lseek(fd, line - all, SEEK_SET) != line - all)
		return -1;
	return read(fd, &c, 1) == 1 ? 0 : -1;
}

static bool take(const char **at, const char *text)
{
	size_t len = strlen(text);

	if (strncmp(*at, text, len))
		return false;
	*at += len;
	return true;
}

/* No sign, no blank, no other digits: what the kernel would print. */
static bool take_number(const char **at, const char *name, int base, uint64_t *value)
{
	char *end;

	if (!take(at, name) || strchr(" +-", **at))
		return false;
	if (base == 16 && strspn(*at, "0123456789abcdef") == 0)
		return false;
	errno = 0;
	*value = strtoull(*at, &end, base);
	if (end == *at || errno)
		return false;
	*at = end;
	return true;
}

static bool take_number32(const char **at, const char *name, int base, __u32 *value)
{
	uint64_t wide;

	if (!take_number(at, name, base, &wide) || wide > UINT32_MAX)
		return false;
	*value = wide;
	return true;
}

static bool take_signed32(const char **at, const char *name, __s32 *value)
{
	char *end;

	if (!take(at, name))
		return false;
	*value = strtol(*at, &end, 10);
	if (end == *at)
		return false;
	*at = end;
	return true;
}

static bool take_range(const char **at, const char *name, __u64 *start, __u64 *end)
{
	uint64_t a, b;

	if (!take_number(at, name, 16, &a) || !take_number(at, "-", 16, &b))
		return false;
	*start = a;
	*end = b;
	return true;
}

/* Up to @stop; there are never any unescaped control characters. */
static bool take_escaped(const char **at, char stop, char *to, size_t size)
{
	const char *p = *at;

	for (; *p && *p != stop; p++) {
		unsigned char c = *p;

		if (c < ' ' || c == 0x7f || size < 2)
			return false;
		if (c == '\\') {
			if (strspn(p + 1, "01234567") < 3)
				return false;
			c = (p[1] - '0') << 6 | (p[2] - '0') << 3 | (p[3] - '0');
			if (c > ' ' && c != 0x7f && c != '\\' && c != '-')
				return false;
			p += 3;
		}
		*to++ = c;
		size--;
	}
	*to = '\0';
	*at = p;
	return true;
}

static bool take_build_id(const char **at, struct proc_line *l)
{
	if (!take(at, " build_id="))
		return false;
	if (take(at, "-"))
		return true;
	for (; strspn(*at, "0123456789abcdef") >= 2; *at += 2) {
		const char byte[] = { (*at)[0], (*at)[1], '\0' };

		if (l->q.build_id_size == sizeof(l->build_id))
			return false;
		l->build_id[l->q.build_id_size++] = strtoul(byte, NULL, 16);
	}
	return l->q.build_id_size > 0;
}

static bool take_debug_link(const char **at, struct proc_line *l)
{
	if (!take(at, " debug_link="))
		return false;
	l->has_debug_link = strncmp(*at, "- ", 2);
	if (!l->has_debug_link)
		return take(at, "-");
	return take_escaped(at, ' ', l->debug_link, sizeof(l->debug_link));
}

static bool take_names(const char **at, struct code_query *q)
{
	if (take(at, " names=none"))
		q->names = CODE_NAMES_NONE;
	else if (take(at, " names=verified"))
		q->names = CODE_NAMES_VERIFIED;
	else if (take(at, " names=claimed"))
		q->names = CODE_NAMES_CLAIMED;
	else
		return false;
	return true;
}

static bool take_elf_fields(const char **at, struct proc_line *l)
{
	struct code_query *q = &l->q;

	q->kind = CODE_REGISTER_ELF;
	if (!take(at, " elf format=0") ||
	    !take_range(at, " elf=", &q->elf_start, &q->elf_end) ||
	    !take_range(at, " sframe=", &q->sframe_start, &q->sframe_end))
		return false;
	/* Present if it is not 0. */
	return strncmp(*at, " sframe_addr=", 13) ||
	       (take_number(at, " sframe_addr=", 16, &l->sframe_addr) && l->sframe_addr);
}

/* Present with the flag. */
static bool take_granules(const char **at, struct code_query *q)
{
	uint64_t slots, pool, len, shift;

	if (!(q->jit_flags & CODE_JIT_GRANULES))
		return true;
	if (!take_number(at, " slots=", 16, &slots) || !take_number(at, " pool=", 16, &pool) ||
	    !take_number(at, " pool_len=0x", 16, &len) ||
	    !take_number(at, " granule_shift=", 10, &shift) || shift > CODE_JIT_MAX_SHIFT)
		return false;
	q->slots = slots;
	q->pool = pool;
	q->pool_len = len;
	q->granule_shift = shift;
	return true;
}

static bool take_jit_fields(const char **at, struct code_query *q)
{
	uint64_t head, seq, info;

	q->kind = CODE_REGISTER_JIT;
	if (!take(at, " jit fre_size=24") ||
	    !take_number32(at, " flags=0x", 16, &q->jit_flags) ||
	    !take_number(at, " head=", 16, &head) || !take_number(at, " seq=", 16, &seq) ||
	    !take_signed32(at, " rule=", &q->cfa_off) ||
	    !take_signed32(at, ",", &q->ra_off) || !take_signed32(at, ",", &q->fp_off) ||
	    !take_number(at, ",0x", 16, &info) || info > 0xff)
		return false;
	q->unwind_head = head;
	q->seq = seq;
	q->info = info;
	return take_granules(at, q);
}

static bool take_file_fields(const char **at, struct code_query *q)
{
	uint64_t id, file, inode, offset;

	if (!take_number(at, " id=0x", 16, &id) || !take_number(at, " file=0x", 16, &file) ||
	    !take_number32(at, " dev=", 16, &q->dev_major) ||
	    !take_number32(at, ":", 16, &q->dev_minor) ||
	    !take_number(at, " inode=", 10, &inode) ||
	    !take_number(at, " offset=0x", 16, &offset) || !take_names(at, q))
		return false;
	q->id = id;
	q->file_id = file;
	q->inode = inode;
	q->file_offset = offset;
	return true;
}

bool proc_parse(const char *at, struct proc_line *l)
{
	struct code_query *q = &l->q;

	memset(l, 0, sizeof(*l));
	if (!take_range(&at, "", &q->text_start, &q->text_end) ||
	    !(take_elf_fields(&at, l) || take_jit_fields(&at, q)) || !take_file_fields(&at, q) ||
	    !take_build_id(&at, l))
		return false;
	if (q->kind == CODE_REGISTER_ELF &&
	    (!take_debug_link(&at, l) ||
	     !take_number32(&at, " debug_link_crc=0x", 16, &q->debug_link_crc)))
		return false;
	if (!take(&at, " path=") || !take_escaped(&at, '\0', l->path, sizeof(l->path)))
		return false;
	q->path_size = *l->path ? strlen(l->path) + 1 : 0;
	return true;
}

/* The next line of @all, without its newline, in memory of its own. */
static char *next_line(const char **all)
{
	const char *end = strchr(*all, '\n');
	char *line;

	if (!end)
		return NULL;
	line = strndup(*all, end - *all);
	*all = end + 1;
	return line;
}

bool proc_find(const char *all, uint64_t text_start, struct proc_line *l)
{
	bool found = false;
	char *line;

	while (!found && (line = next_line(&all))) {
		found = strtoull(line, NULL, 16) == text_start &&
			proc_parse(line, l);
		free(line);
	}
	return found;
}

int proc_unregister_all(void)
{
	char *all, *line, *end;
	int fd = proc_open(0), ret = 0;
	uint64_t start, stop;

	if (fd < 0)
		return fd;
	all = proc_read(fd, NULL);
	close(fd);
	if (!all)
		return -EIO;
	for (line = all; *line && !ret; line = strchr(line, '\n') + 1) {
		start = strtoull(line, &end, 16);
		stop = strtoull(end + 1, &end, 16);
		if (!strncmp(end, " attached ", 10))
			break;
		ret = unregister_text(start, stop);
	}
	free(all);
	return ret;
}

bool proc_line_of(uint64_t text_start, struct proc_line *l)
{
	int fd = proc_open(0);
	char *all = fd < 0 ? NULL : proc_read(fd, NULL);
	bool found = all && proc_find(all, text_start, l);

	free(all);
	close(fd);
	return found;
}

int proc_check(const char *all)
{
	struct proc_line l;
	uint64_t end = 0;
	char *line;
	int nr = 0;

	for (; (line = next_line(&all)); nr++) {
		bool ok = proc_parse(line, &l) && l.q.text_start >= end &&
			  l.q.text_end > l.q.text_start;

		if (!ok)
			printf("# not a line: %s\n", line);
		free(line);
		if (!ok)
			return -1;
		end = l.q.text_end;
	}
	return *all ? -1 : nr;
}

int proc_register(const struct proc_line *l)
{
	const struct code_query *q = &l->q;
	bool claimed = q->names == CODE_NAMES_CLAIMED;

	if (q->kind == CODE_REGISTER_JIT)
		return register_jit(&(struct code_jit_info) {
			.text_start = q->text_start,
			.text_end = q->text_end,
			.unwind_head = q->unwind_head,
			.jit_flags = q->jit_flags,
			.fre_size = CODE_JIT_UNWIND_FRE_SIZE,
			.seq = q->seq,
			.cfa_off = q->cfa_off,
			.ra_off = q->ra_off,
			.fp_off = q->fp_off,
			.info = q->info,
			.slots = l->q.slots,
			.pool = l->q.pool,
			.pool_len = l->q.pool_len,
			.granule_shift = l->q.granule_shift,
		});
	return register_elf(&(struct code_elf_info) {
		.elf_start = q->elf_start,
		.elf_end = q->elf_end,
		.text_start = q->text_start,
		.text_end = q->text_end,
		.sframe_start = q->sframe_start,
		.sframe_end = q->sframe_end,
		.sframe_addr = l->sframe_addr,
		.pathname = claimed && *l->path ? addr_of(l->path) : 0,
		.build_id = claimed && q->build_id_size ?
			    addr_of(l->build_id) : 0,
		.build_id_len = claimed ? q->build_id_size : 0,
		.debug_link_pathname = l->has_debug_link ?
				       addr_of(l->debug_link) : 0,
		.debug_link_crc = q->debug_link_crc,
	});
}

int code_query(int fd, struct code_query *q)
{
	return ioctl(fd, CODE_QUERY, q) < 0 ? -errno : 0;
}

int code_query_all(int fd, uint64_t addr, struct proc_line *l)
{
	int err;

	memset(l, 0, sizeof(*l));
	l->q = (struct code_query) {
		.size = sizeof(l->q),
		.query_addr = addr,
		.query_flags = CODE_QUERY_FILE,
		.path_addr = addr_of(l->path),
		.path_size = PATH_MAX,
		.build_id_addr = addr_of(l->build_id),
		.build_id_size = sizeof(l->build_id),
		.debug_link_addr = addr_of(l->debug_link),
		.debug_link_size = sizeof(l->debug_link),
	};
	err = code_query(fd, &l->q);
	l->has_debug_link = !err && l->q.debug_link_size;
	return err;
}

void elf_build_id(uint8_t version, uint8_t build_id[20])
{
	for (int i = 0; i < 20; i++)
		build_id[i] = 0xc0 + i;
	build_id[1] = version;
}

int elf_write(int fd, uint8_t version)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph;
		Elf64_Nhdr nh;
		char name[4];
		uint8_t build_id[20];
	} file = {
		.eh = {
			.e_ident = ELFMAG,
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = offsetof(typeof(file), ph),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
		},
		.ph = {
			.p_type = PT_NOTE,
			.p_offset = offsetof(typeof(file), nh),
			.p_filesz = sizeof(file) - offsetof(typeof(file), nh),
		},
		.nh = { 4, 20, NT_GNU_BUILD_ID },
		.name = "GNU",
	};

	file.eh.e_ident[EI_CLASS] = ELFCLASS64;
	file.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	file.eh.e_ident[EI_VERSION] = EV_CURRENT;
	elf_build_id(version, file.build_id);
	return pwrite(fd, &file, sizeof(file), 0) == sizeof(file) ?
	       ftruncate(fd, 2 * PAGE) : -1;
}

int elf_create(const char *path, uint8_t version)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0755);

	if (fd >= 0 && elf_write(fd, version)) {
		close(fd);
		return -1;
	}
	return fd;
}

uint8_t *elf_map(int fd)
{
	uint8_t *text = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			     PAGE);

	if (text == MAP_FAILED)
		return NULL;
	if (!register_elf_text(addr_of(text), addr_of(text) + PAGE))
		return text;
	munmap(text, PAGE);
	return NULL;
}

uint8_t *elf_map_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *text = fd < 0 ? NULL : elf_map(fd);

	close(fd);
	return text;
}

int object_create(const char *path, uint8_t version)
{
	int fd = elf_create(path, version);

	if (fd >= 0 && ftruncate(fd, OBJECT_OFFSET + 3 * PAGE)) {
		close(fd);
		return -1;
	}
	return fd;
}

uint8_t *object_map(int fd)
{
	uint8_t *object = map_pages(OBJECT_PAGES, PROT_NONE);

	if (!object ||
	    mmap(object, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) ==
	    MAP_FAILED ||
	    mmap(object + OBJECT_TEXT, 3 * PAGE, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_FIXED, fd, OBJECT_OFFSET) == MAP_FAILED)
		return NULL;
	return object;
}

int object_register(const uint8_t *object)
{
	const struct code_elf_info info = {
		.elf_start = addr_of(object),
		.elf_end = addr_of(object) + OBJECT_PAGES * PAGE,
		.text_start = addr_of(object) + OBJECT_TEXT,
		.text_end = addr_of(object) + OBJECT_TEXT + 3 * PAGE,
	};

	return register_elf(&info);
}

int object_move_text(uint8_t *object, size_t first, size_t nr)
{
	uint8_t *text = object + OBJECT_TEXT + first * PAGE;
	uint8_t *copy = map_pages(nr, PROT_READ | PROT_WRITE);

	if (!copy)
		return -1;
	memcpy(copy, text, nr * PAGE);
	if (mprotect(copy, nr * PAGE, PROT_READ | PROT_EXEC) ||
	    mremap(copy, nr * PAGE, nr * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   text) != text)
		return -1;
	return 0;
}
