/* SPDX-License-Identifier: MIT */
/*
 * CFI of each kind that a table can express, and of some that it cannot.  Each function has
 * 16 bytes; sframe_test.c lists the rows expected for it.
 */
#ifdef DEBUG_FRAME
	.cfi_sections .debug_frame
#endif
	.text
	.macro function name
	.p2align 4
	.globl	\name
\name:
	.cfi_startproc
	.endm
	.macro end_function
	.cfi_endproc
	.endm
	.macro fill count
	.fill \count, 1, 0x40
	.endm

	/* Default rows, and padding after them. */
	function default_rows
	fill 1
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	fill 3
	.cfi_def_cfa_register %rbp
	fill 4
	.cfi_def_cfa %rsp, 8
	.cfi_same_value %rbp
	fill 1
	end_function

	/* Wide offsets. */
	function wide
	.cfi_def_cfa_offset 0x100
	fill 4
	.cfi_def_cfa_offset 0x10000
	fill 12
	end_function

	/* No caller. */
	function outermost
	.cfi_undefined %rip
	fill 16
	end_function

	/* A realigned frame: CFA and the caller's FP in memory. */
	function realigned
	.cfi_def_cfa %r10, 0
	fill 4
	.cfi_escape 0x10, 6, 2, 0x76, 0		/* rbp at breg6 + 0 */
	fill 4
	.cfi_escape 0x0f, 3, 0x76, 0x78, 6	/* CFA: breg6 - 8, deref */
	fill 8
	end_function

	/* The return address in a register; later the frame pointer, too. */
	function in_registers
	.cfi_register %rip, %rdx
	fill 8
	.cfi_register %rbp, %rax
	fill 8
	end_function

	/* The kernel's frame of a signal. */
	function signal_frame
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 6	/* CFA: breg7 + 160, deref */
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1
	fill 16
	end_function

	/* The CFA is the word at SP + 8, plus 8. */
	function beyond_cfa
	fill 4
	.cfi_escape 0x0f, 5, 0x77, 0x08, 6, 0x23, 8
	fill 4
	.cfi_def_cfa %rsp, 8
	fill 8
	end_function

	/* The return address at an address that is in memory. */
	function beyond_ra
	.cfi_escape 0x10, 16, 3, 0x77, 0x08, 6
	fill 16
	end_function

	/* The frame pointer near the CFA, and nowhere. */
	function beyond_fp
	.cfi_escape 0x14, 6, 2			/* val_offset */
	fill 8
	.cfi_undefined %rbp
	fill 8
	end_function

	/* The stack pointer in another register. */
	function beyond_sp
	.cfi_register %rsp, %rdx
	fill 16
	end_function

	/* A function inside another one. */
	function outer
	fill 4
	.cfi_endproc
	.globl	inner
inner:
	.cfi_startproc
	fill 12
	end_function

	/* As linkers describe .plt: one more word is on the stack from byte 11 of an entry on. */
	function plt
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	fill 96
	end_function

	function plt_short
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3a, 0x2a, 0x33, 0x24, 0x22
	fill 24
	end_function

	/* As in C++: a personality and language-specific data. */
	function before_gap
	.cfi_personality 0x1b, .Lhere
	.cfi_lsda 0x1b, .Lhere
.Lhere:
	fill 16
	end_function

	/* Code without an FDE. */
	.p2align 4
	.fill 16, 1, 0x40

	/* As in Go, whose CFI says that each function returns. */
	.fill 16, 1, 0xcc
	function runtime.sigreturn
	mov $15, %rax
	syscall
	int3
	fill 6
	end_function

	.type runtime.mstart.abi0, @function
	function runtime.mstart.abi0
	fill 16
	end_function

	function last
	fill 16
	end_function
	.section .note.GNU-stack, "", @progbits
