#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes single lines of the sources, and checks that a test fails for each change.

usage: mutate.py lists TOP
       mutate.py [-j JOBS] [-k PATTERN] host TOP WORKDIR
       mutate.py [-j JOBS] [-k PATTERN] guest TOP WORKDIR BUILDDIR

Each line of scripts/check/mutations/*.list has a change and the test that has to fail:

    FILE :: TEST :: OLD => NEW

OLD has to be found exactly once (any white space matches any other), so that lines of a list
do not become stale unnoticed; "lists" only checks that.  Changes are made in copies of the
tree in WORKDIR, where the tests first have to pass without a change.  A change that does
not compile is an error.  Prints TAP.
"""
import argparse
import fnmatch
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time

# The directories that tests on the host are built from.
HOST_PARTS = ["kernel/src", "libcodectl", "rig/host", "tools",
              "scripts/check/mutations"]


class Mutation:
    def __init__(self, where, file, test, old, new):
        self.where, self.file, self.test = where, file, test
        self.old, self.new = old, new

    def __str__(self):
        return "%s: %s => %s" % (self.file, self.old, self.new or "nothing")

    def apply(self, text):
        """Returns the changed text, or None if OLD is not there exactly once."""
        words = [re.escape(word) for word in self.old.split()]
        places = list(re.finditer(r"\s+".join(words), text))
        if len(places) != 1:
            return None
        start, end = places[0].span()
        return text[:start] + self.new + text[end:]


def read_list(path):
    mutations = []
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            where = "%s:%d" % (os.path.basename(path), number)
            try:
                file, test, change = [part.strip()
                                      for part in line.split(" :: ")]
                old, new = [part.strip()
                            for part in (change + " ").split(" => ")]
            except ValueError:
                sys.exit("mutate.py: %s: not FILE :: TEST :: OLD => NEW" % where)
            mutations.append(Mutation(where, file, test, old, new))
    return mutations


class Report:
    """TAP, from several threads."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = self.failed = 0

    def result(self, passed, name, said=""):
        with self.lock:
            self.count += 1
            self.failed += not passed
            for line in said.splitlines()[-20:]:
                print("# " + line)
            # A # would end the name.
            print("%sok %d %s" % ("" if passed else "not ", self.count,
                                  name.replace("#", "No.")), flush=True)

    def end(self):
        print("1..%d" % self.count)
        return 1 if self.failed or not self.count else 0


def run(command, cwd, seconds, env=None):
    """Returns the status, or None if it took too long, and the output."""
    with subprocess.Popen(command, cwd=cwd, env=env, text=True,
                          errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True) as process:
        try:
            said, _ = process.communicate(timeout=seconds)
            return process.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            said, _ = process.communicate()
            return None, said


def write(path, text):
    """Writes a new file, since the old one may have other hard links."""
    if os.path.exists(path):
        os.unlink(path)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


class Place:
    """A copy of the tree, in which mutations are tried one at a time."""

    def __init__(self, top, where):
        self.top, self.where = top, where
        self.seconds = {}

    def try_one(self, mutation, report):
        path = os.path.join(self.where, self.inside(mutation.file))
        text = read(path)
        changed = mutation.apply(text)
        if changed is None:
            report.result(False, str(mutation),
                          "%s: not found once" % mutation.where)
            return
        write(path, changed)
        try:
            status, said = self.build(mutation.test)
            if status != 0:
                report.result(False, "%s: does not compile" % mutation, said)
                return
            status, said = self.test(mutation.test)
        finally:
            write(path, text)
        by = self.noticed(mutation.test, status, said)
        if status == 0:
            report.result(False, "%s: %s does not notice" %
                          (mutation, mutation.test))
        elif not by:
            report.result(False, "%s: %s comes to no result" %
                          (mutation, mutation.test), said)
        else:
            report.result(True, "%s: noticed by %s: %s" %
                          (mutation, mutation.test, by))

    @staticmethod
    def noticed(test, status, said):
        """How the test failed; None if something other than the test failed."""
        failed = re.search(r"^\s*not ok \d+ (- )?(.*)$", said, re.M)
        if failed:
            return failed.group(2)
        if "check-dmesg: splat" in said:
            return "a splat"
        ended = re.search(r"^# end %s (\d+)$" % re.escape(test), said, re.M)
        # Also if the test was not reached, since the unchanged kernel reached it.
        hangs = "guest: no end within" in said
        if status is None or hangs or ended and ended.group(1) == "137":
            return "time"
        return "signal %d" % -status if status < 0 else None

    def try_unchanged(self, test, report):
        status, said = self.build(test)
        if status == 0:
            start = time.monotonic()
            status, said = self.test(test)
            self.seconds[test] = time.monotonic() - start
        report.result(status == 0, "%s passes where nothing is changed" % test,
                      "" if status == 0 else said)
        return status == 0


class HostPlace(Place):
    def inside(self, file):
        return file

    def build(self, test):
        return run(["make", "-s", "--no-print-directory", "-f",
                    "scripts/check/mutations/host.mk", "bin/" + test],
                   self.where, 600)

    def test(self, test):
        env = dict(os.environ)
        env.pop("EXPECT_ALL_FEATURES", None)
        formats = ["tools/tests/formats"] if test in ("parse_test", "wait_test") else []
        return run([os.path.join("bin", test)] + formats, self.where,
                   60 + 20 * self.seconds.get(test, 30), env)


def copy_for_host(top, where):
    shutil.rmtree(where, ignore_errors=True)
    for part in HOST_PARTS:
        shutil.copytree(os.path.join(top, part), os.path.join(where, part),
                        symlinks=True)


class GuestPlace(Place):
    """The objects of a kernel with one changed file, and a guest to boot."""

    def __init__(self, top, where, build):
        super().__init__(top, where)
        self.build_dir = build

    def inside(self, file):
        prefix = "kernel/src/"
        if not file.startswith(prefix):
            sys.exit("mutate.py: %s is not of the kernel" % file)
        return "obj/" + file[len(prefix):]

    def build(self, test):
        return run([os.path.join(self.top, "scripts/check/mutations/build-guest.sh"),
                    self.top, self.where, self.build_dir], self.where, 7200)

    def test(self, test):
        return run([os.path.join(self.top, "scripts/check/mutations/run-guest.sh"),
                    self.top, self.where, test], self.where, 2400)


def check_list(top, mutations, report, name):
    """Does each line apply to the current sources?"""
    stale = [mutation.where for mutation in mutations
             if mutation.apply(read(os.path.join(top, mutation.file))) is None]
    report.result(not stale, "what %s changes is there once" % name,
                  "\n".join(stale))


def check_rules(top, mutations, report):
    """Can each test on the host be built?"""
    tests = sorted({"bin/" + mutation.test for mutation in mutations})
    status, said = run(["make", "-n", "-f", "scripts/check/mutations/host.mk"] + tests,
                       top, 600)
    report.result(status == 0, "host.mk has the tests of host.list",
                  said[said.rfind("make:"):] if status else "")


def in_each(places, work, items, report):
    """Calls work(place, item) for all items, one at a time in each place."""
    left = queue.Queue()
    for item in items:
        left.put(item)

    def take(place):
        while True:
            try:
                item = left.get_nowait()
            except queue.Empty:
                return
            try:
                work(place, item)
            # Any error is a failure of the item.
            except BaseException as wrong:  # pylint: disable=broad-except
                report.result(False, "%s: %r" % (item, wrong))

    threads = [threading.Thread(target=take, args=(place,))
               for place in places]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def try_all(places, mutations, report):
    """Runs the unchanged tests, then the mutations of those that pass."""
    tests = list(dict.fromkeys(mutation.test for mutation in mutations))
    works = set()

    def try_test(place, test):
        if place.try_unchanged(test, report):
            works.add(test)

    # Build in the first place, and copy the result to the others.
    in_each(places[:1], try_test, tests[:1], report)
    for place in places[1:]:
        shutil.rmtree(place.where, ignore_errors=True)
        shutil.copytree(places[0].where, place.where, symlinks=True)
        place.seconds = places[0].seconds
    in_each(places, try_test, tests[1:], report)
    in_each(places, lambda place, mutation: place.try_one(mutation, report),
            [mutation for mutation in mutations if mutation.test in works], report)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", type=int, default=2, dest="jobs")
    parser.add_argument("-k", default="*", dest="pattern",
                        help="only those whose line matches")
    parser.add_argument("where", choices=["lists", "host", "guest"])
    parser.add_argument("top")
    parser.add_argument("work", nargs="?")
    parser.add_argument("build", nargs="?")
    args = parser.parse_args()
    top, jobs = os.path.abspath(args.top), max(1, args.jobs)

    report = Report()
    for name in ("host.list", "guest.list"):
        listed = read_list(os.path.join(top, "scripts/check/mutations", name))
        check_list(top, listed, report, name)
        if name == "host.list":
            check_rules(top, listed, report)
        if name == args.where + ".list":
            mutations = [mutation for mutation in listed
                         if fnmatch.fnmatchcase(
                             "%s :: %s" % (mutation.test, mutation),
                             "*%s*" % args.pattern)]
    if args.where == "lists":
        sys.exit(report.end())
    if not args.work:
        parser.error("WORKDIR is missing")
    work = os.path.abspath(args.work)
    if args.where == "host":
        places = [HostPlace(top, os.path.join(work, str(i)))
                  for i in range(jobs)]
        copy_for_host(top, places[0].where)
    else:
        shutil.rmtree(work, ignore_errors=True)
        os.makedirs(os.path.join(work, "0"))
        os.environ["JOBS"] = str(-(-os.cpu_count() // jobs))
        places = [GuestPlace(top, os.path.join(work, str(i)),
                             os.path.abspath(args.build))
                  for i in range(jobs)]
    try_all(places, mutations, report)
    sys.exit(report.end())


if __name__ == "__main__":
    main()
