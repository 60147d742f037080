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

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * enum code_opt - first argument of codectl()
 * @CODE_UNREGISTER: drop one registration, &struct code_unregister_info
 * @CODE_REGISTER_ELF: register one executable segment of an object,
 *	&struct code_elf_info
 * @CODE_REGISTER_JIT: register a range that code is compiled into,
 *	&struct code_jit_info
 * @CODE_BATCH: make several calls in one, &struct code_batch
 * @CODE_ATTACH_FILE: give a file a table, in all processes, &struct code_file_info;
 *	returns a descriptor
 *
 * Values not listed here are not part of the ABI.
 */
enum code_opt {
	CODE_UNREGISTER		= 0,
	CODE_REGISTER_ELF	= 1,
	CODE_REGISTER_JIT	= 2,
	CODE_BATCH		= 3,
	CODE_ATTACH_FILE	= 4,
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
 * @text_end: end of the executable segment.  The text must be within the object
 *	(EINVAL), must be mapped and executable throughout (EINVAL), and must not
 *	overlap the text of another registration (EEXIST), unless that is an object's,
 *	too, and something was mapped over its text: then it is replaced.  It is the key
 *	of the registration.
 * @sframe_start: the SFrame section that describes the text; it need not be in the same
 *	file, nor in any file, and several registrations may share one.  What it says
 *	must not change while it is registered: unregister first.  Its header is read at
 *	once, unless %CODE_ELF_HEADER_LATER: EFAULT if it cannot be, EINVAL if it is
 *	malformed, EOPNOTSUPP for a version, ABI or flag that this kernel does not
 *	decode.
 * @sframe_end: end of the SFrame section.  @sframe_start and @sframe_end both
 *	0: the registration gives the text a name, and no unwind table.
 * @pathname: address of a NUL-terminated path, or 0.  Kept unless all of the text is
 *	mapped from one file, and reported as a claim.  ENAMETOOLONG if there is no NUL
 *	in PATH_MAX bytes.
 * @build_id: address of the build-id, or 0; kept and reported as @pathname is
 * @debug_link_pathname: address of a NUL-terminated .gnu_debuglink name, or 0
 * @build_id_len: bytes at @build_id, at most 20 (ENAMETOOLONG); 0 if there is none
 *	(EINVAL)
 * @debug_link_crc: CRC-32 of the .gnu_debuglink section; 0 without
 *	@debug_link_pathname (EINVAL)
 * @unwind_format: one of &enum code_unwind_format (EOPNOTSUPP)
 * @elf_flags: bits of &enum code_elf_flags (EINVAL)
 * @sframe_addr: for a section that is not where it was linked to be, as one from a file
 *	of debug information: the address that its first byte has in the object's own
 *	address space, plus the load bias of the object.  All offsets in the section
 *	count from there.  0: it is where it was linked to be.  Only with a section, and
 *	only if all of it would be in user space (EINVAL).
 *
 * Further errors: ENOSPC at the limit of registrations of an address space
 * (kernel.codectl_max_regions), or if the strings and build-ids that are kept for it
 * take 256 KiB; ENOMEM.
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
	__u32		elf_flags;
	/* VER2 */
	__aligned_u64	sframe_addr;
};

#define CODE_ELF_INFO_SIZE_VER0		80
#define CODE_ELF_INFO_SIZE_VER1		88
#define CODE_ELF_INFO_SIZE_VER2		96

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
 * enum code_elf_flags - @elf_flags of &struct code_elf_info
 * @CODE_ELF_HEADER_LATER: read the header of the section when a stack needs it, not
 *	now, so that a page that nobody else touches stays out of memory.  A header that
 *	would have been refused then counts as none: the text has no table.
 *
 * Values not listed here are not part of the ABI.
 */
enum code_elf_flags {
	CODE_ELF_HEADER_LATER	= 1U << 0,
};

/**
 * enum code_jit_flags - @jit_flags of &struct code_jit_info
 * @CODE_JIT_DEFAULT_RULE: the rule in &struct code_jit_info covers every
 *	address of the text that no row covers
 * @CODE_JIT_DESCENDING: rows are appended in decreasing order of address, including
 *	those of one function
 * @CODE_JIT_CALLSITE: rules are exact at call sites only; the caller of a frame
 *	that was interrupted elsewhere, by the kernel or by a signal, may be wrong
 * @CODE_JIT_GRANULES: the rows are in a granule map, not in a chain of tables, so that
 *	code can be placed, freed and moved in any order
 *
 * Values not listed here are not part of the ABI.
 */
enum code_jit_flags {
	CODE_JIT_DEFAULT_RULE	= 1U << 0,
	CODE_JIT_DESCENDING	= 1U << 1,
	CODE_JIT_CALLSITE	= 1U << 2,
	CODE_JIT_GRANULES	= 1U << 3,
};

/**
 * enum code_fre_info - @info of a row
 * @CODE_FRE_BASE_SP: the base register of the CFA is SP; without it, FP
 * @CODE_FRE_FP_SAVED: the caller's FP is at CFA + fp_off; without it and
 *	without @CODE_FRE_FP_UNDEF, FP still holds it
 * @CODE_FRE_OUTERMOST: there is no caller; the stack ends here, complete
 * @CODE_FRE_SIGNAL: what is found at CFA + ra_off is the address of an
 *	instruction that has yet to run, not a return address
 * @CODE_FRE_UNKNOWN: there is no rule; the stack ends here, truncated
 * @CODE_FRE_RA_REG: the return address is still in its register; topmost frame
 *	only, and not on x86
 * @CODE_FRE_FP_UNDEF: the caller's FP is lost
 * @CODE_FRE_SP_SAVED: the caller's SP is the word at the base register + cfa_off;
 *	ra_off and fp_off count from the base register.  The caller's stack may be
 *	another one.
 *
 * A row with a bit that is not listed here, or with @CODE_FRE_FP_SAVED and
 * @CODE_FRE_FP_UNDEF both, is read as %CODE_FRE_UNKNOWN.
 */
enum code_fre_info {
	CODE_FRE_BASE_SP	= 1U << 0,
	CODE_FRE_FP_SAVED	= 1U << 1,
	CODE_FRE_OUTERMOST	= 1U << 2,
	CODE_FRE_SIGNAL		= 1U << 3,
	CODE_FRE_UNKNOWN	= 1U << 4,
	CODE_FRE_RA_REG		= 1U << 5,
	CODE_FRE_FP_UNDEF	= 1U << 6,
	CODE_FRE_SP_SAVED	= 1U << 7,
};

/**
 * struct code_jit_unwind_fre - how to unwind from some bytes of code; a row
 * @size: bytes of code that the row covers; 0: retired, covers nothing, so that the
 *	default rule does if there is one.  May be set to 0, by one aligned store,
 *	whenever no thread has a frame in that code.
 * @ip_off: the first byte that it covers, counted from the start of the text
 * @cfa_off: CFA = base register + @cfa_off
 * @ra_off: the return address is at CFA + @ra_off
 * @fp_off: the caller's FP is at CFA + @fp_off, if %CODE_FRE_FP_SAVED.  All three
 *	count from the base register with %CODE_FRE_SP_SAVED
 * @info: bits of &enum code_fre_info
 * @__reserved: must be 0, else the row is read as %CODE_FRE_UNKNOWN
 *
 * All fields are written by user space and only read by the kernel, each by a single
 * aligned load, except for @info and @__reserved, which are read as one.  Once a row is
 * published, only its @size changes, except for what happens while @seq of &struct
 * code_jit_info is odd.  Any part of a row outside of the text is ignored.
 */
struct code_jit_unwind_fre {
	__u32	size;
	__u32	ip_off;
	__s32	cfa_off;
	__s32	ra_off;
	__s32	fp_off;
	__u8	info;
	__u8	__reserved[3];
};

#define CODE_JIT_UNWIND_FRE_SIZE	24

/**
 * struct code_jit_unwind_table - a table of rows that grows
 * @reserved_len: bytes available in @fre; set once, before the kernel can find
 *	the table
 * @used_len: bytes of @fre in use, counted in whole rows.  Stored with release
 *	after the rows; the kernel loads it with acquire before it reads them.
 * @next: address of the next table, aligned to 8, or 0.  Stored once, with
 *	release, when this table takes no more rows and the next one has its
 *	first.
 * @fre: the rows, in the declared order of @ip_off, retired ones included; they
 *	do not overlap.  Of rows with the same @ip_off only one may cover
 *	anything: the last of them in ascending order, the first in descending.
 *
 * The table is aligned to 8.  All rows of @next come after all rows here, in
 * the declared order, and with another @ip_off, retired or not.  An address
 * after a place where they do not, or after %CODE_JIT_MAX_TABLES tables, has
 * no rule: the stack ends there, truncated.
 *
 * There is one writer at a time.  Code may be reached once @used_len covers its
 * rows, and not before.
 */
struct code_jit_unwind_table {
	__aligned_u64	reserved_len;
	__aligned_u64	used_len;
	__aligned_u64	next;
	struct code_jit_unwind_fre fre[];
};

#define CODE_JIT_MAX_TABLES	64

/**
 * struct code_jit_record - a function in a granule map
 * @seq: odd while the record changes: incremented before, with a write barrier after
 *	it, and incremented with release afterwards.  The kernel loads it with acquire
 *	before it reads the rest, and again afterwards: if it was odd, or it or the
 *	slot has changed, it tries once more, and then truncates the stack.
 * @start: the first byte of the function, counted from the start of the text
 * @len: bytes of it
 * @nr: rows in @fre
 * @code_id: the owner's number of the function, never used for another one in the
 *	process; 0: it has none.  User stacks in the trace have it.
 * @fre: the rows, in increasing order of @ip_off; they do not overlap, and any part of
 *	them outside of the function is ignored
 *
 * A granule map says for each granule of the text, which is 1 << @granule_shift bytes
 * of it, which function is there; no two share one.  Its slot, a __u32 that is aligned
 * to 4, is 0, or where the record of the function begins, counted from the start of the
 * pool in units of %CODE_JIT_RECORD_ALIGN bytes.  No record begins at the start of
 * the pool.
 *
 * To publish a function, write its record, and then its slots, each by one store with
 * release; then its code may be reached.  To retire it, store 0 in its slots when no
 * thread has a frame in it.  From then on its record may be reused; before its memory
 * becomes part of one that begins elsewhere, a write barrier must follow that 0.  At
 * one place of the pool @seq must not have a value again before 2^31 - 1 others.  A
 * record that is not within the pool as a whole is none: the stack ends there,
 * truncated.
 */
struct code_jit_record {
	__u32		seq;
	__u32		start;
	__u32		len;
	__u32		nr;
	__aligned_u64	code_id;
	struct code_jit_unwind_fre fre[];
};

#define CODE_JIT_RECORD_ALIGN	8
#define CODE_JIT_MIN_SHIFT	4
#define CODE_JIT_MAX_SHIFT	12

/**
 * struct code_jit_info - argument of CODE_REGISTER_JIT
 * @text_start: first byte of the range that code is compiled into
 * @text_end: end of that range.  At most 4 GiB, mapped throughout, with any
 *	protection (EINVAL); it must not overlap the text of another registration
 *	(EEXIST).  It is the key of the registration.
 * @unwind_head: address of the first &struct code_jit_unwind_table, aligned to
 *	8 (EINVAL); 0 only with %CODE_JIT_DEFAULT_RULE, and always with
 *	%CODE_JIT_GRANULES (EINVAL).  Not read at registration.
 * @jit_flags: bits of &enum code_jit_flags (EINVAL)
 * @fre_size: bytes in a row; 0: 24 (EOPNOTSUPP)
 * @seq: 0, or the address of a __u32, aligned to 4 (EINVAL), that is odd while tables
 *	are rewritten: incremented before, with a write barrier after it, and
 *	incremented with release afterwards.  In between anything may change but the
 *	address of the first table.  Appending and retiring need none of it.  The kernel
 *	loads it with acquire before it reads a table, and again afterwards: if it was
 *	odd or has changed, it tries once more, and then truncates the stack.  0 with
 *	%CODE_JIT_GRANULES (EINVAL)
 * @cfa_off: as in &struct code_jit_unwind_fre; this and the following fields
 *	are the default rule, and must be 0 without %CODE_JIT_DEFAULT_RULE
 *	(EINVAL)
 * @ra_off: as in &struct code_jit_unwind_fre
 * @fp_off: as in &struct code_jit_unwind_fre
 * @info: as in &struct code_jit_unwind_fre; what makes a row unknown is refused
 *	here (EINVAL)
 * @__reserved: must be 0
 * @slots: address of the slots of a granule map, one for each granule of the text, of
 *	which the last may be partial; aligned to 4, and all in user space (EINVAL).
 *	This and the following fields are 0 without %CODE_JIT_GRANULES (EINVAL).
 * @pool: address of the pool that its records are in, aligned to 8 (EINVAL)
 * @pool_len: bytes of the pool, all in user space; room for at least a record without
 *	rows (EINVAL)
 * @granule_shift: binary logarithm of the bytes of a granule, from
 *	%CODE_JIT_MIN_SHIFT to %CODE_JIT_MAX_SHIFT (EINVAL)
 * @__reserved2: must be 0 (EINVAL)
 *
 * Once the range is registered, code is published without a system call: by appending
 * rows, or by storing slots.  Neither slots nor pool are read at registration.  A stack
 * ends, truncated, at an address that neither a row nor a default rule covers; frame
 * pointers are not tried.  With a default rule every address is covered, and no signal
 * frame is recognised there: a restorer has to be elsewhere.  When any page of the text
 * is unmapped, the whole registration goes.  Further errors: ENOSPC, ENOMEM, as for
 * CODE_REGISTER_ELF.
 */
struct code_jit_info {
	__aligned_u64	text_start;
	__aligned_u64	text_end;
	__aligned_u64	unwind_head;
	/* VER1 */
	__u32		jit_flags;
	__u32		fre_size;
	__aligned_u64	seq;
	__s32		cfa_off;
	__s32		ra_off;
	__s32		fp_off;
	__u8		info;
	__u8		__reserved[3];
	/* VER2 */
	__aligned_u64	slots;
	__aligned_u64	pool;
	__aligned_u64	pool_len;
	__u32		granule_shift;
	__u32		__reserved2;
};

#define CODE_JIT_INFO_SIZE_VER0		24
#define CODE_JIT_INFO_SIZE_VER1		56
#define CODE_JIT_INFO_SIZE_VER2		88
#define CODE_JIT_MAX_TEXT		0x100000000ULL

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

/**
 * struct code_batch_entry - a call in a batch
 * @option: one of &enum code_opt, except CODE_BATCH (EINVAL)
 * @info_size: size of the structure at @info, as the argument of codectl()
 * @info: address of the structure for @option
 */
struct code_batch_entry {
	__u32		option;
	__u32		info_size;
	__aligned_u64	info;
};

#define CODE_BATCH_ENTRY_SIZE		16
#define CODE_BATCH_MAX			1024

/**
 * struct code_batch - argument of CODE_BATCH
 * @entries: address of an array of &struct code_batch_entry
 * @nr: entries in it, at most %CODE_BATCH_MAX (EINVAL)
 * @__reserved: must be 0
 *
 * The entries are carried out in order, each as if it were called by itself, up to the
 * first that fails.  codectl() returns how many were carried out or, if the first one
 * fails, its error.  What the caller does in another thread, and lookups, may come
 * between any two entries.  An entry may be read before those ahead of it are carried
 * out.
 */
struct code_batch {
	__aligned_u64	entries;
	__u32		nr;
	__u32		__reserved;
};

#define CODE_BATCH_SIZE_VER0		16

/**
 * struct code_file_segment - text of a file, as in a program header
 * @offset: where in the file it begins
 * @len: bytes of it there, not 0
 * @vaddr: link-time address of the first of them
 */
struct code_file_segment {
	__aligned_u64	offset;
	__aligned_u64	len;
	__aligned_u64	vaddr;
};

#define CODE_FILE_SEGMENT_SIZE		24
#define CODE_FILE_MAX_SEGMENTS		64

/**
 * struct code_file_info - argument of CODE_ATTACH_FILE
 * @fd: the file, a regular one (EINVAL) that is open for reading (EBADF)
 * @unwind_format: one of &enum code_unwind_format (EOPNOTSUPP)
 * @table: address of the SFrame section that describes its text, which the kernel
 *	copies.  All of it is checked: EFAULT if it cannot be read, EINVAL if any of it
 *	is malformed or its FDEs are not sorted, EOPNOTSUPP for a version, ABI, flag or
 *	encoding that this kernel does not decode, ENODATA if there is no function.
 * @table_len: bytes of it
 * @table_addr: link-time address of its first byte; all offsets in it count from there
 * @segments: address of an array of &struct code_file_segment, one for each
 *	executable segment
 * @nr_segments: entries in it, from 1 to %CODE_FILE_MAX_SEGMENTS (EINVAL)
 * @__reserved: must be 0
 *
 * Needs CAP_PERFMON in the initial user namespace (EPERM).  Returns a descriptor with
 * O_CLOEXEC; the table is gone with the last reference to that.  It covers what is
 * mapped from the file in every address space, now or later, including those of
 * containers that share the file by overlayfs.  If a process has registered a table of
 * its own, this one is used.  No process can remove it by unregistering.  Text that
 * something else is mapped over is not covered.
 *
 * A file that is written to or truncated, mapped shared for writing, or whose
 * attributes are set, loses its table, as the descriptor's fdinfo and the trace report.
 *
 * Further errors: EEXIST if the file has a table, EAGAIN if it was written to
 * meanwhile, ETXTBSY if it is mapped shared for writing, so that writes would go
 * unnoticed, ENOSPC if all tables take more than kernel.codectl_attached_kb, E2BIG if
 * this one has too many different rules, or few rows for a great deal of text, EINTR,
 * ENOMEM, EMFILE, ENFILE.
 */
struct code_file_info {
	__s32		fd;
	__u32		unwind_format;
	__aligned_u64	table;
	__aligned_u64	table_len;
	__aligned_u64	table_addr;
	__aligned_u64	segments;
	__u32		nr_segments;
	__u32		__reserved;
};

#define CODE_FILE_INFO_SIZE_VER0	48

/*
 * struct code_query::query_flags
 *
 * CODE_QUERY_OR_NEXT	if nothing covers the address, the next registration
 *			above it
 * CODE_QUERY_FILE	fill in file_id, dev_major, dev_minor, inode, file_offset
 *			and names; a buffer for a path or a build-id asks for
 *			them as well
 * CODE_QUERY_WAIT	if a build-id has to be read from a file of another
 *			process, wait for that, as a read() of it would:
 *			forever if its file system is one that a process
 *			serves, and not to be killed once that has taken the
 *			request; without it, it is found if it is in memory
 */
#define CODE_QUERY_OR_NEXT	0x1
#define CODE_QUERY_FILE		0x2
#define CODE_QUERY_WAIT		0x4

/*
 * struct code_query::names: who says what the path and the build-id are
 *
 * CODE_NAMES_NONE	nobody
 * CODE_NAMES_VERIFIED	the kernel, which read them from the file that all of
 *			the text is mapped from, in one piece
 * CODE_NAMES_CLAIMED	otherwise: the registrant or, if that gave none,
 *			the file mapped at elf_start.  Nobody has checked that
 *			the code is of that file.
 */
#define CODE_NAMES_NONE		0
#define CODE_NAMES_VERIFIED	1
#define CODE_NAMES_CLAIMED	2

/**
 * struct code_query - argument of the ioctl CODE_QUERY on /proc/PID/codectl
 * @size: in: size of the structure, which versions it as @info_size does for
 *	codectl()
 * @query_flags: in: CODE_QUERY_*
 * @query_addr: in: the address
 * @text_start: out: as registered
 * @text_end: out: as registered
 * @elf_start: out: as registered; 0 for compiled code
 * @elf_end: out: as registered; 0 for compiled code
 * @sframe_start: out: as registered; 0 for compiled code
 * @sframe_end: out: as registered; 0 for compiled code
 * @unwind_head: out: as registered; 0 for an ELF object
 * @seq: out: as registered; 0 for an ELF object
 * @slots: out: as registered; 0 without a granule map
 * @pool: out: as registered; 0 likewise
 * @pool_len: out: as registered; 0 likewise
 * @kind: out: CODE_REGISTER_ELF or CODE_REGISTER_JIT
 * @jit_flags: out: as registered
 * @cfa_off: out: as registered, of the default rule
 * @ra_off: out: as registered, of the default rule
 * @fp_off: out: as registered, of the default rule
 * @info: out: as registered, of the default rule
 * @granule_shift: out: as registered; 0 without a granule map
 * @__reserved: in: must be 0
 * @id: out: of the registration, unlike that of any other registration or file since
 *	boot; a copy made by fork() has the same
 * @file_id: out: of the file, as in user stacks in the trace; 0 unless @names is
 *	%CODE_NAMES_VERIFIED
 * @inode: out: inode number, as in /proc/PID/maps.  If @names is %CODE_NAMES_CLAIMED,
 *	that of the file that the text was mapped from when it was registered, if it is
 *	still mapped at @elf_start; 0 otherwise
 * @dev_major: out: major number of the device, as in /proc/PID/maps
 * @dev_minor: out: minor number of the device
 * @file_offset: out: offset of the text in the file that has @inode
 * @names: out: CODE_NAMES_*
 * @debug_link_crc: out: as registered, if @names is %CODE_NAMES_CLAIMED
 * @path_size: in: bytes at @path_addr; out: bytes used, with the NUL, 0 for
 *	no path
 * @build_id_size: in: bytes at @build_id_addr; out: bytes used, 0 for none
 * @debug_link_size: in: bytes at @debug_link_addr; out: bytes used, with the
 *	NUL, 0 for none
 * @__reserved2: in: must be 0
 * @path_addr: in: where to store the path, or 0 with a @path_size of 0
 * @build_id_addr: in: where to store the build-id, or 0 likewise
 * @debug_link_addr: in: where to store the debug link, or 0 likewise
 *
 * All of it is one registration as it was at one moment.  Errors: EINVAL for a @size
 * below %CODE_QUERY_SIZE_VER0, an unknown flag, a reserved field that is not 0, a
 * buffer without size or a size without buffer; E2BIG as for codectl(); EFAULT; ENOENT
 * if there is no such registration; ENAMETOOLONG if a buffer is too small, as
 * PROCMAP_QUERY; ESRCH when the process is gone, or has executed another program since
 * the file was opened; ENOTTY on a kernel without it.  The size in the number of the
 * ioctl is ignored, so that older kernels know a longer structure, too.
 */
struct code_query {
	__aligned_u64	size;
	__aligned_u64	query_flags;
	__aligned_u64	query_addr;
	__aligned_u64	text_start;
	__aligned_u64	text_end;
	__aligned_u64	elf_start;
	__aligned_u64	elf_end;
	__aligned_u64	sframe_start;
	__aligned_u64	sframe_end;
	__aligned_u64	unwind_head;
	__aligned_u64	seq;
	__aligned_u64	slots;
	__aligned_u64	pool;
	__aligned_u64	pool_len;
	__u32		kind;
	__u32		jit_flags;
	__s32		cfa_off;
	__s32		ra_off;
	__s32		fp_off;
	__u8		info;
	__u8		granule_shift;
	__u8		__reserved[2];
	__aligned_u64	id;
	__aligned_u64	file_id;
	__aligned_u64	inode;
	__u32		dev_major;
	__u32		dev_minor;
	__aligned_u64	file_offset;
	__u32		names;
	__u32		debug_link_crc;
	__u32		path_size;
	__u32		build_id_size;
	__u32		debug_link_size;
	__u32		__reserved2;
	__aligned_u64	path_addr;
	__aligned_u64	build_id_addr;
	__aligned_u64	debug_link_addr;
};

#define CODE_QUERY_SIZE_VER0	224

/* 'f' is that of /proc, where 16 and 17 are PAGEMAP_SCAN and PROCMAP_QUERY. */
#define CODE_QUERY		_IOWR('f', 18, struct code_query)

#endif /* _UAPI_LINUX_CODECTL_H */
