#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the waits of a program as reported by each tool of "run", and the costs of the tools.

usage: shares.py RESULTS SECONDS

Prints a table, and fails if codectl's shares differ from the program's by more than 2 points,
or one of its stacks does not reach main().
"""
import collections
import json
import os
import re
import sys

FUNCTIONS = ("take_lock", "take_byte")
TOOLS = (
    ("codectl", "codectl record --wait"),
    ("wakers", "codectl record --wait --wakers --kernel"),
    ("defer", "perf record -e sched:sched_switch --call-graph fp,defer"),
    ("perf", "perf record -e sched:sched_switch -g"),
    ("trace", "trace-cmd record -e sched_switch -O userstacktrace_delay"),
    ("bpftrace", "bpftrace: offcputime"),
)
HEAD = re.compile(r"\s*(\d+)\s+([\d.]+): +sched:sched_switch: .* ==> .*:(\d+) \[")
TRACE_HEAD = re.compile(r"\s*(.*)-(\d+)\s+\[\d+\].*?([\d.]+): (\S+): +(.*)")


class Waits:
    """Nanoseconds of waits in each function, and of the waits whose stack reaches main()."""

    def __init__(self):
        self.ns, self.whole = collections.Counter(), collections.Counter()

    def add(self, functions, ns):
        for function in FUNCTIONS:
            if function in functions:
                self.ns[function] += ns
                self.whole[function] += ns if "main" in functions else 0

    def complete(self):
        return sum(self.whole.values()) / max(sum(self.ns.values()), 1)


def add_switches(waits, switches):
    """A thread waits from the time it leaves its CPU until it is back.

    Of each switch, in order: the time, who leaves and where, and who comes.
    """
    left = {}
    for time, tid, next_tid, functions in switches:
        since, where = left.pop(next_tid, (0, ()))
        waits.add(where, round((time - since) * 1e9))
        left[tid] = (time, functions)


def from_codectl(path, waits):
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    functions = [frame.get("function") for frame in report["frames"]]
    for sample in report["samples"]:
        if sample["event"].startswith("wait:"):
            waits.add({functions[frame] for frame in sample["frames"]}, sample["ns"])


def from_script(path, waits):
    """perf prints an event when its deferred stack comes."""
    events = []
    with open(path, encoding="utf-8", errors="replace") as file:
        for event in file.read().split("\n\n"):
            lines = event.strip("\n").split("\n")
            head = HEAD.match(lines[0])
            if not head:
                continue
            events.append((float(head[2]), int(head[1]), int(head[3]),
                           {re.sub(r"\+0x.*", "", line.split()[1])
                            for line in lines[1:] if len(line.split()) > 1}))
    add_switches(waits, sorted(events, key=lambda event: event[0]))


def from_trace(path, waits):
    """Stacks come later; a cookie identifies the event."""
    latest, asked, stack, events = {}, {}, None, []
    stacks = collections.defaultdict(set)
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            head = TRACE_HEAD.match(line)
            if not head:
                if stack and line.startswith(" => "):
                    stacks[stack].add(re.sub(r"\+0x.*", "", line[4:].strip()))
                continue
            tid, time, event, rest = int(head[2]), float(head[3]), head[4], head[5]
            cookie = re.search(r"cookie=([0-9a-f]+)", rest)
            stack = cookie[1] if cookie and event == "user_unwind_stack" else None
            if event == "sched_switch":
                latest[tid] = len(events)
                events.append((time, tid, int(re.search(r"==> .*:(\d+) \[", rest)[1])))
            elif event == "user_unwind" and tid in latest:
                asked[latest[tid]] = cookie[1]
    add_switches(waits, (event + (stacks.get(asked.get(number), set()),)
                         for number, event in enumerate(events)))


def from_bpftrace(path, waits):
    frames = set()
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            end = re.match(r".*\]: (\d+)$", line)
            if line.startswith("@ns["):
                frames = set()
            elif end:
                waits.add(frames, int(end[1]))
            elif line.strip():
                frames.add(re.sub(r"\+\d+.*", "", line.split(maxsplit=1)[1].strip()))


READERS = {"json": from_codectl, "script": from_script, "maps": from_bpftrace}


def waits_of(results, tool):
    waits = Waits()
    for kind, reader in READERS.items():
        path = os.path.join(results, f"{tool}.{kind}")
        if os.path.exists(path):
            (from_trace if tool == "trace" else reader)(path, waits)
    return waits


def told_of(results, tool):
    """The share of each function according to the program itself."""
    told = {}
    with open(os.path.join(results, tool + ".told"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            told[words[0]] = int(words[1])
    return {function: 100 * told[function] / told["all"] for function in FUNCTIONS}


def costs_of(results):
    costs = {}
    with open(os.path.join(results, "costs"), encoding="utf-8") as file:
        for line in file:
            words = line.split()
            costs[words[0]] = (float(words[1]), int(words[2]))
    return costs


def main():
    results, seconds = sys.argv[1], float(sys.argv[2])
    costs, failed = costs_of(results), False
    print("| | mutex, % | by the program | pipe, % | by the program | as far as main(), % "
          "| time of a switch | MB |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for tool, name in TOOLS:
        waits, told = waits_of(results, tool), told_of(results, tool)
        cells = [name]
        for function in FUNCTIONS:
            share = waits.ns[function] / seconds / 1e7
            cells += [f"{share:.1f}", f"{told[function]:.1f}"]
            if tool in ("codectl", "wakers") and abs(share - told[function]) > 2:
                failed = True
        cells.append(f"{100 * waits.complete():.1f}")
        if tool in ("codectl", "wakers") and waits.complete() < 0.999:
            failed = True
        time, size = costs.get(tool, (0, 0))
        cells += [f"{time / costs['none'][0]:.2f}", f"{size / 1e6:.1f}"]
        print("| " + " | ".join(cells) + " |")
    print(f"\nA switch again without a tool: {costs['again'][0] / costs['none'][0]:.2f}.")
    if failed:
        print("FAILED: codectl's shares or stacks")
    return failed


if __name__ == "__main__":
    sys.exit(main())
