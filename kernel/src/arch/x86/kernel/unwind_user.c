// SPDX-License-Identifier: GPL-2.0
/*
 * What the deferred user unwinder needs to know about x86-64
 */
#include <linux/buildid.h>
#include <linux/elf.h>
#include <linux/init.h>
#include <linux/mm_types.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <linux/unwind_user.h>

#include <asm/segment.h>
#include <asm/sigframe.h>
#include <asm/vdso.h>

/* DWARF register numbers, psABI x86-64, figure 3.36 */
enum {
	DWARF_RAX, DWARF_RDX, DWARF_RCX, DWARF_RBX, DWARF_RSI, DWARF_RDI,
	DWARF_RBP, DWARF_RSP, DWARF_R8, DWARF_R9, DWARF_R10, DWARF_R11,
	DWARF_R12, DWARF_R13, DWARF_R14, DWARF_R15, DWARF_NR_REGS,
};

#define PT_REGS(reg)	offsetof(struct pt_regs, reg)
#define SIGCONTEXT(reg)	offsetof(struct sigcontext_64, reg)

/* Where a register is saved on kernel entry, and by a signal. */
static const struct {
	u16	pt_regs;
	u16	sigcontext;
} reg_offsets[DWARF_NR_REGS] = {
	[DWARF_RAX] = { PT_REGS(ax), SIGCONTEXT(ax) },
	[DWARF_RDX] = { PT_REGS(dx), SIGCONTEXT(dx) },
	[DWARF_RCX] = { PT_REGS(cx), SIGCONTEXT(cx) },
	[DWARF_RBX] = { PT_REGS(bx), SIGCONTEXT(bx) },
	[DWARF_RSI] = { PT_REGS(si), SIGCONTEXT(si) },
	[DWARF_RDI] = { PT_REGS(di), SIGCONTEXT(di) },
	[DWARF_RBP] = { PT_REGS(bp), SIGCONTEXT(bp) },
	[DWARF_RSP] = { PT_REGS(sp), SIGCONTEXT(sp) },
	[DWARF_R8] = { PT_REGS(r8), SIGCONTEXT(r8) },
	[DWARF_R9] = { PT_REGS(r9), SIGCONTEXT(r9) },
	[DWARF_R10] = { PT_REGS(r10), SIGCONTEXT(r10) },
	[DWARF_R11] = { PT_REGS(r11), SIGCONTEXT(r11) },
	[DWARF_R12] = { PT_REGS(r12), SIGCONTEXT(r12) },
	[DWARF_R13] = { PT_REGS(r13), SIGCONTEXT(r13) },
	[DWARF_R14] = { PT_REGS(r14), SIGCONTEXT(r14) },
	[DWARF_R15] = { PT_REGS(r15), SIGCONTEXT(r15) },
};

/* Extent of .sframe in the 64-bit vDSO; 0 if the assembler emits none. */
static unsigned long vdso_sframe_start __ro_after_init;
static unsigned long vdso_sframe_end __ro_after_init;

/* All 0 if the linker emits none. */
static u8 vdso_build_id[BUILD_ID_SIZE_MAX] __ro_after_init;

static int __init unwind_user_init(void)
{
	const struct elf64_hdr *ehdr = vdso64_image.data;
	const struct elf64_phdr *phdr = vdso64_image.data + ehdr->e_phoff;
	unsigned int i;

	for (i = 0; i < ehdr->e_phnum; i++, phdr++) {
		if (phdr->p_type == PT_NOTE)
			build_id_parse_buf(vdso64_image.data + phdr->p_offset,
					   vdso_build_id, phdr->p_filesz);
		if (phdr->p_type != PT_GNU_SFRAME)
			continue;
		vdso_sframe_start = phdr->p_vaddr;
		vdso_sframe_end = phdr->p_vaddr + phdr->p_memsz;
	}

	return 0;
}
subsys_initcall(unwind_user_init);

/**
 * arch_unwind_user_has_tables() - can the current task have tables?
 * @regs: its user registers
 *
 * Return: whether it is a 64-bit task; ia32 and x32 cannot register anything.
 */
bool arch_unwind_user_has_tables(const struct pt_regs *regs)
{
	if (IS_ENABLED(CONFIG_X86_X32_ABI) &&
	    current->mm->context.vdso_image == &vdsox32_image)
		return false;

	return user_64bit_mode((struct pt_regs *)regs);
}

/**
 * arch_unwind_user_vdso() - find the table of the vDSO
 * @ip: an address
 * @sframe_start: where to store the address of its SFrame section
 * @sframe_end: where to store the end of the section
 *
 * Return: whether @ip is in the vDSO of the current task, and that has a table.
 */
bool arch_unwind_user_vdso(unsigned long ip, unsigned long *sframe_start,
			   unsigned long *sframe_end)
{
	const mm_context_t *context = &current->mm->context;
	unsigned long vdso = (unsigned long)READ_ONCE(context->vdso);

	if (!vdso || !vdso_sframe_end || ip - vdso >= vdso64_image.size ||
	    context->vdso_image != &vdso64_image)
		return false;

	*sframe_start = vdso + vdso_sframe_start;
	*sframe_end = vdso + vdso_sframe_end;

	return true;
}

/**
 * arch_unwind_user_start() - prepare a walk
 * @vdso: where to store the address of the vDSO, if it has a table
 * @vdso_size: where to store its size, or 0
 *
 * Return: how far the frame pointer is from SP at least, in the frame that a signal
 * handler returns to, if the interrupted code had one on the same stack.
 */
unsigned long arch_unwind_user_start(unsigned long *vdso,
				     unsigned long *vdso_size)
{
	const mm_context_t *context = &current->mm->context;

	*vdso = (unsigned long)READ_ONCE(context->vdso);
	*vdso_size = *vdso && vdso_sframe_end &&
		     context->vdso_image == &vdso64_image ? vdso64_image.size : 0;

	/* The handler's return has popped the first word of the frame. */
	return sizeof(struct rt_sigframe) - sizeof(long);
}

/**
 * arch_unwind_user_vdso_build_id() - identify the 64-bit vDSO
 * @build_id: where to store its build-id, BUILD_ID_SIZE_MAX bytes
 *
 * Return: the length of the build-id, 0 if there is none.
 */
unsigned int arch_unwind_user_vdso_build_id(u8 *build_id)
{
	memcpy(build_id, vdso_build_id, sizeof(vdso_build_id));

	return memchr_inv(vdso_build_id, 0, sizeof(vdso_build_id)) ?
	       sizeof(vdso_build_id) : 0;
}

/*
 * Execute-only text cannot be read, and what is not in memory is not read, but then it
 * has to be a restorer that is in use.  Neither locking nor ordering matters: a
 * restorer that changes meanwhile gives a short stack.
 */
static bool is_sa_restorer(unsigned long ip)
{
	struct k_sigaction *ka = rcu_dereference_raw(current->sighand)->action;
	unsigned int i;

	for (i = 0; i < _NSIG; i++) {
		if ((READ_ONCE(ka[i].sa.sa_flags) & SA_RESTORER) &&
		    (unsigned long)READ_ONCE(ka[i].sa.sa_restorer) == ip)
			return true;
	}

	return false;
}

/**
 * arch_unwind_user_at_sigreturn() - is this frame about to call sigreturn()?
 * @state: the frame; no table covers it
 *
 * Return: whether @state->ip is at "mov $__NR_rt_sigreturn, %rax; syscall", or at the
 * second of the two if the frame has not been returned to.
 */
bool arch_unwind_user_at_sigreturn(const struct unwind_user_state *state)
{
	static const struct {
		u8	mov[7];
		u8	syscall[2];
	} __packed insns = {
		{ 0x48, 0xc7, 0xc0, __NR_rt_sigreturn, 0, 0, 0 },
		{ 0x0f, 0x05 },
	};
	unsigned long start = state->ip;
	u8 text[sizeof(insns)];
	u16 first;

	/* Do not read in any text for this. */
	guard(pagefault)();
	/* Most frames are not: look at no more than it takes to see that. */
	if (get_user(first, (u16 __user *)start))
		return is_sa_restorer(start);

	if (state->exact && !memcmp(&first, insns.syscall, sizeof(first)))
		start -= sizeof(insns.mov);
	else if (memcmp(&first, insns.mov, sizeof(first)))
		return false;

	if (copy_from_user(text, (void __user *)start, sizeof(text)))
		return is_sa_restorer(start);

	return !memcmp(text, &insns, sizeof(text));
}

/**
 * arch_unwind_user_sigframe() - continue in the code that a signal interrupted
 * @state: a signal frame; on success the interrupted one
 *
 * Everything is taken from the frame at the stack pointer, as sigreturn() will do: it
 * does not matter where the handler's stack was, nor what sigaltstack() says now.
 *
 * Return: 0, -EFAULT if the frame cannot be read, -EINVAL if it is not one of
 * a 64-bit task.
 */
int arch_unwind_user_sigframe(struct unwind_user_state *state)
{
	/* The handler's return has popped the first word of the frame. */
	struct rt_sigframe __user *frame =
		(void __user *)(state->sp - sizeof(frame->pretcode));
	struct sigcontext_64 __user *sc = (void __user *)&frame->uc.uc_mcontext;
	unsigned long ip, sp, fp;
	u16 cs;

	if (get_user(cs, &sc->cs) || get_user(ip, &sc->ip) ||
	    get_user(sp, &sc->sp) || get_user(fp, &sc->bp))
		return -EFAULT;

	if (cs != __USER_CS || ip >= TASK_SIZE_MAX || (sp & (state->ws - 1)))
		return -EINVAL;

	state->ip = ip;
	state->sp = sp;
	state->fp = fp;
	state->sigframe = (unsigned long)sc;
	state->topmost = false;
	state->exact = true;

	return 0;
}

/**
 * arch_unwind_user_reg() - get a register of a frame
 * @state: the frame
 * @reg: DWARF number of the register
 * @val: where to store its value
 *
 * Return: 0, -EINVAL if it is not known in this frame, -EFAULT if it cannot be
 * read.
 */
int arch_unwind_user_reg(const struct unwind_user_state *state,
			 unsigned int reg, unsigned long *val)
{
	if (reg == DWARF_RSP) {
		*val = state->sp;
		return 0;
	}
	if (reg == DWARF_RBP) {
		*val = state->fp;
		return *val == UNWIND_USER_FP_LOST ? -EINVAL : 0;
	}
	if (reg >= DWARF_NR_REGS)
		return -EINVAL;
	reg = array_index_nospec(reg, DWARF_NR_REGS);

	if (state->topmost) {
		*val = *(unsigned long *)((void *)state->regs +
					  reg_offsets[reg].pt_regs);
		return 0;
	}
	if (!state->sigframe)
		return -EINVAL;

	return get_user(*val, (unsigned long __user *)
			(state->sigframe + reg_offsets[reg].sigcontext));
}
