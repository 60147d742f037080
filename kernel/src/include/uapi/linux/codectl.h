/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
#ifndef _UAPI_LINUX_CODECTL_H
#define _UAPI_LINUX_CODECTL_H

/*
 * codectl(2): tell the kernel which code is mapped where, and how to unwind it.
 *
 *	long codectl(unsigned int option, void *info, size_t info_size,
 *		     unsigned int flags);
 *
 * The call acts on the address space of the calling process and needs no
 * privilege.  @flags must be 0.  @info_size is the size of the structure that
 * @info points to and versions it, as copy_struct_from_user() does: a field
 * that an older caller does not have reads as 0, and 0 is always the old
 * behaviour.
 *
 * Every field is read by the kernel and never written.  Addresses are
 * addresses in the caller's address space, lengths count bytes, and ranges are
 * half-open: [start, end).  A range that is empty, reversed, or outside user
 * space is refused with EINVAL unless its field says otherwise.
 *
 * Errors common to all options:
 *   EINVAL	unknown option or flag, @info_size below the VER0 size, a
 *		reserved field that is not 0, a bad range
 *   E2BIG	@info_size over a page, or a tail this kernel does not know that
 *		is not 0
 *   EFAULT	@info cannot be read
 *   EINTR	killed while waiting for the address space lock
 *   ENOSYS	no CONFIG_CODECTL, codectl=off, kernel.codectl is 0, or a task
 *		that is not 64-bit
 */

#include <linux/types.h>

/**
 * enum code_opt - first argument of codectl()
 * @CODE_UNREGISTER: drop one registration, &struct code_unregister_info
 * @CODE_REGISTER_ELF: register one executable segment of an object,
 *	&struct code_elf_info
 *
 * Values not listed here are not part of the ABI.
 */
enum code_opt {
	CODE_UNREGISTER		= 0,
	CODE_REGISTER_ELF	= 1,
};

/*
 * A flag bit that no option will ever accept: codectl() with it fails with
 * EINVAL where the system call exists, and with ENOSYS where it does not.
 */
#define CODE_FLAG_INVALID	0x80000000U

/**
 * struct code_elf_info - argument of CODE_REGISTER_ELF
 * @elf_start: lowest address of the object
 * @elf_end: end of the object; the ranges of two objects may overlap
 * @text_start: first byte of the executable segment
 * @text_end: end of the executable segment.  The text must be mapped and
 *	executable throughout (EINVAL) and must not overlap the text of another
 *	registration (EEXIST).  It is the key of the registration.
 * @sframe_start: the SFrame section that describes the text; it need not lie
 *	in the same file, nor in any file, and several registrations may share
 *	one.  Its header is read at once: EFAULT if it cannot be, EINVAL if it
 *	is malformed, EOPNOTSUPP for a version, ABI or flag that this kernel
 *	does not decode.
 * @sframe_end: end of the SFrame section.  @sframe_start and @sframe_end both
 *	0: the registration gives the text a name, and no unwind table.
 * @pathname: address of a NUL-terminated path, or 0.  Kept only where the
 *	kernel sees no file behind the object, and reported as a claim.
 *	ENAMETOOLONG without a NUL in PATH_MAX bytes.
 * @build_id: address of the build-id, or 0; kept and reported as @pathname is
 * @debug_link_pathname: address of a NUL-terminated .gnu_debuglink name, or 0
 * @build_id_len: bytes at @build_id, at most 20 (ENAMETOOLONG)
 * @debug_link_crc: CRC-32 of the .gnu_debuglink section
 * @unwind_format: one of &enum code_unwind_format (EOPNOTSUPP)
 * @__reserved: must be 0
 *
 * Further errors: ENOSPC at the limit of registrations of an address space
 * (kernel.codectl_max_regions), ENOMEM.
 */
struct code_elf_info {
	__aligned_u64	elf_start;
	__aligned_u64	elf_end;
	__aligned_u64	text_start;
	__aligned_u64	text_end;
	__aligned_u64	sframe_start;
	__aligned_u64	sframe_end;
	__aligned_u64	pathname;
	__aligned_u64	build_id;
	__aligned_u64	debug_link_pathname;
	__u32		build_id_len;
	__u32		debug_link_crc;
	/* VER1 */
	__u32		unwind_format;
	__u32		__reserved;
};

#define CODE_ELF_INFO_SIZE_VER0		80
#define CODE_ELF_INFO_SIZE_VER1		88

/**
 * enum code_unwind_format - format of an unwind table
 * @CODE_UNWIND_FORMAT_SFRAME: SFrame, which names its own version
 *
 * Values not listed here are not part of the ABI.
 */
enum code_unwind_format {
	CODE_UNWIND_FORMAT_SFRAME	= 0,
};

/**
 * struct code_unregister_info - argument of CODE_UNREGISTER
 * @text_start: first byte of the text
 * @text_end: end of the text; ENOENT unless a registration has exactly this
 *	range
 */
struct code_unregister_info {
	__aligned_u64	text_start;
	__aligned_u64	text_end;
};

#define CODE_UNREGISTER_INFO_SIZE_VER0	16

#endif /* _UAPI_LINUX_CODECTL_H */
