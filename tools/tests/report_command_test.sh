#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: CODECTL=PROGRAM report_command_test.sh
#
# Tests the output of codectl report, and that other programs can read it.
#
# The functions are called by run().
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
command=report
# shellcheck source=command.sh
. "$here/command.sh"

manual=$here/../../docs/codectl_recording.5
flamegraph=/usr/share/perl5/Devel/NYTProf/flamegraph.pl
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

# Its events are of two tasks and in two seconds.
recording()
{
	cat <<'EOF'
{"codectl-recording":1,"start":1764288000000000000,"duration":2000000000}
{"event":{"name":"a:x"}}
{"event":{"name":"a:wait","timed":true}}
{"task":{"comm":"one","pid":1,"tid":1}}
{"task":{"comm":"two","pid":2,"tid":3}}
{"frame":{"function":"main","file":"/bin/demo","build-id":"00ff"}}
{"frame":{"function":"std::map<int, int>::at(int const&)","file":"/bin/demo","source":"/src/map.h","line":7}}
{"frame":{"function":"read; \u001b[2J&\"<x>","file":"/lib/lib.so","offset":"0x20"}}
{"stack":{"frame":0}}
{"stack":{"caller":0,"frame":1}}
{"stack":{"caller":0,"frame":2}}
{"sample":{"stack":1,"task":0,"event":0,"time":0,"events":6}}
{"sample":{"stack":2,"task":1,"event":0,"time":1200000000,"events":2}}
{"sample":{"stack":2,"task":1,"event":1,"time":1200000000,"events":1,"ns":5000000}}
{"note":{"count":3,"text":"records lost"}}
{"end":{}}
EOF
}

report()
{
	"$CODECTL" report "$@"
}

# prints TEXT ARG... - does it print exactly one line, with that text, on standard output?
prints()
{
	text=$1
	shift
	said=$(report "$@" 2> "$dir/stderr")
	echo "$said"
	[ "$said" = "$text" ]
}

wrong_calls()
{
	while read -r call; do
		# shellcheck disable=SC2086
		expect 2 "--help" $call || return 1
	done <<EOF

$dir/a $dir/b
--what $dir/a
--by what $dir/a
--by comm,comm $dir/a
--by , $dir/a
--sort what $dir/a
--unit what $dir/a
--pid 0 $dir/a
--pid 4294967297 $dir/a
--time 1 $dir/a
--time 2,1 $dir/a
--time 1,1 $dir/a
--time 1,x $dir/a
--time -1,2 $dir/a
--time nan,2 $dir/a
--min-share 101 $dir/a
--min-share -1 $dir/a
--min-share x $dir/a
--stacks --lines $dir/a
--stacks --diff $dir/a $dir/a
--pprof out --diff $dir/a $dir/a
--speedscope out --diff $dir/a $dir/a
--json
EOF
}

no_recordings()
{
	head -n 9 "$dir/a" > "$dir/short"
	expect 1 "cannot open $dir/none: No such file" "$dir/none" &&
		expect 1 "/bin/sh, line 1: it is no recording" /bin/sh &&
		expect 1 "$dir/short, line 10: it ends early" "$dir/short" &&
		expect 1 "$dir/short, line 10" --diff "$dir/short" "$dir/a" &&
		expect 1 "$dir, line 1: it cannot be read" "$dir"
}

what_cannot_be_done()
{
	expect 1 "events without a time" --unit time "$dir/a" &&
		expect 1 "there is no stack to draw in $dir/svg" --comm no --flamegraph "$dir/svg" "$dir/a" &&
		[ ! -e "$dir/svg" ] &&
		expect 1 "cannot write $dir/no/where: No such file" --folded "$dir/no/where" "$dir/a" &&
		expect 1 "cannot write /dev/full: No space" --json /dev/full "$dir/a" &&
		expect 1 "cannot write /dev/full: No space" --pprof /dev/full "$dir/a" &&
		! report "$dir/a" > /dev/full
}

# A report that writes to a pipe without a reader ends.
files_are_whole()
{
	{ sleep 0.2; report --stacks --folded "$dir/piped" "$dir/a"; } | : &&
		report --folded "$dir/folded" "$dir/a" && cmp "$dir/piped" "$dir/folded"
}

# Without standard error the file would be opened in its place.
messages_go_into_no_file()
{
	! PATH=/nonexistent "$CODECTL" record --cpu --no-attach --folded "$dir/folded" 2>&- &&
		[ -e "$dir/folded" ] && [ ! -s "$dir/folded" ]
}

notes_are_said()
{
	expect 0 "$dir/a: 3 records lost" "$dir/a" &&
		expect 0 "$dir/b: 3 records lost" --diff "$dir/b" "$dir/a"
}

tables()
{
	expect 0 '  88.89% 100.00%' --sort total --by none "$dir/a"
	report --by none "$dir/a" | grep -q '^  66.67%  66.67%            6            6  demo    std::map<int, int>::at(int const&)$' &&
		report --lines --by none "$dir/a" | grep -q '  map.h:7  std::map' &&
		report --sort total --by none "$dir/a" | sed -n 3p | grep -q ' main$' &&
		report --by comm,pid "$dir/a" | grep -q '  two, pid 2 ' &&
		report --event wait "$dir/a" | grep -q '^# 5.000 ms$' &&
		report --event wait --unit events "$dir/a" | grep -q '^# 1 events$' &&
		report --stacks --event a:x --comm one "$dir/a" | grep -q '	main+0x0 (/bin/demo+0x0)$'
}

filters()
{
	text='main;std::map<int, int>::at(int const&) 6'
	prints "$text" --by none --comm one --folded - "$dir/a" &&
		prints "$text" --by none --pid 1 --folded - "$dir/a" &&
		prints "$text" --by none --time ,1 --folded - "$dir/a" &&
		prints "$text" --by none --time 0,1.2 --folded - "$dir/a" &&
		prints "$text" --by none --min-share 50 --folded - "$dir/a" &&
		prints "one;$text" --by comm --comm one --event a:x --event x --folded - "$dir/a" &&
		prints 'main;read\073 \033[2J&"<x> 3' --by none --time 1.2, --folded - "$dir/a"
}

# A terminal gets no control characters.
names_are_harmless()
{
	{ report "$dir/a"; report --stacks "$dir/a"; report --folded - "$dir/a"
	  report --flamegraph - "$dir/a"; } > "$dir/out" 2>&1
	! tr -d '\n\t' < "$dir/out" | LC_ALL=C grep -q '[[:cntrl:]]'
}

differences()
{
	sed 's/"events":6/"events":16/' "$dir/a" > "$dir/more"
	report --diff "$dir/a" --by none "$dir/more" > "$dir/out" &&
		grep -q '^  84.21%   +17.54  84.21%   +17.54           16            6 .*std::map' "$dir/out" &&
		prints 'main;std::map<int, int>::at(int const&) 6 16' --by none --comm one \
			--diff "$dir/a" --folded - "$dir/more" &&
		report --diff "$dir/a" --flamegraph - "$dir/more" | grep -q 'change +17.54'
}

# Writes <> as ().
folded_by_flamegraph()
{
	report --folded "$dir/folded" "$dir/a" &&
		perl "$flamegraph" "$dir/folded" > "$dir/theirs.svg" &&
		grep -q 'std::map(int, int)::at(int const&amp;) (6 samples, 66.67%)' "$dir/theirs.svg" &&
		report --folded "$dir/folded" --diff "$dir/b" "$dir/a" &&
		perl "$flamegraph" "$dir/folded" > "$dir/theirs.svg" &&
		grep -q '(6 samples, 66.67%; 0.00%)' "$dir/theirs.svg"
}

svg_is_xml()
{
	report --flamegraph "$dir/svg" "$dir/a" &&
		python3 - "$dir/svg" <<'EOF'
import sys
import xml.dom.minidom

page = xml.dom.minidom.parse(sys.argv[1])
titles = [title.firstChild.data for title in page.getElementsByTagName("title")]
assert "std::map<int, int>::at(int const&) (6 events, 66.67 %)" in titles, titles
assert 'read; \\033[2J&"<x> (2 events, 22.22 %)' in titles, titles
for element in page.getElementsByTagName("*"):
    assert not element.hasAttribute("href") and not element.hasAttribute("src")
EOF
}

json_is_read()
{
	report --json "$dir/json" --by comm "$dir/a" && python3 - "$dir/json" <<'EOF'
import json
import sys

with open(sys.argv[1]) as source:
    data = json.load(source)
rows = {(row["name"], row["groups"][0]): row for row in data["functions"]}
row = rows["main", "two"]
assert (row["self"], row["total"]) == (0, 3) and abs(row["total_share"] - 100 / 3) < 1e-6
nodes = data["nodes"]
for node in nodes:
    below = [other for other in nodes if other.get("parent") == nodes.index(node)]
    assert node["total"] == node["self"] + sum(other["total"] for other in below)
assert [line["line"] for line in data["lines"] if "line" in line] == [7]
assert data["unit"] == "events" and data["notes"][0]["count"] == 3
assert sum(sample["events"] for sample in data["samples"]) == nodes[0]["total"] == 9
assert data["frames"][data["samples"][1]["frames"][0]]["offset"] == "0x20"
EOF
}

# Requirements of its schema.
speedscope_is_read()
{
	report --speedscope "$dir/json" "$dir/a" && python3 - "$dir/json" <<'EOF'
import json
import sys

with open(sys.argv[1]) as source:
    data = json.load(source)
assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json"
frames = data["shared"]["frames"]
assert all(isinstance(frame["name"], str) for frame in frames)
for profile in data["profiles"]:
    assert profile["type"] == "sampled" and isinstance(profile["name"], str)
    assert profile["unit"] in ("none", "nanoseconds")
    assert len(profile["samples"]) == len(profile["weights"])
    assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
    assert all(0 <= frame < len(frames) for stack in profile["samples"] for frame in stack)
assert [profile["name"] for profile in data["profiles"]] == ["a:x", "a:wait"]
assert frames[1] == {"name": "std::map<int, int>::at(int const&)", "file": "/src/map.h", "line": 7}
EOF
}

# The strings are the last fields of a profile.
pprof_is_read()
{
	report --pprof "$dir/pprof" --event wait "$dir/a" && python3 - "$dir/pprof" <<'EOF'
import gzip
import sys

with gzip.open(sys.argv[1]) as source:
    data = source.read()
for text in (b"events", b"count", b"time", b"nanoseconds", b"main", b"/bin/demo", b"00ff", b"two"):
    assert bytes([0x32, len(text)]) + text in data, text
assert b"one" not in data
EOF
}

example_of_the_manual()
{
	sed -n '/^{"codectl-recording"/,/^{"end"/p' "$manual" > "$dir/example"
	prints 'syscalls:sys_enter_futex;start;take 9' --folded - "$dir/example" &&
		grep -q "example: 2 stacks are truncated" "$dir/stderr"
}

recording > "$dir/a"
cp "$dir/a" "$dir/b"
run "exit status 2 where it is called otherwise" wrong_calls
run "files that are no recordings" no_recordings
run "what cannot be done is said" what_cannot_be_done
run "files are whole if nobody reads the table" files_are_whole
run "messages go into no file" messages_go_into_no_file
run "so is what a recording lacks" notes_are_said
run "tables" tables
run "filters" filters
run "names that harm no terminal" names_are_harmless
run "differences" differences
run "flamegraph.pl reads folded stacks" folded_by_flamegraph
run "flame graphs are XML, of themselves" svg_is_xml
run "python reads JSON, whose figures agree" json_is_read
run "files for speedscope are what it demands" speedscope_is_read
run "profiles for pprof have what was selected" pprof_is_read
run "the example of codectl_recording(5)" example_of_the_manual
finish
