// SPDX-License-Identifier: MIT
#include "padding.h"

enum { NOP = 0x90, INT3 = 0xcc, OPERAND_SIZE = 0x66, CS = 0x2e, TWO_BYTES = 0x0f };
enum { LONG_NOP = 0x1f };

/* Bytes of the operand of a long NOP from its ModRM byte on. */
static size_t operand_size(uint8_t modrm)
{
	static const uint8_t displacement[] = { 0, 1, 4, 0 };
	unsigned int mode = modrm >> 6, base = modrm & 7;

	if (!mode && base == 5)
		return 1 + 4;
	return 1 + (mode != 3 && base == 4) + displacement[mode];
}

bool is_padding(const uint8_t *code, size_t size)
{
	size_t at = 0;

	while (at < size) {
		if (code[at] == INT3) {
			at++;
			continue;
		}
		while (at < size && (code[at] == OPERAND_SIZE || code[at] == CS))
			at++;
		if (at < size && code[at] == NOP)
			at++;
		else if (size - at >= 3 && code[at] == TWO_BYTES && code[at + 1] == LONG_NOP)
			at += 2 + operand_size(code[at + 2]);
		else
			return false;
	}
	return at == size;
}
