#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Falsifies a recording of stackdump.

usage: doctor.py NUMBER < RECORDING > RECORDING

Makes the first NUMBER chains begin a byte later, and marks their samples as taken in the
kernel: stackcheck has to find these wrong stacks.
"""
import struct
import sys

SAMPLE, CHAIN = 2, 3

left = int(sys.argv[1])
data = bytearray(sys.stdin.buffer.read())
samples = {}
pos = 0
while pos < len(data):
    kind, size = struct.unpack_from("<II", data, pos)
    if kind == SAMPLE:
        cookie, = struct.unpack_from("<Q", data, pos + 24)
        samples.setdefault(cookie, []).append(pos)
    elif kind == CHAIN and left:
        cookie, nr = struct.unpack_from("<QQ", data, pos + 24)
        # The first address may be the entry point of an object.
        if nr > 1 and cookie in samples:
            first, = struct.unpack_from("<Q", data, pos + 40)
            struct.pack_into("<Q", data, pos + 40, first + 1)
            for sample in samples[cookie]:
                struct.pack_into("<Q", data, sample + 32, 0)
            left -= 1
    pos += size
if left:
    sys.exit("doctor.py: %d chains too few" % left)
sys.stdout.buffer.write(data)
