// SPDX-License-Identifier: MIT
/*
 * stackcheck: unwind the registers and the stack of each sample of stackdump with
 * libdwfl, by the DWARF CFI of the same files, and compare the result with the
 * kernel's call chain, frame by frame.
 *
 * usage: stackcheck [-a] [-t TABLES] [-r ROOT] [-m MINIMUM] [-v] FILE...
 *
 * ROOT is where the guest's files are.  -a: they had tables attached that were made of
 * their CFI; processes that have mapped other files are left out.  TABLES is what
 * /proc/codectl_files said before; processes that have mapped a file that it lacks are
 * left out, too.
 * The exit status is 0 only if at least MINIMUM samples were compared, 99 % of
 * them agree, and each disagreement is of a class of disagree.c.
 */
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "disagree.h"
#include "recording.h"
#include "tables.h"

struct object {
	char *name;
	uint64_t start, end;		/* of the executable mapping */
	uint64_t pgoff;
};

struct process {
	struct process *next;
	uint64_t pid;
	struct object *objects;
	int nr_objects;
	Dwfl *dwfl;			/* for the objects; NULL: not made yet */
	bool unknown;			/* an object is not below the root */
	bool without_table;		/* an object had none */
};

/* One recording being read. */
struct input {
	const char *path;
	struct process *processes;
	struct process *process;		/* of the current sample */
	int vdso_fd;
	const struct dump_sample *sample;	/* the current one */
	struct trace *trace;
};

static struct {
	unsigned long compared, agree, cut_alike, frames, unclassified, no_chain, unknown,
		without_table;
	bool chains_missing;
	unsigned long class[DISAGREE_MAX];
} sum;

static const char *root = "";
static bool verbose, attached;

/* ------------------------------------------------- the objects of a process */

/* Moves the process to the front: most of the next records are of the same one. */
static struct process *find_process(struct input *in, uint64_t pid)
{
	struct process **at = &in->processes, *found;

	while (*at && (*at)->pid != pid)
		at = &(*at)->next;
	found = *at;
	if (found) {
		*at = found->next;
	} else {
		found = calloc(1, sizeof(*found));
		if (!found)
			recording_fail(in->path, "no memory");
		found->pid = pid;
	}
	found->next = in->processes;
	in->processes = found;
	return found;
}

/* A new one is made from the current mappings when it is needed. */
static void forget_dwfl(struct process *process)
{
	if (process->dwfl)
		dwfl_end(process->dwfl);
	process->dwfl = NULL;
	process->unknown = false;
	process->without_table = false;
}

static void forget_objects(struct process *process)
{
	for (int i = 0; i < process->nr_objects; i++)
		free(process->objects[i].name);
	free(process->objects);
	process->objects = NULL;
	process->nr_objects = 0;
	forget_dwfl(process);
}

/* "//anon" is anonymous memory; a deleted file cannot be read either. */
static bool is_file(const struct object *object)
{
	const char *name = object->name, *end = strstr(name, " (deleted)");

	return name[0] == '/' && name[1] != '/' && (!end || end[strlen(" (deleted)")]);
}

static bool is_vdso(const struct object *object)
{
	return !strcmp(object->name, "[vdso]");
}

static const struct object *find_object(const struct process *process, uint64_t addr)
{
	for (int i = 0; i < process->nr_objects; i++) {
		const struct object *object = &process->objects[i];

		if (addr - object->start < object->end - object->start)
			return object;
	}
	return NULL;
}

/* Is there code of no file at @addr? */
static bool is_compiled(const struct process *process, uint64_t addr)
{
	const struct object *object = find_object(process, addr);

	return object && !is_file(object) && !is_vdso(object);
}

static char *host_path(const char *name)
{
	char *path;

	if (asprintf(&path, "%s%s", root, name) < 0)
		recording_fail(name, "no memory");
	return path;
}

/* Computes the difference between mapped addresses and those in the file. */
static bool load_bias(int fd, const struct object *object, uint64_t *bias)
{
	bool found = false;
	GElf_Phdr ph;
	size_t nr;
	Elf *elf;

	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_getphdrnum(elf, &nr))
		nr = 0;
	for (size_t i = 0; i < nr && !found; i++) {
		if (!gelf_getphdr(elf, i, &ph) || ph.p_type != PT_LOAD ||
		    !(ph.p_flags & PF_X) ||
		    (ph.p_offset & -4096UL) != object->pgoff)
			continue;
		*bias = object->start + ph.p_offset - object->pgoff - ph.p_vaddr;
		found = true;
	}
	elf_end(elf);
	return found;
}

static void report_object(struct input *in, const struct object *object)
{
	bool vdso = is_vdso(object);
	uint64_t bias = object->start;
	char *path;
	int fd;

	if (!vdso && !is_file(object))
		return;
	if (!vdso && !tables_have(object->name))
		in->process->without_table = true;
	path = host_path(object->name);
	fd = vdso ? dup(in->vdso_fd) : open(path, O_RDONLY);
	if (fd < 0 && !attached)
		recording_fail(path, strerror(errno));
	if (fd < 0 || (!vdso && !load_bias(fd, object, &bias))) {
		if (!attached)
			recording_fail(path, "not the file that was mapped");
		in->process->unknown = true;
		close(fd);
		free(path);
		return;
	}
	if (!dwfl_report_elf(in->process->dwfl, object->name, path, fd, bias, true))
		recording_fail(path, dwfl_errmsg(-1));
	free(path);
}

static void add_object(struct process *process, const struct object *new)
{
	struct object *objects;
	int kept = 0;
	bool file = is_file(new) || is_vdso(new);

	for (int i = 0; i < process->nr_objects; i++) {
		struct object *old = &process->objects[i];

		/* mapped over, or the same file somewhere else */
		if ((old->start < new->end && new->start < old->end) ||
		    (is_file(new) && !strcmp(old->name, new->name))) {
			file |= is_file(old) || is_vdso(old);
			free(old->name);
		} else {
			process->objects[kept++] = *old;
		}
	}
	objects = realloc(process->objects, (kept + 1) * sizeof(*objects));
	if (!objects)
		recording_fail(new->name, "no memory");
	objects[kept++] = *new;
	process->objects = objects;
	process->nr_objects = kept;
	if (file)
		forget_dwfl(process);
}

static void keep_vdso(struct input *in, const struct dump_vdso *vdso)
{
	in->vdso_fd = memfd_create("vdso", 0);
	if (in->vdso_fd < 0 ||
	    write(in->vdso_fd, vdso->image, vdso->len) != (ssize_t)vdso->len)
		recording_fail("vdso", strerror(errno));
}

/* ------------------------------------------------------ unwinding by libdwfl */

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return 1;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	*thread_arg = arg;
	return tid == 1;
}

static bool read_stack(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *arg)
{
	struct input *in = arg;
	const struct dump_sample *sample = in->sample;
	uint64_t sp = sample->regs[7];

	(void)dwfl;
	if (addr < sp || addr - sp > sample->stack_len ||
	    sample->stack_len - (addr - sp) < sizeof(*word)) {
		in->trace->past_dump |= addr >= sp;
		return false;
	}
	memcpy(word, sample->stack + (addr - sp), sizeof(*word));
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct input *in = arg;

	if (!dwfl_thread_state_registers(thread, 0, DUMP_NR_REGS,
					 in->sample->regs))
		return false;
	dwfl_thread_state_register_pc(thread, in->sample->regs[16]);
	return true;
}

static int on_frame(Dwfl_Frame *state, void *arg)
{
	struct trace *trace = arg;
	Dwarf_Addr pc;

	if (trace->nr == MAX_FRAMES || !dwfl_frame_pc(state, &pc, NULL))
		return DWARF_CB_ABORT;
	trace->ips[trace->nr++] = pc;
	return DWARF_CB_OK;
}

static int no_debuginfo(Dwfl_Module *mod, void **userdata, const char *name,
			Dwarf_Addr base, const char *file, const char *link,
			GElf_Word crc, char **found)
{
	(void)mod, (void)userdata, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)found;
	return -1;
}

static void make_dwfl(struct input *in)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = no_debuginfo,
	};
	static const Dwfl_Thread_Callbacks thread_callbacks = {
		.next_thread = next_thread,
		.get_thread = get_thread,
		.memory_read = read_stack,
		.set_initial_registers = set_registers,
	};

	in->process->dwfl = dwfl_begin(&callbacks);
	if (!in->process->dwfl)
		recording_fail(in->path, dwfl_errmsg(-1));
	dwfl_report_begin(in->process->dwfl);
	for (int i = 0; i < in->process->nr_objects; i++)
		report_object(in, &in->process->objects[i]);
	if (!dwfl_report_end(in->process->dwfl, NULL, NULL) &&
	    dwfl_attach_state(in->process->dwfl, NULL, 1, &thread_callbacks, in))
		return;
	if (!attached)
		recording_fail(in->path, dwfl_errmsg(-1));
	in->process->unknown = true;
}

static void unwind_dwarf(struct input *in, const struct dump_sample *sample,
			 struct trace *trace)
{
	memset(trace, 0, sizeof(*trace));
	in->sample = sample;
	in->trace = trace;
	trace->ended = !dwfl_getthread_frames(in->process->dwfl, 1, on_frame, trace);
}

/* ----------------------------------------------------------------- comparing */

static void print_frame(struct input *in, const struct trace *trace,
			unsigned int i)
{
	Dwfl_Module *mod;
	const char *name = NULL;

	if (i >= trace->nr) {
		printf("  %-44s", i == trace->nr ? "-" : "");
		return;
	}
	mod = dwfl_addrmodule(in->process->dwfl, trace->ips[i] - (i > 0));
	if (mod)
		name = dwfl_module_addrname(mod, trace->ips[i] - (i > 0));
	printf("  %016lx %-27.27s", (long)trace->ips[i], name ?: "?");
}

static void print_divergence(struct input *in, const struct divergence *d,
			     const char *class)
{
	printf("%s: %s: after %s in %s of %s, frame %u of %u (kernel) and %u (DWARF)\n",
	       in->path, class, d->symbol, d->section, d->object, d->frame,
	       d->kernel->nr, d->dwarf->nr);
	for (unsigned int i = 0; i < d->kernel->nr || i < d->dwarf->nr; i++) {
		printf(i == d->frame ? ">" : " ");
		print_frame(in, d->kernel, i);
		print_frame(in, d->dwarf, i);
		printf("\n");
	}
}

/*
 * @same: all frames agree, but libdwfl saw no outermost one.  With a table made of the
 * CFI, both must then have stopped at code without CFI, or in no object.
 */
static void classify(struct input *in, struct divergence *d, bool same)
{
	bool alike;
	int class;

	for (unsigned int i = 0; attached && i < d->frame && !d->past_compiled; i++)
		d->past_compiled = is_compiled(in->process, d->kernel->ips[i] - (i > 0));
	d->nowhere = d->dwarf->nr > d->frame &&
		     !find_object(in->process, d->dwarf->ips[d->frame]);
	class = disagree_classify(in->process->dwfl, d, attached);
	alike = same && attached && (!d->has_cfi || d->in_no_object);
	if (alike)
		sum.cut_alike++;
	else if (class < 0)
		sum.unclassified++;
	else
		sum.class[class]++;
	if (verbose || (class < 0 && !alike && sum.unclassified <= 10))
		print_divergence(in, d, alike	  ? "cut alike" :
					class < 0 ? "UNEXPLAINED" :
						    disagree_name(class));
}

/* Where the end of a handler, when SP points to the ucontext, continues; or 0. */
static uint64_t saved_ip(const struct dump_sample *sample)
{
	const size_t off = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]);
	uint64_t ip = 0;

	if (off + sizeof(ip) <= sample->stack_len)
		memcpy(&ip, sample->stack + off, sizeof(ip));
	return ip;
}

static void compare(struct input *in, const struct dump_sample *sample,
		    const struct trace *kernel)
{
	static struct trace dwarf;
	struct divergence d = {
		.kernel = kernel,
		.dwarf = &dwarf,
		.user_mode = sample->user_mode,
		.ip = sample->regs[16],
		.saved_ip = saved_ip(sample),
	};
	bool same;

	in->process = find_process(in, sample->header.pid);
	if (!in->process->dwfl && !in->process->unknown)
		make_dwfl(in);
	if (in->process->unknown || !in->process->nr_objects) {
		sum.unknown++;
		return;
	}
	if (in->process->without_table) {
		sum.without_table++;
		return;
	}
	unwind_dwarf(in, sample, &dwarf);
	while (d.frame < kernel->nr && d.frame < dwarf.nr &&
	       kernel->ips[d.frame] == dwarf.ips[d.frame])
		d.frame++;
	sum.compared++;
	sum.frames += d.frame;
	same = d.frame && d.frame == kernel->nr && d.frame == dwarf.nr;
	if (same && dwarf.ended)
		sum.agree++;
	else
		classify(in, &d, same);
}

/* ------------------------------------------------------- reading a recording */

static void on_map(void *arg, const struct dump_map *map)
{
	const struct object new = {
		.name	= strdup(map->name),
		.start	= map->start,
		.end	= map->start + map->len,
		.pgoff	= map->pgoff,
	};

	add_object(find_process(arg, map->header.pid), &new);
}

/* An earlier process with the same id has ended. */
static void on_fork(void *arg, const struct dump_fork *fork)
{
	struct process *parent = find_process(arg, fork->parent);
	struct process *child = find_process(arg, fork->header.pid);

	forget_objects(child);
	for (int i = 0; i < parent->nr_objects; i++) {
		struct object copy = parent->objects[i];

		copy.name = strdup(copy.name);
		add_object(child, &copy);
	}
}

static void on_exec(void *arg, const struct dump_exec *exec)
{
	forget_objects(find_process(arg, exec->header.pid));
}

static void on_vdso(void *arg, const struct dump_vdso *vdso)
{
	keep_vdso(arg, vdso);
}

static void on_stack(void *arg, const struct dump_sample *sample,
		     const struct dump_chain *chain)
{
	static struct trace kernel;
	struct input *in = arg;

	if (chain->nr > MAX_FRAMES)
		recording_fail(in->path, "a chain that is too long");
	kernel.nr = chain->nr;
	memcpy(kernel.ips, chain->ips, chain->nr * sizeof(chain->ips[0]));
	compare(in, sample, &kernel);
}

static void read_input(const char *path)
{
	static const struct recording_reader reader = {
		.on_map = on_map,
		.on_fork = on_fork,
		.on_exec = on_exec,
		.on_vdso = on_vdso,
		.on_stack = on_stack,
	};
	struct input in = { .path = path, .vdso_fd = -1 };
	struct process *process;
	unsigned long no_chain;

	no_chain = recording_read(path, &reader, &in);
	sum.no_chain += no_chain;
	sum.chains_missing |= no_chain > RECORDING_FEW;
	while ((process = in.processes) != NULL) {
		in.processes = process->next;
		forget_objects(process);
		free(process);
	}
	close(in.vdso_fd);
}

static void print_sum(void)
{
	printf("samples compared              %8lu\n", sum.compared);
	printf("frames that agree             %8lu\n", sum.frames);
	printf("samples that agree wholly     %8lu\n", sum.agree);
	if (attached)
		printf("both stop at code without CFI %8lu\n", sum.cut_alike);
	for (int i = 0; disagree_name(i); i++)
		printf("explained: %-19s%8lu\n", disagree_name(i), sum.class[i]);
	printf("unexplained                   %8lu\n", sum.unclassified);
	printf("samples without a chain       %8lu\n", sum.no_chain);
	if (attached)
		printf("of files that are not here    %8lu\n", sum.unknown);
	if (tables_known())
		printf("of files that had no table    %8lu\n", sum.without_table);
}

/* Return: how many samples were compared in which libdwfl is reliable. */
static unsigned long judged(void)
{
	unsigned long nr = sum.compared;

	for (int i = 0; attached && disagree_name(i); i++)
		nr -= disagree_is_guess(i) ? sum.class[i] : 0;
	return nr;
}

int main(int argc, char **argv)
{
	unsigned long minimum = 1;
	int opt;

	elf_version(EV_CURRENT);
	while ((opt = getopt(argc, argv, "ar:m:t:v")) != -1) {
		if (opt == 'a')
			attached = true;
		else if (opt == 'r')
			root = optarg;
		else if (opt == 'm')
			minimum = strtoul(optarg, NULL, 10);
		else if (opt == 't')
			tables_read(optarg);
		else if (opt == 'v')
			verbose = true;
		else
			return 2;
	}
	if (optind == argc)
		recording_fail("usage", "stackcheck [-a] [-t TABLES] [-r ROOT] [-m MINIMUM] [-v] FILE...");
	while (optind < argc)
		read_input(argv[optind++]);
	print_sum();
	if (sum.agree + sum.cut_alike < judged() / 100.0 * 99) {
		printf("less than 99 %% of the samples agree\n");
		return 1;
	}
	if (sum.chains_missing) {
		printf("samples in user mode without a chain\n");
		return 1;
	}
	if (judged() < minimum) {
		printf("fewer than %lu samples\n", minimum);
		return 1;
	}
	return sum.unclassified ? 1 : 0;
}
