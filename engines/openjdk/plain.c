// SPDX-License-Identifier: MIT
#include <stdbool.h>

#include "frame.h"
#include "plain.h"

/* What comes after an opcode: a ModRM byte, and a number of so many bytes. */
#define MODRM	0x80
#define IMM(n)	(n)
#define PLAIN	0x40

/* Arithmetic, test, mov, lea; and numbers into registers. */
static const uint8_t one_byte[256] = {
	[0x01] = MODRM, [0x03] = MODRM, [0x09] = MODRM, [0x0b] = MODRM,
	[0x21] = MODRM, [0x23] = MODRM, [0x29] = MODRM, [0x2b] = MODRM,
	[0x31] = MODRM, [0x33] = MODRM, [0x38] = MODRM, [0x39] = MODRM,
	[0x3a] = MODRM, [0x3b] = MODRM, [0x63] = MODRM,
	[0x84] = MODRM, [0x85] = MODRM, [0x88] = MODRM, [0x89] = MODRM,
	[0x8a] = MODRM, [0x8b] = MODRM, [0x8d] = MODRM,
	[0x69] = MODRM | IMM(4), [0x6b] = MODRM | IMM(1),
	[0x80] = MODRM | IMM(1), [0x81] = MODRM | IMM(4), [0x83] = MODRM | IMM(1),
	[0xc0] = MODRM | IMM(1), [0xc1] = MODRM | IMM(1),
	[0xc6] = MODRM | IMM(1), [0xc7] = MODRM | IMM(4),
	[0x05] = PLAIN | IMM(4), [0x0d] = PLAIN | IMM(4), [0x25] = PLAIN | IMM(4),
	[0x2d] = PLAIN | IMM(4), [0x3d] = PLAIN | IMM(4), [0xa9] = PLAIN | IMM(4),
	[0x90] = PLAIN,
	[0xb8] = PLAIN | IMM(4), [0xb9] = PLAIN | IMM(4), [0xba] = PLAIN | IMM(4),
	[0xbb] = PLAIN | IMM(4), [0xbe] = PLAIN | IMM(4), [0xbf] = PLAIN | IMM(4),
};

/* Behind 0x0f: nop, cmov, imul, movzx, movsx, scalar floating point. */
static const uint8_t two_bytes[256] = {
	[0x10] = MODRM, [0x11] = MODRM, [0x1f] = MODRM, [0x28] = MODRM, [0x29] = MODRM,
	[0x40] = MODRM, [0x41] = MODRM, [0x42] = MODRM, [0x43] = MODRM,
	[0x44] = MODRM, [0x45] = MODRM, [0x46] = MODRM, [0x47] = MODRM,
	[0x48] = MODRM, [0x49] = MODRM, [0x4a] = MODRM, [0x4b] = MODRM,
	[0x4c] = MODRM, [0x4d] = MODRM, [0x4e] = MODRM, [0x4f] = MODRM,
	[0xaf] = MODRM, [0xb6] = MODRM, [0xb7] = MODRM, [0xbe] = MODRM, [0xbf] = MODRM,
};

static bool is_frame(unsigned int reg)
{
	return reg == REG_SP || reg == REG_FP;
}

/* The bytes of a ModRM byte and what belongs to it; 0: it names SP or FP, or does not fit. */
static uint32_t modrm_length(const uint8_t *at, uint32_t left, unsigned int rex)
{
	unsigned int mod, rm, len = 1;

	if (left < 2)
		return 0;
	mod = at[0] >> 6;
	rm = at[0] & 7;
	if (is_frame((at[0] >> 3 & 7) | (rex & 4) << 1))
		return 0;
	if (mod == 3)
		return is_frame(rm | (rex & 1) << 3) ? 0 : len;
	if (rm == 4) {
		len++;
		if (!mod && (at[1] & 7) == 5)
			len += 4;
	} else if (!mod && rm == 5) {
		len += 4;
	}

	return len + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

uint32_t plain_length(const uint8_t *bytes, uint32_t left)
{
	unsigned int rex = 0, kind, operand = 0;
	uint32_t len = 0;

	if (left < 3)
		return 0;
	if ((bytes[0] & 0xf0) == 0x40)
		rex = bytes[len++];
	kind = one_byte[bytes[len]];
	/* With a wide register the number is one of 8 bytes. */
	if (kind && rex & 8 && (bytes[len] & 0xf8) == 0xb8)
		kind += IMM(4);
	if (bytes[len] == 0x0f)
		kind = two_bytes[bytes[++len]];
	len++;
	/* Others of these begin and end transactions. */
	if ((bytes[len - 1] & 0xfe) == 0xc6 && bytes[len] & 0x38)
		return 0;
	if (kind & MODRM) {
		operand = modrm_length(bytes + len, left - len, rex);
		if (!operand)
			return 0;
	} else if (!kind) {
		return 0;
	}
	len += operand + (kind & 0xf);

	return len <= left ? len : 0;
}
