// SPDX-License-Identifier: MIT
/*
 * Compares insn_decode() with Zydis on a million random instructions. Prints TAP.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <Zydis/Zydis.h>

#include "../insn.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

struct theirs {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

static bool writes(const ZydisDecodedOperand *operand)
{
	return operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

static ZydisRegister whole(ZydisRegister reg)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

/* Does it leave SP and FP alone, and not copy them to another register? */
static bool is_harmless(const struct theirs *theirs)
{
	bool reads = false, copies = false;
	unsigned int i;

	if (theirs->insn.meta.category == ZYDIS_CATEGORY_CALL ||
	    theirs->insn.meta.category == ZYDIS_CATEGORY_RET ||
	    theirs->insn.meta.category == ZYDIS_CATEGORY_INTERRUPT ||
	    theirs->insn.mnemonic == ZYDIS_MNEMONIC_NOP)
		return true;
	for (i = 0; i < theirs->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &theirs->operands[i];
		ZydisRegister reg = whole(operand->reg.value);

		if (operand->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    ZydisRegisterGetClass(reg) != ZYDIS_REGCLASS_GPR64)
			continue;
		if (reg == ZYDIS_REGISTER_RSP || reg == ZYDIS_REGISTER_RBP) {
			if (writes(operand))
				return false;
			reads = true;
		}
		copies |= writes(operand);
	}

	return !reads || !copies;
}

/* Does it move a register to or from memory at SP or FP? */
static bool moves(const struct theirs *theirs)
{
	ZydisRegister base = theirs->operands[0].mem.base;

	if (theirs->operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		base = theirs->operands[1].mem.base;

	return theirs->insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
	       (theirs->insn.opcode == 0x89 || theirs->insn.opcode == 0x8b) &&
	       (base == ZYDIS_REGISTER_RSP || base == ZYDIS_REGISTER_RBP);
}

/* Indirect jumps are left out: insn_decode() does not distinguish them from indirect calls. */
static bool ends(const struct theirs *theirs)
{
	static const ZydisMnemonic all[] = {
		ZYDIS_MNEMONIC_JMP, ZYDIS_MNEMONIC_RET, ZYDIS_MNEMONIC_INT3,
		ZYDIS_MNEMONIC_HLT, ZYDIS_MNEMONIC_UD2,
	};
	unsigned int i;

	/* Far returns do not return to code here. */
	if (theirs->insn.opcode == 0xca || theirs->insn.opcode == 0xcb)
		return false;
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		if (theirs->insn.mnemonic == all[i])
			return true;
	}

	return false;
}

static bool leads(const struct theirs *theirs)
{
	/* Other encodings are for Knights Corner; a failed transaction restores registers. */
	return theirs->insn.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
	       theirs->insn.meta.category != ZYDIS_CATEGORY_CALL &&
	       theirs->insn.mnemonic != ZYDIS_MNEMONIC_XBEGIN &&
	       theirs->insn.raw.imm[0].is_relative;
}

/* The number of the base register of an operand in memory, if there is no index. */
static int base_of(const struct theirs *theirs)
{
	unsigned int i;

	for (i = 0; i < theirs->insn.operand_count; i++) {
		const ZydisDecodedOperand *operand = &theirs->operands[i];

		if (operand->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    operand->encoding == ZYDIS_OPERAND_ENCODING_MODRM_RM)
			return operand->mem.index != ZYDIS_REGISTER_NONE ||
					       operand->mem.base == ZYDIS_REGISTER_NONE ||
					       operand->mem.base == ZYDIS_REGISTER_RIP ?
				       -1 :
				       ZydisRegisterGetId(operand->mem.base);
	}

	return -1;
}

/* A one-byte opcode whose operands insn_decode() reports. */
static bool has_operands(const struct theirs *theirs, const struct insn *mine)
{
	const ZydisDecodedInstruction *insn = &theirs->insn;
	int base = base_of(theirs);

	if (mine->opcode != insn->opcode)
		return false;
	if (!(insn->attributes & ZYDIS_ATTRIB_HAS_MODRM))
		return !mine->modrm;

	return mine->modrm && mine->memory == (insn->raw.modrm.mod != 3) &&
	       mine->reg == (insn->raw.modrm.reg | insn->raw.rex.R << 3) &&
	       (mine->memory ? mine->base == base &&
			       (base < 0 || mine->disp == insn->raw.disp.value) :
			       mine->rm == (insn->raw.modrm.rm | insn->raw.rex.B << 3));
}

static bool agrees(const struct theirs *theirs, const struct insn *mine)
{
	const ZydisDecodedInstruction *insn = &theirs->insn;
	bool one = insn->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY &&
		   insn->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;

	if (mine->len != insn->length || mine->ends != ends(theirs) ||
	    mine->leads != leads(theirs))
		return false;
	if (mine->leads && mine->number != insn->raw.imm[0].value.s)
		return false;
	if (mine->plain)
		return is_harmless(theirs) && !moves(theirs);

	return !one || has_operands(theirs, mine);
}

/* Each first byte below is as frequent as all others together, with and without REX. */
static void make_bytes(uint8_t *bytes, unsigned int size, unsigned int i)
{
	static const uint8_t prefixes[] = { 0x0f, 0x62, 0x66, 0xc4, 0xc5, 0xf2, 0xf3 };
	uint8_t prefix = prefixes[i / 4 % ARRAY_SIZE(prefixes)];
	unsigned int j;

	for (j = 0; j < size; j++)
		bytes[j] = rand() >> 8;
	if (i % 4 == 1) {
		bytes[0] = prefix;
		if (prefix == 0xc4 || prefix == 0x62)
			bytes[1] = (bytes[1] & 0xf8) | (1 + i / 4 % 3);
		else if (prefix != 0x0f && prefix != 0xc5 && i % 3)
			bytes[1] = 0x0f;
	} else if (i % 4 > 1) {
		bytes[0] = 0x40 | (bytes[0] & 0xf);
	}
}

static void print(const struct theirs *theirs, const uint8_t *bytes)
{
	unsigned int i;

	printf("# %s:", ZydisMnemonicGetString(theirs->insn.mnemonic));
	for (i = 0; i < theirs->insn.length; i++)
		printf(" %02x", bytes[i]);
	printf("\n");
}

int main(void)
{
	unsigned long i, known = 0, plain = 0;
	ZydisDecoder decoder;
	bool ok = true;

	printf("1..1\n");
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	srand(1);
	for (i = 0; ok && i < 2000000; i++) {
		uint8_t bytes[16];
		struct theirs theirs;
		struct insn mine;

		make_bytes(bytes, sizeof(bytes), i);
		/* An invalid instruction would not run. */
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, sizeof(bytes),
							 &theirs.insn, theirs.operands)))
			continue;
		known++;
		ok = insn_decode(bytes, sizeof(bytes), true, &mine) && agrees(&theirs, &mine);
		if (!ok)
			print(&theirs, bytes);
		plain += mine.plain;
	}
	printf("# %lu instructions, %lu of them plain\n", known, plain);
	/* A fifth of random instructions is plain, but nearly all of real ones. */
	ok = ok && plain > known / 10;
	printf("%sok 1 - instructions are what Zydis says\n", ok ? "" : "not ");

	return !ok;
}
