#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
usage: coverage-report.py LIST PATCHES ROOT:JSON...

Prints the share of lines and branches that were reached according to gcovr's JSON files, and
those that were not reached. A source that was built in several ways counts once. Fails if,
apart from what LIST names, kernel, libcodectl or tools have less than 95 % of their lines or
90 % of their branches reached, or if LIST names code that was reached or does not exist.

In files of upstream projects, only the lines that one of the PATCHES adds count. Branches count
only if the text of the line has a condition: those that macros and inlined functions add to
other lines, or have in headers, do not.

A function that gcc has inlined in all its callers has the branches of all copies, one copy after
the other, and in a copy some of them may always go the same way. A branch of its source is
reached if it was reached in one of the copies; copies are only distinguished if the number of
branches is a multiple of that of the conditions of the line. Compilers order branches
differently, so of several builds the one that reached the largest share of a line counts.

LIST has reasons, each followed by indented lines of the code that it applies to:

	FILE FUNCTION: TEXT OF THE LINE

Instead of the text, "*" means the whole function. A "?" in front means that it depends on timing,
and may be reached.
"""
import json
import os
import re
import sys

LINES, BRANCHES = 95.0, 90.0
CONDITION = re.compile(r"\b(if|while|for|switch)\b|for_each|\?|&&|\|\|")
SIGNATURE = re.compile(r"\bSYSCALL_DEFINE\d\((?P<call>\w+)|\b(?!__attribute__)(?P<name>\w+)\(")
CHANGED = "kernel/unwind/user.c", "kernel/unwind/deferred.c"


class Line:
    """A line of a source, with the best result of its builds."""

    def __init__(self, function, text):
        self.function, self.text = function, text
        self.reached = self.listed = False
        self.branches = self.taken = 0

    def add(self, found, inlined):
        reached = [branch["count"] > 0 for branch in found["branches"]]
        if not CONDITION.search(self.text):
            reached = []
        elif inlined:
            reached = merge_copies(reached, conditions(self.text))
        taken, branches = sum(reached), len(reached)
        if not self.branches or branches and \
           share(taken, branches) > share(self.taken, self.branches):
            self.branches, self.taken = branches, taken
        self.reached |= found["count"] > 0

    def whole(self):
        return self.reached and self.taken == self.branches


def conditions(text):
    """Upper bound of the number of branches in the text of a line; 0: unknown."""
    if re.search(r"\b(for|switch)\b|for_each", text):
        return 0
    starts = len(re.findall(r"\b(?:if|while)\b|\?", text))
    return (starts or 1) + len(re.findall(r"&&|\|\|", text))


def merge_copies(reached, nr_conditions):
    nr = 2 * nr_conditions
    if not nr or not reached or len(reached) % nr:
        return reached
    return [any(reached[i::nr]) for i in range(nr)]


def share(part, whole):
    return 100.0 * part / whole if whole else 100.0


def read_patches(directory):
    """The numbers of the lines that a series of patches adds, by file name."""
    added = {}
    with open(os.path.join(directory, "series"), encoding="utf-8") as series:
        names = [line.strip() for line in series if not line.startswith("#")]
    for name in filter(None, names):
        with open(os.path.join(directory, name), encoding="utf-8") as patch:
            apply_patch(patch.read().splitlines(), added)
    return added


def apply_patch(text, added):
    """Adds the lines that one patch adds, and moves those that earlier ones have added."""
    file = None
    for line in text:
        hunk = re.match(r"@@ -(\d+)\S* \+(\d+)", line)
        if line.startswith("+++ "):
            file = line[4:].split("\t")[0].partition("/")[2]
        elif hunk:
            new = int(hunk[2])
        elif file and line.startswith(("+", "-")) and not line.startswith("--"):
            own = added.setdefault(file, set())
            step = 1 if line[0] == "+" else -1
            gone = new if step < 0 else None
            added[file] = {n + step * (n >= new) for n in own if n != gone}
            if step > 0:
                added[file].add(new)
                new += 1
        elif file and line.startswith(" "):
            new += 1


def functions(texts):
    """
    The first line and the name of each function. The compiler does not report inlined ones, so this
    looks for lines with text in the first column before a brace.
    """
    signature, first = "", 0
    for number, text in enumerate(texts, 1):
        if text == "{" and SIGNATURE.search(signature):
            found = SIGNATURE.search(signature)
            yield first, "sys_" + found["call"] if found["call"] else found["name"]
        if not text or text[0] in "#/*{} " or text[-1] in ";}/":
            signature = ""
        elif signature or text[0] != "\t":
            first = first if signature else number
            signature += text + " "


def read_tracefile(argument, added, files):
    """Adds the results to files, by file name and line number."""
    root, path = argument.rsplit(":", 1)
    with open(path, encoding="utf-8") as tracefile:
        found_files = json.load(tracefile)["files"]
    for file in found_files:
        with open(os.path.join(root, file["file"]), encoding="utf-8") as source:
            texts = [text.rstrip() for text in source]
        starts = list(functions(texts))
        with_code = {f["name"].split(".")[0].removeprefix("__do_") for f in file["functions"]}
        lines = files.setdefault(file["file"].removeprefix("kernel/src/"), {})
        for found in file["lines"]:
            number = found["line_number"]
            # Newer versions of gcovr leave out members that are false.
            if found.get("gcovr/noncode") or found.get("gcovr/excluded") or \
               file["file"] in CHANGED and number not in added[file["file"]]:
                continue
            function = "".join([name for start, name in starts if start <= number][-1:])
            line = lines.setdefault(number, Line(function, texts[number - 1].strip()))
            line.add(found, function not in with_code)


def read_list(path):
    """Yields entries as (file, function, text, whether it may be reached)."""
    entry = re.compile(r"\t(\?)?(\S+) (\S+): (.*)$")
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("\t"):
                continue
            match = entry.match(line)
            if not match:
                sys.exit(f"{path}: not FILE FUNCTION: TEXT: {line.strip()}")
            timing, file, function, text = match.groups()
            yield file, function, text.strip(), bool(timing)


def shares(lines):
    return (share(sum(line.reached for line in lines), len(lines)),
            share(sum(line.taken for line in lines), sum(line.branches for line in lines)))


def row(name, lines):
    print("%-38s %5d of %5d %6.1f %%  %5d of %5d %6.1f %%" %
          (name, sum(line.reached for line in lines), len(lines), shares(lines)[0],
           sum(line.taken for line in lines), sum(line.branches for line in lines),
           shares(lines)[1]))


def table(files):
    """Prints the table; returns the parts of the project that are below a bound."""
    wrong = []
    print("%-46s %-24s%s" % ("", "lines", "branches"))
    for part in "kernel", "libcodectl", "tools":
        own = {name: list(lines.values()) for name, lines in sorted(files.items())
               if name.startswith(part + "/") or
               part == "kernel" and not name.startswith(("libcodectl/", "tools/"))}
        for name, lines in own.items():
            row(name, lines)
        lines = sum(own.values(), [])
        rest = [line for line in lines if not line.listed]
        row("all of " + part, lines)
        row("  beside what is listed", rest)
        reached = shares(rest)
        if not rest or reached[0] < LINES or reached[1] < BRANCHES:
            wrong.append(f"{part}: less than {LINES:.0f} % of lines or "
                         f"{BRANCHES:.0f} % of branches")
    return wrong


def excuse(files, entries):
    """Marks the code that the list names; returns errors in the list."""
    wrong = []
    for name, function, text, timing in entries:
        named = [line for line in files.get(name, {}).values()
                 if line.function == function and text in ("*", line.text)]
        lost = [line for line in named if not line.whole()]
        for line in lost:
            line.listed = True
        if not named:
            wrong.append(f"listed, but not there: {name} {function}: {text}")
        elif not lost and not timing:
            wrong.append(f"listed, but reached: {name} {function}: {text}")
    return wrong


def unreached(files, kind):
    for name, lines in sorted(files.items()):
        for number, line in sorted(lines.items()):
            if not line.listed and kind(line):
                yield f"{name}:{number}: {line.taken} of {line.branches} " \
                      f"branches: {line.function}: {line.text}"


def main():
    files = {}
    added = read_patches(sys.argv[2])
    for argument in sys.argv[3:]:
        read_tracefile(argument, added, files)
    wrong = excuse(files, list(read_list(sys.argv[1])))
    wrong += table(files)
    print("\nLines that were not reached, and are not listed:")
    print("\n".join(unreached(files, lambda line: not line.reached)))
    print("\nThe same of branches:")
    print("\n".join(unreached(files, lambda line: line.reached and not line.whole())))
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main())
