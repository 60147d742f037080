#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Tests a flame graph in a browser as a user sees and operates it.  Prints TAP.
#
# flamegraph_browser.py CODECTL [SCREENSHOTS]
#
# CHROMIUM names the browser, which is controlled through its debugging pipe.

import base64
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

BROWSER = os.environ.get("CHROMIUM", "chromium")


class Page:
    """A page in a separate browser."""

    def __init__(self, directory):
        to_read, self.to = os.pipe()
        self.answers, to_write = os.pipe()
        for number, wanted in ((to_read, 3), (to_write, 4)):
            os.set_inheritable(number, True)
        command = [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu",
                   "--window-size=1250,900", "--remote-debugging-pipe",
                   "--user-data-dir=" + directory + "/profile", "about:blank"]
        shell = 'exec 3<&%d 4>&%d; exec "$@"' % (to_read, to_write)
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", *command],
                                        close_fds=False, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.left, self.number, self.session = b"", 0, None
        self.prompt, self.loaded, self.errors = None, False, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Runtime.enable")

    def receive(self):
        while b"\0" not in self.left:
            part = os.read(self.answers, 1 << 16)
            if not part:
                raise EOFError("the browser has ended")
            self.left += part
        message, _, self.left = self.left.partition(b"\0")
        return json.loads(message)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def event(self, message):
        method = message.get("method")
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Page.javascriptDialogOpening":
            self.send("Page.handleJavaScriptDialog", accept=self.prompt is not None,
                      promptText=self.prompt or "")
        elif method == "Runtime.exceptionThrown":
            self.errors.append(message["params"]["exceptionDetails"]["text"])

    def call(self, method, **parameters):
        number = self.send(method, **parameters)
        while True:
            message = self.receive()
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                return message["result"]
            self.event(message)

    def open(self, path):
        self.loaded = False
        self.call("Page.navigate", url="file://" + path)
        while not self.loaded:
            self.event(self.receive())

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["text"])
        return result["result"].get("value")

    def click(self, selector):
        """The coordinates of the middle of the element."""
        x, y = self.value("""(function () {
            var element = document.querySelector(%s), box;
            element.scrollIntoView({ block: "center" });
            box = element.getBoundingClientRect();
            return [box.x + box.width / 2, box.y + box.height / 2]; })()"""
                          % json.dumps(selector))
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left",
                      clickCount=1)

    def key(self, key, code, modifiers=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                      modifiers=modifiers)

    def screenshot(self, path):
        picture = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as to:
            to.write(base64.b64decode(picture))

    def close(self):
        self.call("Browser.close")
        self.process.wait()


class Tests:
    """Numbers the checks."""

    def __init__(self):
        self.number, self.failed = 0, 0

    def check(self, name, good, seen=None):
        self.number += 1
        if not good:
            self.failed += 1
            print("# seen:", repr(seen))
        print("%s %d %s" % ("ok" if good else "not ok", self.number, name))


def recording(stacks):
    """A recording of (functions, outermost first; weight), all of one event and task."""
    lines = [{"codectl-recording": 1}, {"event": {"name": "test:event"}},
             {"task": {"comm": "test", "pid": 1, "tid": 1}}]
    frames, numbers = {}, {}
    for functions, _ in stacks:
        for name in functions:
            if name not in frames:
                frames[name] = len(frames)
                lines.append({"frame": {"function": name, "file": "/bin/test"}})
    for functions, weight in stacks:
        caller = None
        for depth, name in enumerate(functions):
            key = tuple(functions[:depth + 1])
            if key not in numbers:
                numbers[key] = len(numbers)
                stack = {"frame": frames[name]}
                if caller is not None:
                    stack["caller"] = caller
                lines.append({"stack": stack})
            caller = numbers[key]
        lines.append({"sample": {"stack": caller, "task": 0, "event": 0, "time": 0,
                                 "events": weight}})
    lines.append({"end": {}})
    return "".join(json.dumps(line) + "\n" for line in lines)


def draw(codectl, directory, name, stacks, base=None):
    paths = [directory + "/" + name + suffix for suffix in (".rec", ".base", ".svg")]
    with open(paths[0], "w") as to:
        to.write(recording(stacks))
    command = [codectl, "report", paths[0], "--flamegraph", paths[2]]
    if base:
        with open(paths[1], "w") as to:
            to.write(recording(base))
        command += ["--diff", paths[1]]
    subprocess.run(command, check=True)
    return paths[2]


HOSTILE = '</title><script>window.hostile = 1</script>"&amp;\'>]]>'
STACKS = [(["main", "read_all", "parse"], 50), (["main", "read_all"], 10),
          (["main", "std::map<int, std::less<int> >::at(int const&)", "throw_it"], 30),
          (["main", HOSTILE, "a_name_that_is_longer_than_its_box" * 4], 10)]
SHOWN = """(function (name) {
    return Array.from(document.querySelectorAll("g.f")).filter(function (g) {
        return g.querySelector("title").textContent.startsWith(name + " (") &&
               g.style.display !== "none"; }).map(function (g) {
        var box = g.querySelector("rect").getBoundingClientRect();
        return [Math.round(box.x), Math.round(box.width), g.querySelector("text").textContent,
                g.querySelector("rect").getAttribute("fill")]; }); })(%s)"""


def shown(page, name):
    return page.value(SHOWN % json.dumps(name))


def test_drawing(tests, page):
    boxes = {name: shown(page, name) for name in ("all", "main", "read_all", "parse")}
    tests.check("each function has one box", all(len(boxes[name]) == 1 for name in boxes), boxes)
    widths = [boxes[name][0][1] for name in ("all", "main", "read_all", "parse")]
    tests.check("widths are shares", widths == [1180, 1180, 708, 590], widths)
    tests.check("names are in the boxes", boxes["parse"][0][2] == "parse", boxes)
    long = shown(page, "a_name_that_is_longer_than_its_box" * 4)
    tests.check("a long name is cut", long and re.fullmatch("a_name.*[.][.]", long[0][2]), long)
    fits = page.value("""Array.from(document.querySelectorAll("g.f")).every(function (g) {
        return g.querySelector("text").getBoundingClientRect().width <=
               g.querySelector("rect").getBoundingClientRect().width + 4; })""")
    tests.check("no name is wider than its box", fits, fits)
    tests.check("markup in a name is text", page.value("window.hostile") is None and
                len(shown(page, HOSTILE)) == 1, page.value("window.hostile"))


def test_details(tests, page):
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    page.click("g.f rect")
    details = page.value("document.getElementById('details').textContent")
    tests.check("the box under the pointer is described", details ==
                "all (100 events, 100.00 %)", details)


def box_of(page, name):
    """Gives the box of a function an id, and returns its selector."""
    page.value("""document.querySelectorAll("g.f").forEach(function (g) {
        if (g.querySelector("title").textContent.startsWith(%s + " ("))
            g.id = "wanted"; else g.removeAttribute("id"); })""" % json.dumps(name))
    return "#wanted rect"


def test_zoom(tests, page):
    page.click(box_of(page, "read_all"))
    boxes = {name: shown(page, name) for name in ("main", "read_all", "parse", "throw_it")}
    tests.check("a click zooms", boxes["read_all"][0][1] == 1180 and
                boxes["parse"][0][1] == 983, boxes)
    tests.check("callers are as wide", boxes["main"][0][1] == 1180, boxes)
    tests.check("others are hidden", not boxes["throw_it"], boxes)
    page.click("#reset")
    tests.check("the zoom is reset", shown(page, "parse")[0][1] == 590 and
                shown(page, "throw_it"), shown(page, "parse"))


def test_search(tests, page, screenshot):
    page.prompt = "^read|parse|throw"
    page.key("f", 70, 2)
    matched = page.value("document.getElementById('matched').textContent")
    tests.check("Ctrl-F searches, and counts nothing twice", matched == "Matched: 90.00 %", matched)
    fills = [shown(page, name)[0][3] for name in ("read_all", "parse", "throw_it", "main")]
    tests.check("what matches is marked", fills[:3] == ["rgb(230,0,230)"] * 3 and
                fills[3] != fills[0], fills)
    screenshot("search")
    page.key("Escape", 27)
    matched = page.value("document.getElementById('matched').textContent")
    tests.check("Escape ends the search", matched == " " and
                shown(page, "parse")[0][3] != "rgb(230,0,230)", matched)
    page.prompt = "("
    page.click("#search")
    matched = page.value("document.getElementById('matched').textContent")
    tests.check("what is no expression is said", "nvalid" in matched, matched)
    page.prompt = None
    page.click("#search")
    tests.check("a search that is given up changes nothing",
                shown(page, "parse")[0][3] != "rgb(230,0,230)", None)


def many_stacks():
    """Some 20,000 frames, 200 deep."""
    stacks = []
    for i in range(400):
        depth = 20 + i % 180
        stacks.append((["main"] + ["f%d_%d" % (i // 2 ** max(0, 6 - level), level)
                                   for level in range(depth)], 1 + i % 7))
    return stacks


def test_many(tests, page, path):
    page.open(path)
    boxes = page.value('document.querySelectorAll("g.f").length')
    tests.check("thousands of frames are drawn", boxes > 20000, boxes)
    share = page.value('flamegraph.search("_100$")')
    tests.check("and searched", share and 30 < float(share) < 80, share)
    page.click(box_of(page, "f399_19"))
    tests.check("and zoomed", shown(page, "f399_19")[0][1] == 1180, shown(page, "f399_19"))


def test_diff(tests, page, path):
    page.open(path)
    fills = {name: shown(page, name)[0][3] for name in ("parse", "throw_it", "main")}
    red = [int(part) for part in re.findall("[0-9]+", fills["parse"])]
    blue = [int(part) for part in re.findall("[0-9]+", fills["throw_it"])]
    same = [int(part) for part in re.findall("[0-9]+", fills["main"])]
    tests.check("what has grown is red", red[0] > red[2], fills)
    tests.check("what has shrunk is blue", blue[2] > blue[0], fills)
    tests.check("what has not changed is neither", same == [215, 215, 215], fills)


def main():
    # Do not hang if the browser does.
    signal.alarm(1200)
    codectl = sys.argv[1]
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    tests = Tests()
    with tempfile.TemporaryDirectory() as directory:
        page = Page(directory)

        def screenshot(name):
            if pictures:
                page.screenshot("%s/%s.png" % (pictures, name))

        page.open(draw(codectl, directory, "few", STACKS))
        test_drawing(tests, page)
        screenshot("drawing")
        test_details(tests, page)
        test_zoom(tests, page)
        test_search(tests, page, screenshot)
        test_many(tests, page, draw(codectl, directory, "many", many_stacks()))
        screenshot("many")
        base = [(functions, 110 - weight) for functions, weight in STACKS[:1] + STACKS[2:3]]
        test_diff(tests, page, draw(codectl, directory, "diff", STACKS, base))
        screenshot("diff")
        tests.check("the script fails nowhere", not page.errors, page.errors)
        page.close()
    print("1..%d" % tests.number)
    return tests.failed != 0


if __name__ == "__main__":
    sys.exit(main())
