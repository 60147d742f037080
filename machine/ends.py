#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds the code of the outermost frames of programs and threads in the files of a tree.

usage: ends.py TREE PATH...

Prints the file offsets of the first and the last byte of each such piece of code, and the path.
PATH is a program or library below TREE. The pieces are: the entry points of programs and of
the dynamic linker; the code that clone() and clone3() run in a new thread, which clears the
frame pointer; and functions found by name in files that are not stripped, such as the start of
a goroutine or of a thread of musl.
"""
import re
import subprocess
import sys

# Bytes after the entry point that belong to it.
ENTRY = 64
# mov $56 or $435 to %eax, syscall
CLONE = re.compile(rb"\xb8(?:\x38\x00|\xb3\x01)\x00\x00\x0f\x05")
# xor %ebp,%ebp
NO_FRAME = b"\x31\xed"
NAMES = re.compile(r"_start|_start_c|_?_?clone3?|_rt0_amd64(_linux)?|"
                   r"runtime\.(goexit|goexit0|mstart|rt0_go)(\.abi0)?")


def readelf(option, path):
    return subprocess.run(["readelf", option, "-W", path], capture_output=True, text=True,
                          check=True).stdout


def segments(path):
    """The executable ones: address, size, offset."""
    for line in readelf("-l", path).splitlines():
        word = line.split()
        if word[:1] == ["LOAD"] and "E" in word[6:-1]:
            yield int(word[2], 16), int(word[4], 16), int(word[1], 16)


def offsets(path, addr):
    for start, size, offset in segments(path):
        if start <= addr < start + size:
            yield addr - start + offset


def ends(path):
    entry = int(re.search(r"Entry point address:\s*(\S+)", readelf("-h", path))[1], 16)
    for offset in offsets(path, entry) if entry else ():
        yield offset, offset + ENTRY
    with open(path, "rb") as file:
        data = file.read()
    for match in CLONE.finditer(data):
        clear = data.find(NO_FRAME, match.end(), match.end() + 32)
        if clear >= 0:
            yield clear, clear + 48
    for line in readelf("-s", path).splitlines():
        word = line.split()
        if len(word) == 8 and word[3] == "FUNC" and NAMES.fullmatch(word[7]):
            for offset in offsets(path, int(word[1], 16)):
                # A return address may be just past the last call.
                yield offset, offset + max(int(word[2], 0), ENTRY)


for name in sys.argv[2:]:
    with open(sys.argv[1] + name, "rb") as program:
        if program.read(4) != b"\x7fELF":
            continue
    for first, last in sorted(set(ends(sys.argv[1] + name))):
        print("%x %x %s" % (first, last, name))
