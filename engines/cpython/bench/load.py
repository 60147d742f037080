# SPDX-License-Identifier: MIT
"""Loops and recursion that CPython compiles, with C functions that call back in between.

usage: load.py SECONDS|xROUNDS
"""
import functools
import json
import re
import sys
import time
import zlib


def collatz(limit):
    longest = 0
    for start in range(1, limit):
        n, steps = start, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        if steps > longest:
            longest = steps
    return longest


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def tree(depth):
    if depth == 0:
        return [0]
    # C calls back: sorted() and map() are written in C.
    below = sorted(tree(depth - 1), key=lambda leaf: -leaf)
    return list(map(lambda leaf: leaf * 2 + 1, below)) + [depth]


def words(text):
    total = 0
    for i in range(60):
        swapped = re.sub(r"[a-z]+", lambda m: str(sum(map(ord, m[0])) * i), text)
        total += len(swapped)
    return total


def nested(depth):
    """Recursion as deep in C as in Python."""
    if depth == 0:
        return sum(i * i % 7 for i in range(500))
    return functools.reduce(lambda a, b: a + nested(depth - 1) if b == 3 else a + b, range(5), 0)


def sieve(limit):
    prime = bytearray([1]) * limit
    for i in range(2, int(limit ** 0.5) + 1):
        if prime[i]:
            prime[i * i::i] = bytes(len(range(i * i, limit, i)))
    return sum(prime) - 2


def called():
    """Slow C functions, called from a compiled loop."""
    total = 0
    for i in range(300):
        total += zlib.crc32(b"x" * 3000, i) & 7
        total += len(json.dumps({"i": [i] * 30})) + int("%09d" % i) % 3
    return total


class Stack:
    def __init__(self):
        self.items = []

    def __lt__(self, other):
        return sum(self.items) < sum(other.items)

    def push(self, item):
        self.items.append(item)
        return self


def objects():
    stacks = [Stack().push(i * 37 % 101).push(i) for i in range(200)]
    return len(sorted(stacks)[0].items)


def main():
    limit, text = sys.argv[1], "the quick brown fox jumps over the lazy dog " * 4
    end = time.monotonic() + float(limit.lstrip("x"))
    rounds = 0
    while rounds < int(limit[1:]) if limit[0] == "x" else time.monotonic() < end:
        found = (collatz(700), fib(16), len(tree(9)), words(text), nested(12), sieve(5000),
                 called(), objects())
        rounds += 1
    print(rounds, found, sys._jit.is_enabled())


main()
