/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions with CFI that compilers seldom or never emit: the assembler makes SFrame and DWARF
 * of it, and the decoder has to find the same in both.  None of the functions is called.
 */
	.text

.macro func name
	.type	\name, @function
\name:
	.cfi_startproc
.endm

.macro endfunc name
	.cfi_endproc
	.size	\name, . - \name
.endm

	/* Rows with marks: signal frames whose rows are used, one of them flexible, */
	func	signal
	.cfi_signal_frame
	nop
	.cfi_def_cfa_offset 48
	nop
	endfunc	signal

	func	signal_flexible
	.cfi_signal_frame
	nop
	.cfi_def_cfa %r10, 16
	nop
	endfunc	signal_flexible

	/* the outermost frame, */
	func	signal_outermost
	.cfi_signal_frame
	.cfi_undefined %rip
	nop
	endfunc	signal_outermost

	/* and one that SFrame cannot express: no row at all */
	func	signal_beyond
	.cfi_signal_frame
	nop
	.cfi_escape 0xf, 0x5, 0x77, 0, 0x6, 0x23, 0x8
	nop
	endfunc	signal_beyond

	func	outermost
	.cfi_undefined %rip
	nop
	endfunc	outermost

	func	outermost_late
	nop
	.cfi_def_cfa_offset 24
	nop
	.cfi_undefined %rip
	nop
	endfunc	outermost_late

	/* Each register as the base of the CFA */
.macro base reg
	func	base_\reg
	nop
	.cfi_def_cfa %\reg, 0
	nop
	.cfi_def_cfa %\reg, -40
	nop
	.cfi_def_cfa %rsp, 8
	nop
	endfunc	base_\reg
.endm
	.irp	reg, rax, rdx, rcx, rbx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	base	\reg
	.endr

	/* Each register as the place of the return address or frame pointer */
.macro in reg
	func	ra_in_\reg
	nop
	.cfi_register %rip, %\reg
	nop
	.cfi_restore %rip
	nop
	endfunc	ra_in_\reg

	func	fp_in_\reg
	nop
	.cfi_register %rbp, %\reg
	nop
	.cfi_restore %rbp
	nop
	endfunc	fp_in_\reg
.endm
	.irp	reg, rax, rdx, rcx, rbx, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
	in	\reg
	.endr

	/* A realigned stack: CFA and frame pointer through memory */
	func	realigned
	nop
	.cfi_def_cfa %r10, 0
	nop
	.cfi_escape 0x10, 0x6, 0x2, 0x76, 0
	nop
	.cfi_escape 0xf, 0x3, 0x76, 0x78, 0x6
	nop
	.cfi_def_cfa %rsp, 8
	nop
	endfunc	realigned

	/* Offsets of one, two and four bytes; both pointers moved */
	func	offsets
	.cfi_def_cfa_offset 120
	nop
	.cfi_offset %rbp, -16
	nop
	.cfi_def_cfa_offset 136
	.cfi_offset %rbp, -136
	nop
	.cfi_def_cfa_offset 32760
	nop
	.cfi_def_cfa_offset 32776
	nop
	.cfi_def_cfa_offset 0x7ffffff0
	nop
	.cfi_offset %rbp, -32784
	nop
	.cfi_def_cfa %rbp, 16
	nop
	endfunc	offsets

	func	ra_moved
	nop
	.cfi_offset %rip, -24
	nop
	.cfi_restore %rip
	nop
	endfunc	ra_moved

	/* Rows that start beyond one and two bytes */
	func	long_2
	nop
	.cfi_def_cfa_offset 16
	.skip	254, 0x90
	.cfi_def_cfa_offset 24
	nop
	.cfi_def_cfa_offset 32
	.skip	1000, 0x90
	.cfi_def_cfa_offset 8
	nop
	endfunc	long_2

	func	long_4
	nop
	.cfi_def_cfa_offset 16
	.skip	65534, 0x90
	.cfi_def_cfa_offset 24
	nop
	.cfi_def_cfa_offset 32
	.skip	1000, 0x90
	.cfi_def_cfa_offset 8
	nop
	endfunc	long_4

	/* Many rows, and states that are put aside */
	func	rows
	.cfi_remember_state
	.set	depth, 16
	.rept	1000
	nop
	.cfi_def_cfa_offset depth
	.set	depth, depth + 8
	.endr
	nop
	.cfi_restore_state
	nop
	endfunc	rows

	/* Whole functions that SFrame cannot express: by an expression, */
	func	cfa_expression
	nop
	.cfi_escape 0xf, 0x5, 0x77, 0, 0x6, 0x23, 0x8
	nop
	endfunc	cfa_expression

	func	ra_expression
	nop
	.cfi_escape 0x10, 0x10, 0x3, 0x77, 0, 0x6
	nop
	endfunc	ra_expression

	/* or by another SP or frame pointer */
	func	fp_undefined
	nop
	.cfi_undefined %rbp
	nop
	endfunc	fp_undefined

	func	fp_near_cfa
	nop
	.cfi_val_offset %rbp, -16
	nop
	endfunc	fp_near_cfa

	func	sp_elsewhere
	nop
	.cfi_register %rsp, %r10
	nop
	endfunc	sp_elsewhere

	/* CFI that SFrame need not express */
	func	other_expression
	nop
	.cfi_escape 0x10, 0xc, 0x5, 0x77, 0, 0x6, 0x23, 0x8
	nop
	endfunc	other_expression

	.section .note.GNU-stack, "", @progbits
