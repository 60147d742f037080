#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges whether the outermost frames of user stacks are where a program or a thread starts.

usage: stacks.py [--folded FILE] [--root DIR] --ends FILE --exe REGEX PERF-SCRIPT [STACKS]

PERF-SCRIPT is the output of "perf script -F comm,pid,tid,time,ip,sym --show-mmap-events
--show-task-events". STACKS is the output of bpftrace for @[pid, ustack(perf)], or of a tool of
bcc under with_addresses.py; then only the mappings of PERF-SCRIPT are used. FILE of --ends is
the output of ends.py. DIR is where the files are. Processes count if the path of the file that
they execute matches REGEX. Samples without a frame in user space are counted separately: as
"gone" if they were taken amid exec or exit, where there is none, else as "none".

Prints for all processes together:
- "samples N", "complete N", "none N", "gone N", "lost N";
- "ends N WHERE" for each place where an incomplete stack ends, the most frequent first;
- "compiled N" and "compiled-complete N" for stacks through code of no file, if there are any,
  and "called N" and "called-complete N" for those of them that begin in a file;
- "caller N WHERE" for each place in a file to which such code returns in complete stacks.
WHERE also says whether the stack goes through code without CFI, where a walk follows whatever
is in the frame pointer, whether the kernel can compute the CFA of the last function, and whether
the tool has reached its limit of frames.
"""
import argparse
import bisect
import collections
import re
import sys

# Do not write to the source tree.
sys.dont_write_bytecode = True
import cfi  # noqa: E402

EVENT = re.compile(r"([\d.]+): PERF_RECORD_(MMAP2?|COMM|FORK)(.*)")
MMAP = re.compile(r" (-?\d+)/-?\d+: \[0x([0-9a-f]+)\(0x([0-9a-f]+)\) @ (?:0x)?([0-9a-f]+) .*?\]: "
                  r"(\S+) (.*)")
LOST = re.compile(r"PERF_RECORD_LOST lost (\d+)")
FORK = re.compile(r"\((-?\d+):-?\d+\):\((-?\d+):-?\d+\)")
EXEC = re.compile(r" exec: .*:(-?\d+)/-?\d+")
HEAD = re.compile(r"\S.*?\s(-?\d+)/-?\d+\s+[\d.]+:\s*$")
FRAME = re.compile(r"\s+([0-9a-f]+)(?: (.*))?$")
BPF_HEAD = re.compile(r"@\S*\[(\d+),\s*$")
BPF_EMPTY = re.compile(r"@\S*\[(\d+), *\]: (\d+)$")
BCC_HEAD = re.compile(r"    -\s+(.*) \((\d+)\)$")
# The tool itself is a program of the matrix: python3.
BCC_SELF = "profile-bpfcc"
# BPF's map of stacks, which bcc and bpftrace 0.17 use, keeps one stack per hash: -17 is -EEXIST.
# bpftrace prints the errors before all stacks, and does not say for which stacks.
BCC_MISSED = "    [Missed User Stack]"
BPF_MISSED = "ERROR: failed to look up stack id -17 "
# Times are only for the flame graph.
BPF_TIMES = "@ns["
KERNEL = 1 << 63
# Maximum number of frames in perf -g, bpftrace and bcc; perf counts the kernel's as well.
MOST_FRAMES = 127
# Kernel functions that run while there is no program yet, or no longer.
AMID_EXEC = re.compile(r"bprm_execve|begin_new_exec|load_elf_binary|setup_arg_pages")
# Kernel functions that take a deferred stack, or deliver a signal before the return to user
# space: perf uses a chain only for samples before it.
AMID_WALK = re.compile(r"process_unwind_deferred|arch_do_signal_or_restart")
AMID_EXIT = re.compile(r"do_exit|do_group_exit|exit_mmap|exit_mm|mmput")
# mov $__NR_execve,%eax; syscall: the registers point after this.
EXECVE = b"\xb8\x3b\0\0\0\x0f\x05"


def is_file(path):
    """Neither [vdso] nor //anon."""
    return path.startswith("/") and not path.startswith("//")


class Process:
    """The program that a process executes, and its mappings."""

    def __init__(self, other=None):
        self.exe = other.exe if other else None
        self.maps = list(other.maps) if other else []

    def map(self, start, size, offset, path):
        if self.exe is None and is_file(path):
            self.exe = path
        at = bisect.bisect(self.maps, (start,))
        # Remove earlier mappings of these addresses.
        while at > 0 and self.maps[at - 1][1] > start:
            at -= 1
            del self.maps[at]
        while at < len(self.maps) and self.maps[at][0] < start + size:
            del self.maps[at]
        self.maps.insert(at, (start, start + size, offset, path))

    def find(self, addr):
        """Path and offset in the file, or None for both."""
        at = bisect.bisect(self.maps, (addr, KERNEL << 1)) - 1
        if at < 0 or addr >= self.maps[at][1]:
            return None, None
        start, _, offset, path = self.maps[at]
        return path, addr - start + offset


class Ends:
    """The code at which a stack is complete, by path."""

    def __init__(self, lines):
        self.ranges = collections.defaultdict(list)
        for line in lines:
            start, end, path = line.rstrip("\n").split(" ", 2)
            self.ranges[path].append((int(start, 16), int(end, 16)))

    def have(self, path, offset):
        return any(start <= offset <= end for start, end in self.ranges.get(path, ()))


class Judge:
    def __init__(self, ends, exe, root=None):
        self.ends, self.exe, self.files = ends, re.compile(exe), cfi.Files(root)
        self.processes = collections.defaultdict(lambda: [Process()])
        self.facts = collections.Counter()
        self.where = collections.Counter()
        self.callers = collections.Counter()
        self.folded = collections.Counter()
        self.times = collections.Counter()

    def event(self, now, kind, text):
        if kind == "FORK":
            pid, parent = map(int, FORK.match(text).groups())
            # perf reports all mappings of a process that is older than the recording.
            if pid != parent:
                self.processes[pid].append(Process(self.processes[parent][-1] if now else None))
        elif kind == "COMM":
            match = EXEC.match(text)
            if match:
                self.processes[int(match[1])].append(Process())
        else:
            match = MMAP.match(text)
            if match and "x" in match[5]:
                self.processes[int(match[1])][-1].map(
                    *(int(match[i], 16) for i in (2, 3, 4)), match[6])

    def lives(self, pid, all_of_them):
        """The current program of the process, or all it has executed, if one of them counts."""
        known = self.processes.get(pid, [])
        known = known[::-1] if all_of_them else known[-1:]
        return known if any(map(self.counts, known)) else []

    def counts(self, process):
        return bool(process.exe and self.exe.fullmatch(process.exe))

    def stack(self, pid, frames, count=1, all_of_them=False):
        """Frames are pairs of address and name, the innermost first."""
        lives = self.lives(pid, all_of_them)
        kernel = [name for addr, name in frames if addr >= KERNEL]
        full = len(frames) == MOST_FRAMES
        frames = [f for f in frames if f[0] < KERNEL]
        if not lives:
            return
        amid = self.amid(kernel)
        if not frames:
            self.facts["gone" if amid else "none"] += count
            return
        process = self.live(lives, frames)
        if not self.counts(process):
            return
        self.facts["samples"] += count
        path, offset = process.find(frames[-1][0])
        # If one address is not in code, the frames after it are wrong, wherever they lead.
        paths = [process.find(addr)[0] for addr, _ in frames]
        complete = bool(path and self.ends.have(path, offset) and all(paths))
        compiled = [bool(p and not is_file(p) and not p.startswith("[")) for p in paths]
        if any(compiled):
            self.facts["compiled"] += count
            self.facts["compiled-complete"] += count * complete
            if paths[0] and is_file(paths[0]):
                self.facts["called"] += count
                self.facts["called-complete"] += count * complete
        if complete:
            self.facts["complete"] += count
            for i in range(len(frames) - 1):
                if compiled[i] and not compiled[i + 1]:
                    path, offset = process.find(frames[i + 1][0])
                    self.callers["%s+%#x" % (path.rsplit("/", 1)[-1], offset)] += count
        else:
            amid = amid or self.in_execve(*process.find(frames[0][0]))
            cut = ", cut at %d frames" % MOST_FRAMES if full else ""
            self.where[self.describe(process, frames) + cut + amid] += count
        self.folded[self.fold(process, frames)] += count

    def time(self, pid, frames, nr):
        lives = self.lives(pid, True)
        frames = [f for f in frames if f[0] < KERNEL]
        process = self.live(lives, frames) if lives and frames else None
        if process and self.counts(process):
            self.times[self.fold(process, frames)] += nr

    @staticmethod
    def live(lives, frames):
        """The program whose mappings contain most of the frames; of equal ones, the latest."""
        return max(lives, key=lambda process: sum(
            process.find(addr)[0] is not None for addr, _ in frames))

    @staticmethod
    def amid(kernel):
        for regex, what in (AMID_EXEC, "exec"), (AMID_EXIT, "exit"), (AMID_WALK, "walk"):
            if any(regex.match(name) for name in kernel):
                return ", amid " + what
        return ""

    def in_execve(self, path, offset):
        called = path and self.files.follows(path, offset, EXECVE)
        return ", amid exec" if called else ""

    def describe(self, process, frames):
        """The last frame before the first one that is not in code."""
        last, said, past, code = "nowhere", True, "", ", then no code"
        for i, (addr, name) in enumerate(frames):
            path, offset = process.find(addr)
            if path is None:
                break
            if is_file(path):
                # bpftrace 0.17 prints no name.
                name = re.sub(r"(?<=\w)[(<\[ ].*", "", name) or \
                    self.files.function(path, offset - (i > 0)) or "%#x" % offset
                last = "%s (%s)" % (name, path.rsplit("/", 1)[-1])
                said = self.files.says(path, offset - (i > 0))
                # A return address may belong to the next function.
                if not self.files.covers(path, offset - (i > 0)):
                    past = past or ", past code without CFI"
            else:
                last, said = path if path.startswith("[") else "compiled code", True
                if path != "[vdso]":
                    past = past or ", past compiled code"
        else:
            code = ""
        return last + ("" if said else ", whose CFA cannot be had") + code + past

    def fold(self, process, frames):
        return ";".join(self.name(process, *f) for f in reversed(frames))

    @staticmethod
    def name(process, addr, name):
        if not name:
            path, offset = process.find(addr)
            name = "%s+%#x" % (path.rsplit("/", 1)[-1], offset) if path else "[unknown]"
        return name.replace(";", ":")

    def perf(self, lines, samples):
        """Reads events, and samples if requested."""
        pid, frames = None, []
        for line in lines:
            event, head, lost = EVENT.search(line), HEAD.match(line), LOST.search(line)
            if lost:
                self.facts["lost"] += int(lost[1])
                continue
            if (event or head) and pid is not None:
                self.stack(pid, frames)
                pid = None
            if event:
                self.event(float(event[1]), event[2], event[3])
            elif head and samples:
                pid, frames = int(head[1]), []
            elif pid is not None:
                add_frame(frames, line)
        if pid is not None:
            self.stack(pid, frames)

    def counted(self, lines):
        """Reads the counts of bpftrace or bcc."""
        pid, frames, add, missed, refused = None, [], self.count, False, False
        for line in lines:
            line = line.rstrip("\n")
            missed = missed or line == BCC_MISSED
            refused = refused or line.startswith(BPF_MISSED)
            if line.startswith("@"):
                add = self.time if line.startswith(BPF_TIMES) else self.count
            if BPF_EMPTY.match(line):
                pid, count = map(int, BPF_EMPTY.match(line).groups())
                if not refused:
                    add(pid, [], count)
                elif add == self.count:
                    self.facts["lost"] += count
            elif BPF_HEAD.match(line):
                pid, frames = int(BPF_HEAD.match(line)[1]), []
            elif BCC_HEAD.match(line):
                head = BCC_HEAD.match(line)
                pid = int(head[2]) if head[1] != BCC_SELF else None
            elif line.startswith("]: ") or re.fullmatch(r" {8}\d+", line):
                nr = int(line.split()[-1])
                if missed:
                    self.facts["lost"] += nr
                elif pid is not None:
                    add(pid, frames, nr)
                frames, missed = [], False
            else:
                add_frame(frames, line)

    def count(self, pid, frames, nr):
        self.stack(pid, frames, nr, True)

    def report(self):
        for key in ("samples", "complete", "none", "gone", "lost"):
            print(key, self.facts[key])
        for key in ("compiled", "compiled-complete", "called", "called-complete"):
            if key in self.facts:
                print(key, self.facts[key])
        for where, count in self.callers.most_common():
            print("caller", count, where)
        for where, count in self.where.most_common():
            print("ends", count, where)


def add_frame(frames, line):
    match = FRAME.match(line.rstrip("\n"))
    if match:
        name = re.sub(r"\+(0x[0-9a-f]+|\d+)( [\[(].*)?$| \(.*\)$", "", match[2] or "")
        unknown = name == "[unknown]" or name.startswith("0x")
        frames.append((int(match[1], 16), "" if unknown else name))


def main():
    parser = argparse.ArgumentParser()
    for option in ("--ends", "--exe"):
        parser.add_argument(option, required=True)
    for option in ("--folded", "--root"):
        parser.add_argument(option)
    parser.add_argument("script")
    parser.add_argument("stacks", nargs="?")
    args = parser.parse_args()
    with open(args.ends) as ends:
        judge = Judge(Ends(ends), args.exe, args.root)
    with open(args.script, errors="replace") as script:
        judge.perf(script, args.stacks is None)
    if args.stacks:
        with open(args.stacks, errors="replace") as stacks:
            judge.counted(stacks)
    judge.report()
    if args.folded:
        with open(args.folded, "w") as folded:
            for stack, count in (judge.times or judge.folded).items():
                print(stack, count, file=folded)


if __name__ == "__main__":
    main()
