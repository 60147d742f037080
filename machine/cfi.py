# SPDX-License-Identifier: MIT
"""Says which code of the files in a tree has call frame information (.eh_frame)."""
import bisect
import functools
import struct

ELF64 = b"\x7fELF\x02\x01"
EXECUTABLE = 1
LOAD = 1


class Elf:
    """Offsets are those in the file, as mappings tell of them."""

    def __init__(self, data):
        self.data = data
        self.ranges = []
        phoff, shoff = struct.unpack_from("<QQ", data, 32)
        phsize, phnum, shsize, shnum, strndx = struct.unpack_from("<5H", data, 54)
        self.segments = [s for s in (struct.unpack_from("<IIQQQQ", data, phoff + i * phsize)
                                     for i in range(phnum)) if s[0] == LOAD and s[1] & EXECUTABLE]
        sections = [struct.unpack_from("<IIQQQQ", data, shoff + i * shsize) for i in range(shnum)]
        named = {self.name(sections[strndx][4] + s[0]): s for s in sections}
        # Of a program without .eh_frame, such as one of Go, nothing is said.
        self.known = b".eh_frame" in named
        if self.known:
            self.read_frames(*named[b".eh_frame"][3:6])
        self.ranges.sort()

    def name(self, at):
        return self.data[at:self.data.index(b"\0", at)]

    def read_frames(self, addr, offset, size):
        """All FDEs, whose addresses count from where they are, as on x86-64."""
        at = offset
        while at + 8 <= offset + size:
            length, cie = struct.unpack_from("<II", self.data, at)
            if cie and length >= 12:
                start, nr = struct.unpack_from("<iI", self.data, at + 8)
                self.add((start + addr + at + 8 - offset) & (1 << 64) - 1, nr)
            at += 4 + length

    def add(self, start, size):
        for _, _, offset, addr, _, filesz in self.segments:
            if addr <= start < addr + filesz:
                self.ranges.append((start - addr + offset, start - addr + offset + size))

    def covers(self, offset):
        at = bisect.bisect(self.ranges, (offset, 1 << 64)) - 1
        return not self.known or (at >= 0 and offset < self.ranges[at][1])


class Files:
    """Those below a root; without one, and of what is not there, all code has CFI."""

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
        """Whether that code is right before the offset."""
        return self.read(path)[:offset].endswith(code)

    def covers(self, path, offset):
        elf = self.elf(path) if self.root is not None else None
        return elf is None or elf.covers(offset)
