// SPDX-License-Identifier: GPL-2.0
#include "codectl_test.h"
#include "jit_code.h"

/* A row from label @from to label @to of function @name. */
#define ROW(name, from, to, cfa, fp, info)				\
	"	.long	" #name "_" #to " - " #name "_" #from ", "	\
	#name "_" #from " - " #name "_0, " #cfa ", -8, " #fp ", " #info "\n"

#define SHAPE(name, body, rows)						\
asm(									\
"	.pushsection .text\n"						\
#name "_0:\n"								\
"	.cfi_startproc\n"						\
	body								\
#name "_end:\n"								\
"	.cfi_endproc\n"							\
"	.popsection\n"							\
"	.pushsection .rodata\n"						\
"	.balign 8\n"							\
#name "_rows:\n"							\
	rows								\
#name "_rows_end:\n"							\
"	.popsection\n"							\
);									\
extern const uint8_t name##_0[], name##_end[], name##_call[];		\
extern const jit_row name##_rows[], name##_rows_end[]

#define CALL(name)							\
"	movabs	$0x1122334455667788, %rax\n"				\
"	call	*%rax\n"						\
#name "_call:\n"

#define CFA(off) "	.cfi_def_cfa_offset " #off "\n"
#define SAVED_FP "	.cfi_offset %rbp, -16\n"
#define RESTORED_FP "	.cfi_restore %rbp\n"

/* Row infos: SP 1, FP_SAVED 2, FP_UNDEF 64 */
SHAPE(small,
"	sub	$24, %rsp\n"
CFA(32)
"small_1:\n"
CALL(small)
"	add	$24, %rsp\n"
CFA(8)
"small_2:\n"
"	ret\n",
ROW(small, 0, 1, 8, 0, 1)
ROW(small, 1, 2, 32, 0, 1)
ROW(small, 2, end, 8, 0, 1)
);

SHAPE(big,
"	sub	$69688, %rsp\n"
CFA(69696)
"big_1:\n"
CALL(big)
"	add	$69688, %rsp\n"
CFA(8)
"big_2:\n"
"	ret\n",
ROW(big, 0, 1, 8, 0, 1)
ROW(big, 1, 2, 69696, 0, 1)
ROW(big, 2, end, 8, 0, 1)
);

SHAPE(fp,
"	push	%rbp\n"
CFA(16)
SAVED_FP
"fp_1:\n"
"	mov	%rsp, %rbp\n"
"	.cfi_def_cfa_register %rbp\n"
"fp_2:\n"
"	sub	$32, %rsp\n"
CALL(fp)
"	leave\n"
"	.cfi_def_cfa %rsp, 8\n"
RESTORED_FP
"fp_3:\n"
"	ret\n",
ROW(fp, 0, 1, 8, 0, 1)
ROW(fp, 1, 2, 16, -16, 3)
ROW(fp, 2, 3, 16, -16, 2)
ROW(fp, 3, end, 8, 0, 1)
);

SHAPE(saved,
"	push	%rbp\n"
CFA(16)
SAVED_FP
"saved_1:\n"
"	mov	$0x5a5a5a58, %ebp\n"
"	sub	$16, %rsp\n"
CFA(32)
"saved_2:\n"
CALL(saved)
"	add	$16, %rsp\n"
CFA(16)
"saved_3:\n"
"	pop	%rbp\n"
CFA(8)
RESTORED_FP
"saved_4:\n"
"	ret\n",
ROW(saved, 0, 1, 8, 0, 1)
ROW(saved, 1, 2, 16, -16, 3)
ROW(saved, 2, 3, 32, -16, 3)
ROW(saved, 3, 4, 16, -16, 3)
ROW(saved, 4, end, 8, 0, 1)
);

SHAPE(lost,
"	push	%rbp\n"
CFA(16)
SAVED_FP
"lost_1:\n"
"	mov	%rdi, %rbp\n"
"lost_2:\n"
"	sub	$16, %rsp\n"
CFA(32)
"lost_3:\n"
CALL(lost)
"	add	$16, %rsp\n"
CFA(16)
"lost_4:\n"
"	pop	%rbp\n"
CFA(8)
RESTORED_FP
"lost_5:\n"
"	ret\n",
ROW(lost, 0, 1, 8, 0, 1)
ROW(lost, 1, 2, 16, 0, 1)
ROW(lost, 2, 3, 16, 0, 65)
ROW(lost, 3, 4, 32, 0, 65)
ROW(lost, 4, 5, 16, 0, 65)
ROW(lost, 5, end, 8, 0, 1)
);

SHAPE(above,
"	push	%rbp\n"
CFA(16)
SAVED_FP
"above_1:\n"
"	lea	184(%rsp), %rbp\n"
"	.cfi_def_cfa %rbp, -168\n"
"above_2:\n"
"	sub	$16, %rsp\n"
CALL(above)
"	lea	-184(%rbp), %rsp\n"
"above_3:\n"
"	pop	%rbp\n"
"	.cfi_def_cfa %rsp, 8\n"
RESTORED_FP
"above_4:\n"
"	ret\n",
ROW(above, 0, 1, 8, 0, 1)
ROW(above, 1, 2, 16, -16, 3)
ROW(above, 2, 4, -168, -16, 2)
ROW(above, 4, end, 8, 0, 1)
);

#define INIT(name)							\
	.code = name##_0, .code_end = name##_end, .call = name##_call,	\
	.row = name##_rows, .row_end = name##_rows_end

const struct jit_shape jit_small = { INIT(small) };
const struct jit_shape jit_big = { INIT(big) };
const struct jit_shape jit_fp = { INIT(fp), .by_fp = true, .saves_fp = true };
const struct jit_shape jit_saved = { INIT(saved), .saves_fp = true };
const struct jit_shape jit_lost = { INIT(lost), .loses_fp = true };
const struct jit_shape jit_above = {
	INIT(above), .by_fp = true, .saves_fp = true
};

const struct jit_shape *const jit_shapes[NR_JIT_SHAPES] = {
	&jit_small, &jit_big, &jit_fp, &jit_saved, &jit_lost, &jit_above,
};

#define SHAPE_ROWS_MAX 8
#define CODE_ALIGN 16
/* movabs $target, %rax; call *%rax */
#define TARGET_BEFORE_RETURN 10

int jit_region_map(struct jit_region *r, size_t text_pages,
		   unsigned int nr_tables, size_t table_size)
{
	size_t room = nr_tables * table_size;

	*r = (struct jit_region) {
		.text = map_pages(text_pages,
				  PROT_READ | PROT_WRITE | PROT_EXEC),
		.text_size = text_pages * PAGE,
		.tables = map_pages((room + PAGE - 1) / PAGE,
				    PROT_READ | PROT_WRITE),
		.table_size = table_size,
		.nr_tables = nr_tables,
	};
	if (!r->text || !r->tables)
		return -1;
	jit_table_init(r->tables, table_size);
	r->info = (struct code_jit_info) {
		.text_start = addr_of(r->text),
		.text_end = addr_of(r->text) + r->text_size,
		.unwind_head = addr_of(r->tables),
	};
	return 0;
}

void jit_region_unmap(struct jit_region *r)
{
	munmap(r->text, r->text_size);
	munmap(r->tables, r->nr_tables * r->table_size);
}

static bool is_descending(const struct jit_region *r)
{
	return r->info.jit_flags & CODE_JIT_DESCENDING;
}

/* Room for @size bytes after the last row; false if there is none. */
static bool find_room(const struct jit_region *r, const jit_table *last,
		      size_t size, uint64_t *at)
{
	unsigned int nr = jit_table_rows(last);
	const jit_row *row = nr ? &last->fre[nr - 1] : NULL;

	if (is_descending(r)) {
		uint64_t end = row ? row->ip_off : r->text_size;

		*at = (end - size) & -CODE_ALIGN;
		return size <= end;
	}
	*at = row ? (uint64_t)row->ip_off + row->size : 0;
	*at = (*at + CODE_ALIGN - 1) & -CODE_ALIGN;
	return *at + size <= r->text_size;
}

static jit_table *last_table(const struct jit_region *r, unsigned int *index)
{
	jit_table *table = (void *)r->tables;

	for (*index = 0; table->next; ++*index)
		table = (void *)table->next;
	return table;
}

/* A table is linked only when it has rows. */
static int publish(struct jit_region *r, const jit_row *row, unsigned int nr)
{
	unsigned int index;
	jit_table *table = last_table(r, &index);
	jit_table *next;

	if (!jit_table_append(table, row, nr))
		return 0;
	if (index + 1 >= r->nr_tables)
		return -1;
	next = jit_table_init(r->tables + (index + 1) * r->table_size,
			      r->table_size);
	if (jit_table_append(next, row, nr))
		return -1;
	jit_table_link(table, next);
	return 0;
}

void jit_write(uint8_t *at, const struct jit_shape *shape, const void *target)
{
	size_t call = shape->call - shape->code;

	memcpy(at, shape->code, shape->code_end - shape->code);
	memcpy(at + call - TARGET_BEFORE_RETURN, &target, sizeof(target));
}

uint8_t *jit_emit(struct jit_region *r, const struct jit_shape *shape,
		  const void *target)
{
	unsigned int index, nr = shape->row_end - shape->row;
	jit_row row[SHAPE_ROWS_MAX];
	uint64_t at;

	if (!find_room(r, last_table(r, &index),
		       shape->code_end - shape->code, &at))
		return NULL;
	jit_write(r->text + at, shape, target);
	memcpy(row, shape->row, nr * sizeof(*row));
	for (unsigned int i = 0; i < nr; i++)
		row[i].ip_off += at;
	if (is_descending(r))
		jit_rows_reverse(row, nr);
	return publish(r, row, nr) ? NULL : r->text + at;
}

jit_row *jit_row_at(const struct jit_region *r, const void *at)
{
	uint64_t off = addr_of(at) - addr_of(r->text);
	jit_table *table = (void *)r->tables;

	for (; table; table = (void *)table->next)
		for (unsigned int i = 0; i < jit_table_rows(table); i++)
			if (off - table->fre[i].ip_off < table->fre[i].size)
				return &table->fre[i];
	return NULL;
}

/* What libgcc takes for an .eh_frame section. */
struct eh_frame {
	uint32_t cie_length;
	uint32_t cie_id;
	uint8_t cie[16];
	uint32_t fde_length;
	uint32_t fde_cie;	/* distance from this field */
	uint64_t start;
	uint64_t size;
	uint8_t aug_length;
	uint8_t program[111];
	uint32_t end;
} __attribute__((packed));

struct dwarf_eh_bases {
	void *tbase;
	void *dbase;
	void *func;
};

const uint8_t *_Unwind_Find_FDE(const void *pc, struct dwarf_eh_bases *bases);
void __register_frame(void *begin);

/* Length, CIE, start and size of 4 bytes each, and no augmentation data */
#define FDE_PROGRAM 17

/* The program of the assembler's FDE counts from the start of the function. */
void jit_describe(const uint8_t *at, const struct jit_shape *shape)
{
	static const uint8_t cie[16] = {
		1, 'z', 'R', 0,	/* version, augmentation */
		1, 0x78, 16,	/* code by 1, data by -8, RA in column 16 */
		1, 0,		/* addresses are absolute */
		0x0c, 7, 8,	/* DW_CFA_def_cfa: %rsp + 8 */
		0x90, 1,	/* DW_CFA_offset: RA at CFA - 8 */
	};
	struct eh_frame *eh = calloc(1, sizeof(*eh));
	struct dwarf_eh_bases bases;
	const uint8_t *fde = _Unwind_Find_FDE(shape->code, &bases);
	uint32_t length;

	if (!eh || !fde)
		abort();
	memcpy(&length, fde, sizeof(length));
	length += sizeof(length);
	if (length - FDE_PROGRAM > sizeof(eh->program))
		abort();
	eh->cie_length = offsetof(struct eh_frame, fde_length) - 4;
	memcpy(eh->cie, cie, sizeof(cie));
	eh->fde_length = offsetof(struct eh_frame, end) -
			 offsetof(struct eh_frame, fde_cie);
	eh->fde_cie = offsetof(struct eh_frame, fde_cie);
	eh->start = addr_of(at);
	eh->size = shape->code_end - shape->code;
	memcpy(eh->program, fde + FDE_PROGRAM, length - FDE_PROGRAM);
	__register_frame(eh);
}

uint8_t *jit_make(struct jit_region *r, const struct jit_shape *shape,
		  const void *target)
{
	uint8_t *at = jit_emit(r, shape, target);

	if (at)
		jit_describe(at, shape);
	return at;
}

__attribute__((noinline)) void jit_call(const uint8_t *function,
					const void *arg)
{
	void (*run)(const void *) = (void *)function;

	asm volatile("" : : : "rbp");
	run(arg);
}

static uint64_t leaf_ip;

__attribute__((noinline)) void jit_leaf(void)
{
	leaf_ip = marker();
}

extern const uint8_t jit_enter_return[];

__attribute__((noinline)) uint64_t jit_enter(const uint8_t *function)
{
	uint64_t arg = 0;

	/* Everything that a function needs from its caller, except a frame pointer. */
	asm volatile("call	*%%rax\n"
		     "jit_enter_return:"
		     : "+a"(function), "+D"(arg)
		     : : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "rbp",
		     "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
		     "xmm7", "memory", "cc");
	return (uint64_t)__builtin_return_address(0);
}

#define OWN_FRAMES 4

static void own_frames(uint64_t own[OWN_FRAMES], const uint8_t *function,
		       const struct jit_shape *shape, uint64_t ra)
{
	own[0] = leaf_ip;
	own[1] = jit_return_address(function, shape);
	own[2] = addr_of(jit_enter_return);
	own[3] = ra;
}

void jit_expect(struct jit_thread *t, const uint8_t *function,
		const struct jit_shape *shape, uint64_t ra)
{
	own_frames(t->truth.ip, function, shape, ra);
	memcpy(t->truth.ip + OWN_FRAMES, t->callers.ip,
	       t->callers.nr * sizeof(t->callers.ip[0]));
	t->truth.nr = t->callers.nr + OWN_FRAMES;
}

__attribute__((noinline)) void jit_run(const uint8_t *function,
				       const struct jit_shape *shape)
{
	uint64_t own[OWN_FRAMES], ra;

	truth_callers();
	ra = jit_enter(function);
	own_frames(own, function, shape, ra);
	truth_prepend(own, OWN_FRAMES);
}
