#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws two flame graphs of the same program, recorded in two ways, above one another.

usage: picture.py TITLE FOLDED TITLE FOLDED > SVG

Each line of FOLDED is a stack, the outermost frame first, and its count, as the demo writes
them. The width of a frame is its share of all samples, and it stands on its caller; frames
that are too narrow to read are left out. The same input gives the same picture.
"""
import sys
from xml.sax.saxutils import escape

WIDTH, ROW, FONT = 1000, 17, 11
TITLE, GAP = 24, 14
MIN_WIDTH = 3
LETTER = 6.3		# the width of a letter in a monospaced font of that size
COMPILED, OTHER = "#f4b26a", "#9fc5e8"


class Frame:
    """A function with one sequence of callers, and the number of samples in it."""

    def __init__(self):
        self.count, self.callees = 0, {}

    def add(self, functions, count):
        self.count += count
        if functions:
            self.callees.setdefault(functions[0], Frame()).add(functions[1:], count)

    def depth(self, least):
        return 1 + max((callee.depth(least) for callee in self.callees.values()
                        if callee.count >= least), default=0)


def read(path):
    root = Frame()
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, count = line.rsplit(" ", 1)
            root.add(stack.split(";"), int(count))
    return root


def draw_box(name, x, y, width):
    room = int((width - 6) / LETTER)
    text = name.removeprefix("jit:")
    text = text if len(text) <= room else text[:room - 1] + "…" if room > 2 else ""
    yield (f'<rect x="{x:.1f}" y="{y}" width="{width - 0.6:.1f}" height="{ROW - 1}" rx="2" '
           f'fill="{COMPILED if name.startswith("jit:") else OTHER}"><title>{escape(name)}</title></rect>')
    if text:
        yield f'<text x="{x + 3:.1f}" y="{y + ROW - 5}">{escape(text)}</text>'


def draw(frame, x, y, scale):
    for name, callee in sorted(frame.callees.items()):
        width = callee.count * scale
        if width >= MIN_WIDTH:
            yield from draw_box(name, x, y, width)
            yield from draw(callee, x, y - ROW, scale)
        x += width


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__.split("\n\n")[1])
    y, parts = 0, []
    for title, path in zip(sys.argv[1::2], sys.argv[2::2]):
        root = read(path)
        scale = WIDTH / root.count
        parts.append(f'<text x="0" y="{y + 16}" class="title">{escape(title)}</text>')
        y += TITLE + ROW * (root.depth(MIN_WIDTH / scale) - 1)
        parts += draw(root, 0, y - ROW, scale)
        y += GAP
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
          f'viewBox="0 0 {WIDTH} {y}" font-family="monospace" font-size="{FONT}">')
    print("<!-- SPDX-License-Identifier: MIT -->")
    print("<style>.title { font: bold 14px sans-serif }</style>")
    print(f'<rect width="{WIDTH}" height="{y}" fill="white"/>')
    print("\n".join(parts))
    print("</svg>")


if __name__ == "__main__":
    main()
