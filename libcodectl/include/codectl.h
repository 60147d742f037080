/* SPDX-License-Identifier: MIT */
#ifndef CODECTL_H
#define CODECTL_H

/*
 * libcodectl: make code that is compiled at run time unwindable by the kernel.
 *
 * A program opens a region over the addresses that its code will get, and then tells
 * the library how to unwind each function, before the function can run.  That takes
 * some stores to memory of the program; no system call, no lock, no allocation.
 *
 * Functions that return int return 0, or a negative error number; errno is not used.
 * Addresses are uint64_t, lengths count bytes.  On a kernel without codectl(2)
 * everything works, including codectl_lookup() and names; only the kernel does not
 * know.  codectl_probe() tells which.
 *
 * Threads: a region has one writer at a time; if several threads make calls that take
 * the same region, they need the caller's lock.  Regions are independent, and share no
 * cache line that publishing writes; functions that are added out of order, and names
 * while they are written to a file, take turns.  fork(): both processes continue with
 * the region, each with its own copy.  pthread_atfork() handlers that take locks which
 * are held around calls of the library must be registered after it is loaded.  A child
 * of _Fork(), or of clone() without the C library, must not call the library.
 */

#include <stddef.h>
#include <stdint.h>

/* A table ends in an array of unknown length. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#if __has_include("linux/codectl.h")
#include <linux/codectl.h>
#else
/* The library's copy, if the kernel headers are older. */
#include <codectl/linux/codectl.h>
#endif
#pragma GCC diagnostic pop

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct codectl_region;

/* --- the system call */

/*
 * Does the kernel have codectl(2)?  0, or the error that says why not:
 * -ENOSYS, -EPERM under a filter of system calls.  Async-signal-safe.
 */
int codectl_probe(void);

/*
 * codectl(2) itself: its result or a negative error number.  Async-signal-safe.
 */
int codectl_syscall(unsigned int option, const void *info, size_t info_size,
		    unsigned int flags);

/*
 * For custom loaders: register every executable segment of an ELF object that has been
 * mapped, with its SFrame section if it has one.  @phdr points to its @phnum 64-bit
 * program headers, @bias is what was added to the addresses in them.  All or nothing.
 * Without codectl(2): 0.  -EEXIST if the dynamic linker or the kernel has registered
 * the object.
 */
int codectl_elf_register(const void *phdr, size_t phnum, uint64_t bias);

/*
 * Undo codectl_elf_register(), before the object is unmapped.
 */
int codectl_elf_unregister(const void *phdr, size_t phnum, uint64_t bias);

/* --- regions */

/* Functions may be added anywhere in the region, not only after the others. */
#define CODECTL_REGION_REWRITE	0x1
/* There is only the default rule: functions have only names. */
#define CODECTL_REGION_NO_ROWS	0x2
/* Functions come and go anywhere, independently: rows are in a granule map. */
#define CODECTL_REGION_GRANULES	0x4

/**
 * struct codectl_region_attr - how a region is opened; zero is a good start
 * @flags: %CODECTL_REGION_REWRITE: codectl_region_add() may put functions anywhere, for
 *	example where code has been freed, and rows may be compacted.  Without it
 *	functions are added in order of address only.
 *	%CODECTL_REGION_NO_ROWS, by itself, with %CODE_JIT_DEFAULT_RULE: the
 *	kernel has no rows to look for, and functions are added, in any order, for
 *	their names.
 *	%CODECTL_REGION_GRANULES, by itself: for heaps that place and free code
 *	anywhere.  Functions are added and retired in any order, at a cost that does not
 *	depend on the others, and without affecting any stack but theirs.  No two
 *	functions may share a granule (-EEXIST).
 * @jit_flags: bits of &enum code_jit_flags
 * @default_rule: with %CODE_JIT_DEFAULT_RULE in @jit_flags, the rule for all code that
 *	no row covers; its @size and @ip_off are not used
 * @max_rows: rows to reserve space for, and with %CODECTL_REGION_GRANULES one more for
 *	each function; a function with more than 4 rows takes up to half as many again,
 *	and what it has had is reused for others that take as many.  0: one for 8 bytes
 *	of text, or what %CODE_JIT_MAX_TABLES tables hold.  The space is address space,
 *	which becomes memory as it is used; under mlockall(%MCL_FUTURE), or without
 *	overcommit, it is memory at once, and should be as small as possible.
 * @table_rows: rows in one table; 0: all of them.  At most
 *	%CODE_JIT_MAX_TABLES tables can be chained (-EINVAL), and a function that
 *	is appended does not go into two.
 * @name_bytes: space for names, which is reserved like that for rows, as is an index of
 *	4 bytes for 64 of text; 0: twice as much as the text; 1: none.  Until its
 *	function is retired, a name takes its length plus 21 bytes, rounded up to a
 *	power of two, at least 32.  If there is no contiguous space, it is not kept;
 *	codectl_region_compact() joins what is free.
 * @granule_shift: with %CODECTL_REGION_GRANULES, binary logarithm of the bytes of a
 *	granule: %CODE_JIT_MIN_SHIFT, as for 0, to %CODE_JIT_MAX_SHIFT.  A granule
 *	with code takes 8 bytes.
 * @__reserved2: 0
 * @__reserved: 0
 */
struct codectl_region_attr {
	uint32_t flags;
	uint32_t jit_flags;
	const struct code_jit_unwind_fre *default_rule;
	uint64_t max_rows;
	uint64_t table_rows;
	uint64_t name_bytes;
	uint32_t granule_shift;
	uint32_t __reserved2;
	uint64_t __reserved[3];
};

/**
 * codectl_region_open() - open a region over addresses that code will get
 * @text: the first address, mapped throughout, with any protection
 * @len: at most 4 GiB
 * @attr: attributes, or NULL
 * @regionp: where to store the region
 *
 * If the kernel has dropped another region over some of the addresses, as their text
 * was unmapped, this one takes its place: then the other one refuses everything with
 * -ESTALE.
 *
 * Return: 0, -EINVAL, -ENOMEM, -EEXIST if the addresses overlap a registration,
 * -ENOSPC at the kernel's limit of registrations.
 */
int codectl_region_open(const void *text, size_t len,
			const struct codectl_region_attr *attr,
			struct codectl_region **regionp);

/**
 * codectl_region_close() - unregister a region and free its rows
 * @region: the region, or NULL
 *
 * Call it before its text is unmapped or used for something else: when any page of it
 * is unmapped or moved, the kernel drops the whole region.
 */
void codectl_region_close(struct codectl_region *region);

/**
 * codectl_region_add() - publish a function
 * @region: the region
 * @start: address of its first byte
 * @len: its length, less than 4 GiB
 * @rows: how it is unwound, sorted by @ip_off, in increasing order whichever way the
 *	region grows; here @ip_off counts from @start
 * @nr: number of rows; 0 if the default rule is right for all of the function, which
 *	then gets a row with that, or none in a region without rows
 * @name: its name, for people, or NULL.  1000 bytes are kept, and control characters
 *	become blanks.
 *
 * When this returns the kernel can unwind the function: let the code be reached only
 * then.  There is no system call, no lock and no allocation if the function comes after
 * all that the region has, in its direction, and nobody wants names.  Otherwise the
 * region needs %CODECTL_REGION_REWRITE; then rows are moved, and stacks that are taken
 * just then may end early.  With %CODECTL_REGION_GRANULES there is none of the former,
 * wherever the function is.
 *
 * Return: 0, -EINVAL if the rows are unsorted, overlap or leave the function, or it
 * leaves the region, or it comes out of order in a region that cannot be rewritten, or
 * has rows in one without; -EEXIST if there are rows in it that have not been retired,
 * or in one of its granules (a name merely replaces others that begin there); -ENOSPC
 * if there is no space for rows; -ESTALE, see codectl_region_open().  On any error
 * nothing has changed.
 */
int codectl_region_add(struct codectl_region *region, uint64_t start,
		       uint64_t len, const struct code_jit_unwind_fre *rows,
		       unsigned int nr, const char *name);

/**
 * codectl_region_retire() - withdraw the functions in a range
 * @region: the region
 * @start: address of the first byte
 * @len: length of the range
 *
 * Call it when no thread has a frame there, and before the addresses get other code.
 * No system call, no lock and no allocation, as long as nobody traces names.
 *
 * Return: how many rows were retired, or names in a region without rows; -EINVAL
 * if the range cuts a row, or in a granule map a function, or leaves the region;
 * -ESTALE as above.
 */
int codectl_region_retire(struct codectl_region *region, uint64_t start,
			  uint64_t len);

/**
 * codectl_region_compact() - reuse the space of retired rows and names
 * @region: a region with one of the flags CODECTL_REGION_*
 *
 * What is then not needed goes back to the system.  Only with %CODECTL_REGION_REWRITE
 * are rows moved: stacks that are taken meanwhile may end early.
 *
 * Return: 0, or -EINVAL.
 */
int codectl_region_compact(struct codectl_region *region);

/**
 * struct codectl_region_stat - what a region contains
 * @rows: rows that cover something
 * @rows_used: rows, retired ones included; in a granule map one more for each function
 * @rows_max: rows that there is space for, including functions of a granule map
 * @tables: tables in the chain
 * @names: names kept
 * @names_lost: names that found no space
 * @registered: whether the kernel still knows the region
 */
struct codectl_region_stat {
	uint64_t rows;
	uint64_t rows_used;
	uint64_t rows_max;
	uint64_t tables;
	uint64_t names;
	uint64_t names_lost;
	uint32_t registered;
	uint32_t __reserved[9];
};

/**
 * codectl_region_stat() - report what a region contains
 * @region: the region
 * @stat: where to store it
 *
 * Takes time in proportion to its rows, the library's lock, and a system call or two:
 * for @registered it asks the kernel to register something in the region's place.
 */
void codectl_region_stat(const struct codectl_region *region,
			 struct codectl_region_stat *stat);

/* --- rows */

/**
 * struct codectl_builder - turns what an emitter does to the stack into rows
 *
 * After each instruction that changes where the caller's values are, the emitter says
 * what it did; offsets count from the start of the function.  It has no memory but the
 * caller's, and may be copied.
 */
struct codectl_builder {
	struct code_jit_unwind_fre *rows;
	uint32_t max;
	uint32_t nr;
	int32_t error;
	uint32_t word;
	struct code_jit_unwind_fre now;
	struct code_jit_unwind_fre saved;
	int32_t sp_off;
	int32_t saved_sp_off;
	uint32_t __reserved[4];
};

/* At the entry of a function that was called: CFA = SP + 8. */
void codectl_build_start(struct codectl_builder *b,
			 struct code_jit_unwind_fre *rows, uint32_t max);
/* Before @off a word was pushed, or SP was lowered by @bytes (raised: negative). */
void codectl_build_push(struct codectl_builder *b, uint32_t off);
void codectl_build_adjust(struct codectl_builder *b, uint32_t off,
			  int32_t bytes);
/* Before @off the caller's FP was pushed, or popped. */
void codectl_build_push_fp(struct codectl_builder *b, uint32_t off);
void codectl_build_pop_fp(struct codectl_builder *b, uint32_t off);
/*
 * Before @off the caller's FP was stored at SP + @sp_off, or loaded from there:
 * "mov %rbp, sp_off(%rsp)".
 */
void codectl_build_store_fp(struct codectl_builder *b, uint32_t off,
			    int32_t sp_off);
void codectl_build_load_fp(struct codectl_builder *b, uint32_t off);
/*
 * From @off on FP is the base: "mov %rsp, %rbp".  If the caller's was not saved
 * before, it is lost.
 */
void codectl_build_set_fp(struct codectl_builder *b, uint32_t off);
/* From @off on FP has the caller's value: "leave". */
void codectl_build_leave(struct codectl_builder *b, uint32_t off);
/* From @off on the caller's FP is lost. */
void codectl_build_fp_undef(struct codectl_builder *b, uint32_t off);
/*
 * An epilogue begins here; after it, at the offset given to codectl_build_resume(),
 * everything is as it is now.
 */
void codectl_build_save(struct codectl_builder *b);
void codectl_build_resume(struct codectl_builder *b, uint32_t off);
/*
 * The function ends at @len.  Return: the number of rows, -ENOSPC if they did not fit,
 * -EINVAL if offsets decreased or the stack went above its CFA, or FP was not what a
 * call says: pushed when it was not the caller's, popped when it was not on top of the
 * stack, left when it was not the base or does not point to where the caller's was
 * saved, lost or loaded when it was the base.
 */
int codectl_build_end(struct codectl_builder *b, uint32_t len);

/**
 * struct codectl_shape - a function of a usual shape
 * @len: its length
 * @frame: SP is @frame bytes lower in the body than at the entry
 * @prologue: offset after the instruction that lowers it
 * @rets: offsets of the one-byte "ret" instructions, in increasing order
 * @nr_rets: number of @rets
 * @__reserved: 0
 *
 * codectl_rows_leaf(): no frame, SP never changes.  codectl_rows_sp(): one instruction
 * at the end of the prologue allocates @frame bytes, and the instruction right before
 * each "ret" frees them.  codectl_rows_fp(): "push %rbp; mov %rsp, %rbp" at the entry,
 * optionally after an "endbr64", and "leave" or "pop %rbp" right before each "ret";
 * @frame is not used, @prologue is the offset after the "mov".
 */
struct codectl_shape {
	uint32_t len;
	uint32_t frame;
	uint32_t prologue;
	uint32_t nr_rets;
	const uint32_t *rets;
	uint64_t __reserved[2];
};

/* Return: the number of rows, or as codectl_build_end(). */
int codectl_rows_leaf(const struct codectl_shape *shape,
		      struct code_jit_unwind_fre *rows, uint32_t max);
int codectl_rows_sp(const struct codectl_shape *shape,
		    struct code_jit_unwind_fre *rows, uint32_t max);
int codectl_rows_fp(const struct codectl_shape *shape,
		    struct code_jit_unwind_fre *rows, uint32_t max);

/* --- what compilers emit */

struct codectl_eh_frame;

/**
 * codectl_eh_frame_add() - publish the functions that an .eh_frame describes
 * @section: the section, in memory; see LSB 5.0, 10.6
 * @len: its length; 0: it ends with a length of 0, as for __register_frame()
 * @framep: where to store the argument of codectl_eh_frame_remove()
 *
 * When this returns the kernel can unwind them.  Their text must already be mapped,
 * with any protection.  The section is not needed afterwards.  An entry that gives no
 * rule, as one without a CFA, is left out; where a rule is an expression, stacks end.
 * Functions that are apart, with something in between that is not mapped or belongs to
 * another region, get several regions, which are opened as by codectl_region_open().
 * Allocates memory; takes longer the more functions there are.
 *
 * Return: 0, -EINVAL if the section is malformed, -ENODATA if it has no rules, -ENOMEM,
 * or, if none of it could be covered, the error of codectl_region_open().
 */
int codectl_eh_frame_add(const void *section, size_t len,
			 struct codectl_eh_frame **framep);

/**
 * codectl_debug_frame_add() - the same for a .debug_frame
 * @section: the section, in memory, fully relocated; see DWARF 5, 6.4.1
 * @len: its length
 * @framep: as for codectl_eh_frame_add()
 *
 * Return: as codectl_eh_frame_add().
 */
int codectl_debug_frame_add(const void *section, size_t len,
			    struct codectl_eh_frame **framep);

/**
 * codectl_fde_add() - the same for one entry (FDE) of an .eh_frame
 * @fde: the entry, in memory, as LLVM's __register_frame() takes it; its CIE is before
 *	it
 * @framep: as for codectl_eh_frame_add()
 *
 * Return: as codectl_eh_frame_add(); -EINVAL if it is a CIE.
 */
int codectl_fde_add(const void *fde, struct codectl_eh_frame **framep);

/**
 * codectl_eh_frame_remove() - withdraw the functions of an .eh_frame
 * @frame: what codectl_eh_frame_add(), or one of the others, stored, or NULL
 *
 * Call it before their text is unmapped or used for something else.
 */
void codectl_eh_frame_remove(struct codectl_eh_frame *frame);

/* --- looking up */

#define CODECTL_RULE_DEFAULT	0x1	/* no row covers it: the default rule */
#define CODECTL_RULE_CALLSITE	0x2	/* exact at call sites only */

/**
 * struct codectl_rule - how to unwind from an address
 * @start: the first address that the row covers
 * @size: bytes that it covers
 * @cfa_off: see &struct code_jit_unwind_fre
 * @ra_off: see &struct code_jit_unwind_fre
 * @fp_off: see &struct code_jit_unwind_fre
 * @info: bits of &enum code_fre_info
 * @flags: CODECTL_RULE_*
 */
struct codectl_rule {
	uint64_t start;
	uint32_t size;
	int32_t cfa_off;
	int32_t ra_off;
	int32_t fp_off;
	uint32_t info;
	uint32_t flags;
	uint64_t __reserved[2];
};

/**
 * codectl_lookup() - find the rule for an address, as the kernel does
 * @ip: the address; for a return address, that of the byte before it
 * @rule: where to store the rule
 *
 * Searches the regions of this process.  Async-signal-safe.
 *
 * Return: 0, -ENOENT if no region covers the address, -ENODATA if one does but no row
 * does, -EAGAIN if its rows were being rewritten.
 */
int codectl_lookup(uint64_t ip, struct codectl_rule *rule);

/* --- names */

/**
 * codectl_perf_map() - write /tmp/perf-PID.map, where perf looks for names
 * @on: whether to
 *
 * When switched on, it first writes what has been published and not retired.  A child
 * that publishes something after fork() writes its own.  Only the owner can read the
 * file; what an earlier process with this PID left in it is removed, what other parts
 * of this process write stays.
 *
 * Names are no longer written once the file is as large as it may get.
 * Return: 0, or the error of opening or writing the file; -EPERM if it belongs to
 * another user or has several names.
 * user's or has several names.
 */
int codectl_perf_map(int on);

/* In the word: names are wanted; call codectl_names_poll(). */
#define CODECTL_NAMES_POLL	0x90000000U

/**
 * enum codectl_name_action - what a record of the user event codectl_name says
 * @CODECTL_NAME_ADD: the function @name is at @start, and has @len bytes
 * @CODECTL_NAME_RETIRE: no function is in the @len bytes at @start any more
 * @CODECTL_NAME_BEGIN: forget the names that @copy has reported: all will be reported
 * @CODECTL_NAME_END: that was all, @len names
 *
 * @copy is the number of the reporting copy of the library in process @pid: a process
 * may have several, each with names of its own, and so has a child of fork().  @id is
 * the number of the name, which no other name of that copy has and which is the same
 * each time it is reported; where a replay begins and ends, it is the number of the
 * replay.
 */
enum codectl_name_action {
	CODECTL_NAME_ADD	= 0,
	CODECTL_NAME_RETIRE	= 1,
	CODECTL_NAME_BEGIN	= 2,
	CODECTL_NAME_END	= 3,
};

/**
 * codectl_names_event() - report names to tracers, by the user event codectl_name
 * @on: whether to
 *
 * Registers the event, which ftrace and perf then know as user_events:codectl_name.
 * Nothing is reported, and nothing is called, until one of them enables it: then the
 * next call of codectl_region_add(), codectl_region_retire() or codectl_names_poll()
 * reports all that has been published and not retired, and afterwards what is published
 * and retired.  For each further tracer everything is reported once more, and if perf
 * is one, two seconds later, too: it opens an event before it listens.
 *
 * Call it in a thread that stays, before others are started: the kernel drops the
 * registration with the last of that thread and its descendants.  A child of fork()
 * reports its own names, an exec() ends it.
 *
 * Return: 0, or the error of opening the file of user events or of registering: -ENOENT
 * without tracefs or user events, -EACCES without permission, and -EADDRINUSE if others
 * have an event of this name with other fields.
 */
int codectl_names_event(int on);

/**
 * codectl_names_poll() - report names, if somebody asks
 *
 * For places that a thread reaches every now and then, so that names are reported even
 * if nothing is published.  As long as nobody asks, it only tests the word.
 */
void codectl_names_poll(void);

/**
 * codectl_names_word() - get the word that codectl_names_poll() tests
 *
 * For compiled code, which can test %CODECTL_NAMES_POLL itself and call
 * codectl_names_poll() if a bit of it is set.  The kernel sets and clears bit 31,
 * the library bits 28 to 31.  The others are left alone: tracers in the process
 * may have them.
 *
 * Return: the address of the word, which does not change.
 */
uint32_t *codectl_names_word(void);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* CODECTL_H */
