// SPDX-License-Identifier: MIT
/*
 * The most frequent instructions are decoded by tables, others by Zydis, which takes 20 times
 * as long.
 */
#include <string.h>
#include <Zydis/Zydis.h>

#include "insn.h"

/* What follows an opcode: an immediate operand of N bytes */
#define IMM(n)		(n)
#define PLAIN		0x10
/* Before it, a ModRM byte with two general registers */
#define MODRM		0x20
/* A ModRM byte with one register and more of the opcode */
#define GROUP		(MODRM | 0x40)
/* A ModRM byte without a general register that is written to: vectors, comparisons */
#define VECTOR		(MODRM | 0x80)
#define COMPARE		VECTOR
/* The operand is the distance of a jump. */
#define JUMP		0x100
#define CALL		0x200
/* Execution does not continue after it. */
#define ENDS		0x400
/* It may move a whole register to or from memory. */
#define MOVE		0x800
/* It changes SP or more. */
#define FRAME		0x1000

/* Arithmetic, test, mov, lea; numbers into registers; jumps, calls, returns; push and pop. */
static const uint16_t one_byte[256] = {
	[0x01] = MODRM, [0x03] = MODRM, [0x09] = MODRM, [0x0b] = MODRM,
	[0x21] = MODRM, [0x23] = MODRM, [0x29] = MODRM, [0x2b] = MODRM,
	[0x31] = MODRM, [0x33] = MODRM, [0x38 ... 0x3b] = COMPARE, [0x63] = MODRM,
	[0x69] = MODRM | IMM(4), [0x6b] = MODRM | IMM(1),
	[0x80] = GROUP | IMM(1), [0x81] = GROUP | IMM(4), [0x83] = GROUP | IMM(1),
	[0x84 ... 0x85] = COMPARE, [0x88] = MODRM, [0x89] = MODRM | MOVE,
	[0x8a] = MODRM, [0x8b] = MODRM | MOVE, [0x8d] = MODRM,
	[0xc0 ... 0xc1] = GROUP | IMM(1), [0xd1] = GROUP, [0xd3] = GROUP,
	[0xc6] = GROUP | IMM(1), [0xc7] = GROUP | IMM(4),
	[0xf6 ... 0xf7] = GROUP, [0xff] = GROUP,
	[0x05] = PLAIN | IMM(4), [0x0d] = PLAIN | IMM(4), [0x25] = PLAIN | IMM(4),
	[0x2d] = PLAIN | IMM(4), [0x3d] = PLAIN | IMM(4), [0xa9] = PLAIN | IMM(4),
	[0x90] = PLAIN, [0xb8 ... 0xbb] = PLAIN | IMM(4), [0xbe ... 0xbf] = PLAIN | IMM(4),
	[0x70 ... 0x7f] = JUMP | IMM(1), [0xe0 ... 0xe3] = JUMP | IMM(1),
	[0xe8] = CALL | IMM(4), [0xe9] = JUMP | ENDS | IMM(4), [0xeb] = JUMP | ENDS | IMM(1),
	[0xc2] = ENDS | IMM(2), [0xc3] = ENDS, [0xcc] = ENDS, [0xf4] = ENDS,
	[0x50 ... 0x5f] = FRAME, [0x68] = FRAME | IMM(4), [0x6a] = FRAME | IMM(1),
	[0x8f] = FRAME | GROUP, [0x9c ... 0x9d] = FRAME, [0xc9] = FRAME,
};

/* After 0x0f: nop, cmov, imul, movzx, movsx; vectors; jumps; ud2. */
static const uint16_t two_bytes[256] = {
	[0x10 ... 0x17] = VECTOR, [0x1f] = GROUP, [0x28 ... 0x2b] = VECTOR,
	[0x2e ... 0x2f] = VECTOR, [0x40 ... 0x4f] = MODRM, [0x51 ... 0x6f] = VECTOR,
	[0x70 ... 0x73] = VECTOR | IMM(1), [0x74 ... 0x76] = VECTOR, [0x7f] = VECTOR,
	[0x80 ... 0x8f] = JUMP | IMM(4), [0x0b] = ENDS,
	[0xaf] = MODRM, [0xb6 ... 0xb7] = MODRM, [0xbe ... 0xbf] = MODRM,
	[0xc2] = VECTOR | IMM(1), [0xc6] = VECTOR | IMM(1), [0xd0 ... 0xd6] = VECTOR,
	[0xd8 ... 0xfe] = VECTOR,
};

/* Opcodes after 0x0f 0x38 and 0x0f 0x3a; the last ones use general registers. */
static unsigned int three_bytes(unsigned int map, uint8_t opcode)
{
	if (opcode >= 0xf0 || (map == 3 && opcode >= 0x14 && opcode <= 0x17))
		return 0;

	return map == 3 ? VECTOR | IMM(1) : VECTOR;
}

static bool is_frame(unsigned int reg)
{
	return reg == REG_SP || reg == REG_FP;
}

/* The bytes of a ModRM byte and what belongs to it. */
static uint32_t modrm_length(const uint8_t *at)
{
	unsigned int mod = at[0] >> 6, rm = at[0] & 7, len = 1;

	if (mod == 3)
		return len;
	if (rm == 4) {
		len++;
		if (!mod && (at[1] & 7) == 5)
			len += 4;
	} else if (!mod && rm == 5) {
		len += 4;
	}

	return len + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

/* Is the operand in memory at SP or FP?  Also true for R12 and R13. */
static bool is_of_frame(const uint8_t *at)
{
	unsigned int rm = at[0] & 7;

	return at[0] < 0xc0 && is_frame(rm == 4 ? at[1] & 7 : rm);
}

static bool is_plain(unsigned int kind, const uint8_t *modrm, unsigned int rex, bool moves)
{
	if (kind & FRAME)
		return false;
	if (!(kind & MODRM) || (kind & VECTOR) == VECTOR)
		return true;
	if ((kind & GROUP) != GROUP && is_frame((modrm[0] >> 3 & 7) | (rex & 4) << 1))
		return false;
	if (modrm[0] >= 0xc0 && is_frame((modrm[0] & 7) | (rex & 1) << 3))
		return false;

	return !moves || !(kind & MOVE) || !is_of_frame(modrm);
}

/* The operand of @size bytes that ends at @end, if @size is 1 or 4. */
static int32_t number_before(const uint8_t *end, unsigned int size)
{
	int32_t number = 0;

	if (size == 1)
		return (int8_t)end[-1];
	if (size == sizeof(number))
		memcpy(&number, end - sizeof(number), sizeof(number));

	return number;
}

/* Instructions with a VEX or EVEX prefix; counts up to the opcode. */
static unsigned int kind_of_vex(const uint8_t *bytes, uint32_t *len)
{
	unsigned int map = 1, kind;

	*len = 2;
	if (bytes[0] == 0xc4) {
		map = bytes[1] & 0x1f;
		*len = 3;
	} else if (bytes[0] == 0x62) {
		map = bytes[1] & 7;
		*len = 4;
	}
	if (map == 0 || map > 3)
		return 0;
	kind = map == 1 ? two_bytes[bytes[*len]] : three_bytes(map, bytes[*len]);
	++*len;

	return (kind & VECTOR) == VECTOR ? kind : 0;
}

/* The kind of a one-byte opcode, part of which may be in the ModRM byte. */
static unsigned int kind_of_one(const uint8_t *at)
{
	unsigned int kind = one_byte[*at], more = at[1] >> 3 & 7;

	switch (*at) {
	case 0x8f: case 0xc6: case 0xc7:	/* pop, mov; others are no one-byte opcodes */
		return more ? 0 : kind;
	case 0xf6:		/* test; others have no immediate operand */
		return more < 2 ? kind | IMM(1) : kind;
	case 0xf7:
		return more < 2 ? kind | IMM(4) : kind;
	case 0xff:		/* inc, dec, call; jmp; push */
		if (more == 4 || more == 5)
			return kind | ENDS;
		return more < 4 ? kind : kind | FRAME;
	}

	return kind;
}

/* Without a VEX or EVEX prefix; prefixes before REX are part of the opcodes of vectors. */
static unsigned int kind_of_legacy(const uint8_t *bytes, uint32_t *len, unsigned int *rex)
{
	bool prefix = *bytes == 0x66 || (*bytes & 0xfe) == 0xf2;
	const uint8_t *at = bytes + prefix;
	unsigned int kind, map;

	*rex = (*at & 0xf0) == 0x40 ? *at++ : 0;
	kind = kind_of_one(at);
	/* For a 64-bit register, the operand has 8 bytes. */
	if (*rex & 8 && (*at & 0xf8) == 0xb8 && kind)
		kind += IMM(4);
	/* With a prefix, the operand may be shorter. */
	if (prefix && *at != 0x0f && *at != 0x90)
		kind = 0;
	if (*at == 0x0f) {
		kind = two_bytes[*++at];
		if (*at == 0x38 || *at == 0x3a) {
			map = *at++ == 0x38 ? 2 : 3;
			kind = three_bytes(map, *at);
		}
		if (prefix && kind & (JUMP | ENDS))
			kind = 0;
	}
	*len = at + 1 - bytes;

	return kind;
}

static void fill_operands(struct insn *insn, const uint8_t *modrm, unsigned int rex)
{
	unsigned int mod = modrm[0] >> 6, rm = modrm[0] & 7;

	insn->reg = (modrm[0] >> 3 & 7) | (rex & 4) << 1;
	insn->rm = rm | (rex & 1) << 3;
	insn->memory = mod != 3;
	insn->base = insn->rm;
	/* With an index register it is not just a base and an offset. */
	if (insn->memory && rm == 4) {
		insn->base = (modrm[1] & 7) | (rex & 1) << 3;
		if (((modrm[1] >> 3 & 7) | (rex & 2) << 2) != REG_SP)
			insn->base = -1;
		modrm++;
	}
	if (!mod && (modrm[0] & 7) == 5)
		insn->base = -1;
	insn->disp = 0;
	if (mod == 1)
		insn->disp = (int8_t)modrm[1];
	else if (mod == 2)
		insn->disp = number_before(modrm + 5, 4);
	insn->may_write_fp = insn->reg == REG_FP || (!insn->memory && insn->rm == REG_FP);
}

/* By Zydis. */
static bool decode_other(const uint8_t *bytes, uint32_t left, struct insn *insn)
{
	ZydisDecodedInstruction from;
	ZydisDecoder decoder;
	unsigned int rex, kind = 0;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MINIMAL,
						 ZYAN_TRUE)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, left, &from)))
		return false;
	*insn = (struct insn){ .len = from.length, .number = from.raw.imm[0].value.s };
	insn->modrm = from.attributes & ZYDIS_ATTRIB_HAS_MODRM;
	rex = from.raw.rex.R << 2 | from.raw.rex.X << 1 | from.raw.rex.B;
	insn->reg = (from.opcode & 7) | from.raw.rex.B << 3;
	insn->may_write_fp = insn->reg == REG_FP;
	if (insn->modrm)
		fill_operands(insn, bytes + from.raw.modrm.offset, rex);
	/* The fields of a VEX prefix need not be distinguished. */
	if (from.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY) {
		insn->may_write_fp = true;
	} else if (from.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT) {
		insn->opcode = from.opcode;
		kind = one_byte[from.opcode];
		if (insn->modrm)
			kind = kind_of_one(bytes + from.raw.modrm.offset - 1);
	} else if (from.opcode_map == ZYDIS_OPCODE_MAP_0F) {
		kind = two_bytes[from.opcode];
	}
	insn->leads = kind & JUMP;
	insn->ends = kind & ENDS;

	return true;
}

/* By the tables; false if they lack the instruction. */
static bool decode_frequent(const uint8_t *bytes, uint32_t left, bool moves, struct insn *insn)
{
	unsigned int rex = 0, kind, size;
	const uint8_t *modrm;
	uint32_t len;

	if (bytes[0] == 0xc4 || bytes[0] == 0xc5 || bytes[0] == 0x62)
		kind = kind_of_vex(bytes, &len);
	else
		kind = kind_of_legacy(bytes, &len, &rex);
	if (!kind)
		return false;
	modrm = bytes + len;
	size = kind & 0xf;
	len += size + (kind & MODRM ? modrm_length(modrm) : 0);
	if (len > left)
		return false;
	insn->len = len;
	insn->ends = kind & ENDS;
	insn->leads = kind & JUMP;
	insn->number = size ? number_before(bytes + len, size) : 0;
	/* A call of the next instruction only pushes its address. */
	insn->plain = is_plain(kind, modrm, rex, moves) && !(kind & CALL && !insn->number);
	if (insn->plain)
		return true;
	insn->opcode = modrm[-1];
	insn->modrm = kind & MODRM;
	if (insn->modrm) {
		fill_operands(insn, modrm, rex);
	} else {
		insn->reg = (insn->opcode & 7) | (rex & 1) << 3;
		insn->may_write_fp = insn->reg == REG_FP;
	}

	return true;
}

/* The longest opcode, a ModRM byte and one byte after it. */
#define MOST	7

bool insn_decode(const uint8_t *bytes, uint32_t left, bool moves, struct insn *insn)
{
	uint8_t last[MOST] = { 0 };
	const uint8_t *from = bytes;

	if (left < MOST)
		from = memcpy(last, bytes, left);

	return decode_frequent(from, left, moves, insn) || decode_other(bytes, left, insn);
}

bool insn_writes_fp(const uint8_t *bytes, uint32_t left)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;
	unsigned int i;

	if (!ZYAN_SUCCESS(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
					   ZYDIS_STACK_WIDTH_64)) ||
	    !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, left, &insn, operands)))
		return true;
	for (i = 0; i < insn.operand_count; i++) {
		if (operands[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						     operands[i].reg.value) ==
			    ZYDIS_REGISTER_RBP)
			return true;
	}

	return false;
}
