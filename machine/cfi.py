# SPDX-License-Identifier: MIT
"""Finds out which code of the files in a tree has call frame information (.eh_frame), of what kind
that is, and in which function the code is."""
import bisect
import functools
import struct

# The number of LEB128 operands of an instruction of CFI (DWARF 5, 6.4.2), and the size of other
# operands in bytes; -1: a block after the LEB128 operands.
LEBS = {0x05: 2, 0x06: 1, 0x07: 1, 0x08: 1, 0x09: 2, 0x0c: 2, 0x0d: 1, 0x0e: 1, 0x10: 1,
        0x11: 2, 0x12: 2, 0x13: 1, 0x14: 2, 0x15: 2, 0x16: 1, 0x2e: 1}
BYTES = {0x01: 4, 0x02: 1, 0x03: 2, 0x04: 4, 0x0f: -1, 0x10: -1, 0x16: -1}
CFA_EXPRESSION = 0x0f
CFA_REGISTER = (0x0c, 0x0d)
SP_FP = (7, 6)
BREG = range(0x70, 0x90)
DEREF = b"\x06"
# The start of the expression by which linkers describe .plt: a word more from some byte of each
# entry on.
PLT = b"\x77\x08\x80\x00\x3f\x1a"

ELF64 = b"\x7fELF\x02\x01"
EXECUTABLE = 1
LOAD = 1
FUNCTION = 2


def leb(data, at):
    """The unsigned number at the position, and the next position."""
    value = shift = 0
    while True:
        value |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if not data[at - 1] & 0x80:
            return value, at


def has_form(expression):
    """Can SFrame express this: an offset from a register, or the word there?"""
    return expression.startswith(PLT) or expression[0] in BREG and expression[leb(expression, 1)[1]:] in (b"", DEREF)


def is_sayable(program):
    """Can SFrame express each CFA of the instructions, by the registers known of callers?"""
    at = 0
    while at < len(program):
        op = program[at] if program[at] < 0x40 else program[at] & 0xc0
        at += 1
        if op in CFA_REGISTER and leb(program, at)[0] not in SP_FP:
            return False
        for _ in range(1 if op == 0x80 else LEBS.get(op, 0)):
            _, at = leb(program, at)
        if BYTES.get(op) == -1:
            size, at = leb(program, at)
            if op == CFA_EXPRESSION and not has_form(program[at:at + size]):
                return False
            at += size
        else:
            at += BYTES.get(op, 0)
    return True


class Elf:
    """Offsets are those in the file, as in mappings."""

    def __init__(self, data):
        self.data = data
        self.ranges = []
        self.unsayable = []
        phoff, shoff = struct.unpack_from("<QQ", data, 32)
        phsize, phnum, shsize, shnum, strndx = struct.unpack_from("<5H", data, 54)
        self.segments = [s for s in (struct.unpack_from("<IIQQQQ", data, phoff + i * phsize)
                                     for i in range(phnum)) if s[0] == LOAD and s[1] & EXECUTABLE]
        sections = [struct.unpack_from("<IIQQQQ", data, shoff + i * shsize) for i in range(shnum)]
        named = {self.name(sections[strndx][4] + s[0]): s for s in sections}
        # Nothing is known about a program without .eh_frame, such as one of Go.
        self.known = b".eh_frame" in named
        if self.known:
            self.read_frames(*named[b".eh_frame"][3:6])
        self.ranges.sort()
        self.unsayable.sort()
        self.named = named

    def name(self, at):
        return self.data[at:self.data.index(b"\0", at)]

    def read_frames(self, addr, offset, size):
        """All FDEs; their addresses are relative to themselves, as on x86-64."""
        at = offset
        while at + 8 <= offset + size:
            length, cie = struct.unpack_from("<II", self.data, at)
            if cie and length >= 12:
                start, nr = struct.unpack_from("<iI", self.data, at + 8)
                start = (start + addr + at + 8 - offset) & (1 << 64) - 1
                size_of_data, program = leb(self.data, at + 16)
                program = self.data[program + size_of_data:at + 4 + length]
                self.add(start, nr, self.ranges)
                if not is_sayable(program):
                    self.add(start, nr, self.unsayable)
            at += 4 + length

    @functools.cached_property
    def functions(self):
        functions = []
        for table, strings in (b".symtab", b".strtab"), (b".dynsym", b".dynstr"):
            if table in self.named and strings in self.named:
                _, _, _, _, offset, size = self.named[table]
                for name, info, _, _, start, nr in struct.iter_unpack(
                        "<IBBHQQ", self.data[offset:offset + size]):
                    if info & 15 == FUNCTION and nr:
                        self.add(start, nr, functions, self.named[strings][4] + name)
        return sorted(functions)

    def add(self, start, size, ranges, *what):
        for _, _, offset, addr, _, filesz in self.segments:
            if addr <= start < addr + filesz:
                ranges.append((start - addr + offset, start - addr + offset + size, *what))

    @staticmethod
    def is_in(ranges, offset):
        at = bisect.bisect(ranges, (offset, 1 << 64)) - 1
        return at >= 0 and offset < ranges[at][1]

    def covers(self, offset):
        return not self.known or self.is_in(self.ranges, offset)

    def says(self, offset):
        return not self.is_in(self.unsayable, offset)

    def function(self, offset):
        if not self.is_in(self.functions, offset):
            return ""
        found = self.functions[bisect.bisect(self.functions, (offset, 1 << 64)) - 1]
        return self.name(found[2]).decode(errors="replace")


class Files:
    """Files below a root; without a root, or for files that are missing, all code has CFI."""

    def __init__(self, root):
        self.root = root

    @functools.lru_cache(maxsize=None)
    def read(self, path):
        try:
            with open(self.root + path, "rb") as file:
                return file.read()
        except (OSError, TypeError):
            return b""

    @functools.lru_cache(maxsize=None)
    def elf(self, path):
        data = self.read(path)
        try:
            return Elf(data) if data.startswith(ELF64) else None
        except (ValueError, LookupError, struct.error):
            return None

    def follows(self, path, offset, code):
        """Do the bytes of code end just before the offset?"""
        return self.read(path)[:offset].endswith(code)

    def known(self, path):
        return self.elf(path) if self.root is not None else None

    def says(self, path, offset):
        """Can SFrame express the CFI of the function there?"""
        elf = self.known(path)
        return elf is None or elf.says(offset)

    def covers(self, path, offset):
        elf = self.known(path)
        return elf is None or elf.covers(offset)

    def function(self, path, offset):
        """The name of the function there, or ""."""
        elf = self.known(path)
        return elf.function(offset) if elf else ""
