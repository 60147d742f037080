// SPDX-License-Identifier: MIT
/* The classes of explained disagreements, and the conditions for each. */
#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "disagree.h"

/* SFrame version 3: the header, and an entry of the function index. */
struct sframe_header {
	uint16_t magic;
	uint8_t version, flags, abi;
	int8_t fixed_fp, fixed_ra;
	uint8_t auxhdr_len;
	uint32_t num_fdes, num_fres, fre_len, fdeoff, freoff;
};

struct sframe_fde {
	int64_t start;
	uint32_t size;
	uint32_t fre_off;
};

#define SFRAME_MAGIC	0xdee2
#define SFRAME_PCREL	0x4		/* start is relative to its own field */

static bool is_other_program(const struct divergence *d)
{
	return !d->user_mode && (d->frame ? d->frame == 1 && d->kernel->nr == 1 &&
					    d->in_no_object : d->at_entry);
}

static bool is_resumed(const struct divergence *d)
{
	return !d->user_mode && !d->frame && d->in_sigreturn && d->kernel->nr &&
	       d->kernel->ips[0] == d->saved_ip;
}

/*
 * The chain has two more frames than the sample: the handler's first instruction and the
 * restorer that it returns to.
 */
static bool is_signalled(const struct divergence *d)
{
	const struct trace *kernel = d->kernel, *dwarf = d->dwarf;
	unsigned int nr = kernel->nr < dwarf->nr + 2 ? kernel->nr : dwarf->nr + 2;

	return !d->frame && nr > 2 && kernel->ips[2] == d->ip &&
	       !memcmp(kernel->ips + 2, dwarf->ips, (nr - 2) * sizeof(*dwarf->ips));
}

/* libdwfl trusts the CFI of Go. */
static bool is_known_of_go(const struct divergence *d)
{
	return d->attached && d->frame && !strncmp(d->symbol, "runtime.", strlen("runtime.")) &&
	       (d->kernel->nr == d->frame || d->at_sigreturn);
}

/* SFrame cannot express the CFI, so the table has no rule. */
static bool is_beyond(const struct divergence *d)
{
	return d->attached && d->frame && d->beyond && d->kernel->nr == d->frame;
}

/* The kernel checks that a return address is mapped before it accepts it. */
static bool is_followed_nowhere(const struct divergence *d)
{
	return d->attached && d->frame && d->nowhere && d->kernel->nr == d->frame;
}

static bool is_short_dump(const struct divergence *d)
{
	return d->frame && d->kernel->nr > d->frame &&
	       d->dwarf->nr == d->frame && d->dwarf->past_dump;
}

static bool is_without_fde(const struct divergence *d)
{
	return d->frame && !d->has_fde;
}

static bool is_without_cfi(const struct divergence *d)
{
	return d->frame && !d->has_cfi;
}

/* From there on, both follow frame pointers, but accept different ones. */
static bool is_past_no_cfi(const struct divergence *d)
{
	return d->past_no_cfi;
}

static bool is_past_compiled(const struct divergence *d)
{
	return d->past_compiled;
}

static bool is_plt_got(const struct divergence *d)
{
	return d->frame && !strcmp(d->section, ".plt.got");
}

/* The kernel's stack ends there, and has no wrong frame. */
static bool is_by_register(const struct divergence *d)
{
	return d->frame > 1 && d->by_register && d->kernel->nr == d->frame;
}

/* A divergence is in the first class that fits. */
static const struct class {
	const char *name;
	bool (*fits)(const struct divergence *d);
} classes[] = {
	/*
	 * The sample was taken within execve(), after the event was enabled and before
	 * the registers were those of the new program.  A deferred chain has the new
	 * program's first instruction, one taken at once has the old program's address.
	 */
	{ "within execve", is_other_program },
	/*
	 * The sample was taken within rt_sigreturn(), with the registers of the end of
	 * the handler.  The chain is made later, of the code that the handler interrupted.
	 */
	{ "within rt_sigreturn", is_resumed },
	/*
	 * A signal came between the sample and its chain, so the chain begins in the
	 * handler.
	 */
	{ "before a signal", is_signalled },
	/*
	 * Attached tables: Go's CFI says that the outermost functions of its runtime, and
	 * the restorer of a signal handler, return to a caller.
	 */
	{ "wrong CFI of Go", is_known_of_go },
	/*
	 * Attached tables: SFrame cannot express the CFA, as in assembly that keeps its
	 * stack pointer in its frame, or the caller's SP is not the CFA, as in longjmp().
	 */
	{ "beyond SFrame", is_beyond },
	/*
	 * The stack was deeper than the dump, or a page of it was not in memory when it
	 * was copied, which must not fault.  libdwfl stops where the copied bytes end;
	 * the kernel reads on.
	 */
	{ "dump too short", is_short_dump },
	/*
	 * Code that was not made by our assembler but linked in from the compiler's own
	 * files: functions of libgcc.a (__popcountdi2) and of crtbegin.o (frame_dummy,
	 * __do_global_dtors_aux).  The kernel follows the frame pointer, and may miss
	 * callers if the code keeps none.
	 */
	{ "no SFrame FDE", is_without_fde },
	/*
	 * Code without an FDE in .eh_frame.  libdwfl tries the frame pointer, or stops
	 * there.
	 */
	{ "no DWARF CFI", is_without_cfi },
	/*
	 * In SFrame, ld describes the 8-byte entries of .plt.got like those of .plt, with
	 * CFA = SP + 16 after the first instructions; SP + 8 is right.
	 */
	{ ".plt.got in SFrame", is_plt_got },
	/*
	 * The kernel knows only SP and FP of a caller.  The trampolines of ld.so for lazy
	 * binding compute the CFA from RBX.
	 */
	{ "CFA by a register", is_by_register },
	/*
	 * Attached tables: frame pointers led out of code without CFI, or out of compiled
	 * code, in an inner frame.
	 */
	{ "past no CFI", is_past_no_cfi },
	{ "past compiled code", is_past_compiled },
	/*
	 * libdwfl comes to an address where nothing is mapped, for example after the
	 * instruction by which _Unwind_Resume() goes to a landing pad: the CFI there is
	 * still that of the instruction before it.
	 */
	{ "nowhere in DWARF", is_followed_nowhere },
};

#define NR_CLASSES	((int)(sizeof(classes) / sizeof(classes[0])))

_Static_assert(sizeof(classes) / sizeof(classes[0]) <= DISAGREE_MAX, "");

static const char *section_name(Dwfl_Module *mod, Dwarf_Addr pc)
{
	GElf_Addr addr = pc, bias;
	Elf_Scn *scn = dwfl_module_address_section(mod, &addr, &bias);
	GElf_Shdr shdr;
	size_t strndx;

	if (!scn || !gelf_getshdr(scn, &shdr) ||
	    elf_getshdrstrndx(dwfl_module_getelf(mod, &bias), &strndx))
		return "?";
	return elf_strptr(dwfl_module_getelf(mod, &bias), strndx, shdr.sh_name);
}

/* The caller frees it; NULL if there is none. */
static Dwarf_Frame *find_frame(Dwfl_Module *mod, Dwarf_Addr pc)
{
	Dwarf_Addr bias;
	Dwarf_Frame *frame = NULL;
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(mod, &bias);

	if (cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &frame))
		return frame;
	cfi = dwfl_module_dwarf_cfi(mod, &bias);
	return cfi && !dwarf_cfi_addrframe(cfi, pc - bias, &frame) ? frame : NULL;
}

static bool sp_is_cfa(Dwarf_Frame *frame)
{
	Dwarf_Op space[3], *ops;
	size_t nr;

	return !dwarf_frame_register(frame, 7, space, &ops, &nr) && nr &&
	       ops->atom == DW_OP_call_frame_cfa;
}

static void describe_frame(Dwfl_Module *mod, Dwarf_Addr pc, struct divergence *d)
{
	Dwarf_Frame *frame = find_frame(mod, pc);
	Dwarf_Op *ops;
	size_t nr;

	d->has_cfi = frame;
	d->by_register = false;
	d->beyond = false;
	if (frame && !dwarf_frame_cfa(frame, &ops, &nr)) {
		d->by_register = nr == 1 && ops->atom == DW_OP_bregx &&
				 ops->number != 6 && ops->number != 7;
		d->beyond = nr > 1 || !sp_is_cfa(frame);
	}
	free(frame);
}

/* Return: the contents of the section @name; its header is in @shdr. */
static Elf_Data *find_section(Elf *elf, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;
	size_t strndx;

	if (!elf || elf_getshdrstrndx(elf, &strndx))
		return NULL;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		const char *found;

		if (!gelf_getshdr(scn, shdr))
			continue;
		found = elf_strptr(elf, strndx, shdr->sh_name);
		if (found && !strcmp(found, name))
			return elf_getdata(scn, NULL);
	}
	return NULL;
}

static bool has_fde(Dwfl_Module *mod, Dwarf_Addr pc)
{
	const struct sframe_header *header;
	const struct sframe_fde *fde;
	GElf_Addr bias, start;
	GElf_Shdr shdr;
	Elf_Data *data = find_section(dwfl_module_getelf(mod, &bias), ".sframe",
				      &shdr);
	size_t off;

	if (!data || data->d_size < sizeof(*header))
		return false;
	header = data->d_buf;
	if (header->magic != SFRAME_MAGIC || header->version != 3)
		return true;
	off = sizeof(*header) + header->auxhdr_len + header->fdeoff;
	for (uint32_t i = 0; i < header->num_fdes; i++, off += sizeof(*fde)) {
		if (off + sizeof(*fde) > data->d_size)
			return true;
		fde = (const void *)((const char *)data->d_buf + off);
		start = shdr.sh_addr + bias + fde->start +
			(header->flags & SFRAME_PCREL ? off : 0);
		if (pc - start < fde->size)
			return true;
	}
	return false;
}

/* Is the address the entry point of an object, such as the interpreter? */
static bool is_entry(Dwfl *dwfl, Dwarf_Addr pc)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc);
	GElf_Addr bias;
	GElf_Ehdr ehdr;
	Elf *elf = mod ? dwfl_module_getelf(mod, &bias) : NULL;

	return elf && gelf_getehdr(elf, &ehdr) && pc == ehdr.e_entry + bias;
}

/* mov $__NR_rt_sigreturn,%rax; syscall */
static const uint8_t sigreturn[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 };

/* Is the code at @addr a signal handler's restorer? */
static bool calls_sigreturn(Dwfl_Module *mod, GElf_Addr addr)
{
	GElf_Addr bias;
	Elf_Scn *scn = dwfl_module_address_section(mod, &addr, &bias);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	return data && data->d_buf && addr + sizeof(sigreturn) <= data->d_size &&
	       !memcmp((const char *)data->d_buf + addr, sigreturn, sizeof(sigreturn));
}

/* Does the system call of a restorer return to @pc? */
static bool is_sigreturn(Dwfl *dwfl, Dwarf_Addr pc)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc - 1);

	return mod && calls_sigreturn(mod, pc - sizeof(sigreturn));
}

static void describe(Dwfl *dwfl, struct divergence *d)
{
	Dwfl_Module *mod;
	const char *slash;
	Dwarf_Addr pc;

	/* In code of no known file, missing CFI or FDEs explain nothing. */
	d->symbol = d->section = d->object = "?";
	d->has_cfi = d->has_fde = true;
	d->at_entry = d->by_register = d->in_no_object = d->in_sigreturn = false;
	d->beyond = d->at_sigreturn = false;
	if (!d->frame) {
		d->in_sigreturn = is_sigreturn(dwfl, d->ip);
		d->at_entry = d->kernel->nr && is_entry(dwfl, d->kernel->ips[0]);
		return;
	}
	pc = d->kernel->ips[d->frame - 1] - (d->frame > 1);
	mod = dwfl_addrmodule(dwfl, pc);
	d->in_no_object = !mod;
	if (!mod)
		return;
	d->object = dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL,
				     NULL);
	slash = strrchr(d->object, '/');
	d->object = slash ? slash + 1 : d->object;
	d->symbol = dwfl_module_addrname(mod, pc) ?: "?";
	d->at_sigreturn = calls_sigreturn(mod, d->kernel->ips[d->frame - 1]);
	d->section = section_name(mod, pc);
	describe_frame(mod, pc, d);
	d->has_fde = has_fde(mod, pc);
}

static bool is_without_frame(Dwfl *dwfl, Dwarf_Addr pc)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, pc);
	Dwarf_Frame *frame = mod ? find_frame(mod, pc) : NULL;

	free(frame);
	return mod && !frame;
}

int disagree_classify(Dwfl *dwfl, struct divergence *d, bool attached)
{
	describe(dwfl, d);
	d->attached = attached;
	d->past_no_cfi = false;
	/* Code without CFI has no row either: only "no DWARF CFI" applies. */
	if (attached)
		d->has_fde = true;
	for (unsigned int i = 0; attached && i < d->frame && !d->past_no_cfi; i++)
		d->past_no_cfi = is_without_frame(dwfl, d->kernel->ips[i] - (i > 0));
	for (int i = 0; i < NR_CLASSES; i++)
		if (classes[i].fits(d))
			return i;
	return -1;
}

bool disagree_is_guess(int class)
{
	bool (*fits)(const struct divergence *d) = classes[class].fits;

	return fits == is_without_cfi || fits == is_known_of_go ||
	       fits == is_past_no_cfi || fits == is_past_compiled;
}

const char *disagree_name(int class)
{
	return class < NR_CLASSES ? classes[class].name : NULL;
}
