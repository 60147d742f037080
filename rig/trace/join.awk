# SPDX-License-Identifier: GPL-2.0
#
# Joins the user stacks to the events in the output of "trace-cmd report" for an instance, and
# prints totals, one fact per line: a key, then its value.
#
# usage: awk -v instance=NAME -v event=NAME -v type=NUMBER -v comm=COMM -f join.awk REPORT
#
# instance	the instance in the report to process
# event	the event whose stacks are joined; type is its number in events/*/*/id
# size	the size of its records
# comm	the tasks to process
#
# facts:
#	events N	of that name and those tasks
#	joined N	of them, to stacks that are there whole
#	missed N	the others, except events without a cookie that come before the
#			program (execve refuses cookies while it loads the program;
#			sched_process_exec has to be among the events), or after the last
#			cookie of their task (as it exits, which may be before its last
#			stack is written)
#	deepest N	frames of the longest joined stack
#	split N		stacks in several records
#	stop N COUNT	joined stacks, by the reason why they end
#	lost N		times that records were lost
#	strange N	ids that no record before has explained
#	file ID VERIFIED BUILD-ID PATH		of each id in a joined stack
#	bytes N		of the records of events, cookies, stacks and files
#	inline N	if each frame had path and build-id instead of its id

# The overhead of a record in the ring buffer: the header, and a length for long ones.
function record(len)
{
	return len + 4 + (len > 112 ? 4 : 0) + (4 - len % 4) % 4
}

# value KEY - its value in the record in rest
function value(key,	at, s)
{
	at = index(" " rest, " " key "=")
	if (!at)
		return ""
	s = substr(rest, at + length(key) + 1)
	sub(/ .*/, "", s)
	return s
}

function number(text,	i, n)
{
	if (text !~ /^0x/)
		return text + 0
	for (i = 3; i <= length(text); i++)
		n = 16 * n + index("0123456789abcdef", substr(text, i, 1)) - 1
	return n + 0
}

function on_stack(	cookie, n, i, frames, first, id, list)
{
	cookie = value("cookie")
	list = rest
	sub(/.*codes=[0-9]+ [{ ]*/, "", list)
	n = split(list, frames, /[}, ]+/)
	first = value("first") + 0
	nr[cookie] = value("frames") + 0
	stop[cookie] = value("stop") + 0
	parts[cookie]++
	bytes += record(8 + 8 + 16 + 8 + 8 + 8 * n)
	n -= 2 * value("codes")
	have[cookie] += int(n / 2)
	if (!first)
		inline += 8 + 8 + 16 + 8 + 8
	for (i = 1; i < n; i += 2) {
		id = number(frames[i + 1])
		if (!id)
			continue
		if (!(id in path)) {
			strange[id] = 1
			continue
		}
		ids[cookie] = ids[cookie] " " id
		inline += 8 + 20 + 4 + length(path[id]) + 1
	}
}

function on_file(	id)
{
	id = number(value("id"))
	path[id] = value("path")
	build[id] = value("build_id")
	gsub(/[^0-9a-f]/, "", build[id])
	verified[id] = value("names") == 1
	bytes += record(8 + 16 + 20 + 20 + length(path[id]) + 1)
}

/EVENTS DROPPED/ { lost++ }

# comm-tid [cpu] time: name: rest
{
	at = match($0, / \[[0-9]+\] /)
	if (!at || $1 != instance ":")
		next
	who = substr($0, 1, at)
	sub(/^ *[^:]*:/, "", who)
	gsub(/^ +| +$/, "", who)
	tid = who
	sub(/.*-/, "", tid)
	who = substr(who, 1, length(who) - length(tid) - 1)
	rest = substr($0, at + 1)
	cpu = rest
	sub(/\].*/, "", cpu)
	sub(/^[^:]*: +/, "", rest)
	name = rest
	sub(/:.*/, "", name)
	sub(/^[^:]*: */, "", rest)
}

name == event && who == comm {
	events++
	bytes += record(size)
	inline += record(size)
	latest[cpu, tid] = events
	task[events] = tid
	line[events] = NR
	next
}

name == "user_unwind" && value("event") == type && (cpu, tid) in latest {
	cookie_of[latest[cpu, tid]] = value("cookie")
	last_cookie[tid] = NR
	bytes += record(8 + 12)
	inline += record(8 + 12)
	next
}

name == "sched_process_exec" { program[tid] = NR; next }
name == "user_unwind_stack" && who == comm { on_stack(); next }
name == "file_map" { on_file() }

END {
	for (i = 1; i <= events; i++) {
		cookie = cookie_of[i]
		if (cookie == "" || !(cookie in nr) || have[cookie] != nr[cookie]) {
			missed += cookie != "" || line[i] > program[task[i]] + 0 &&
				line[i] < last_cookie[task[i]] + 0
			continue
		}
		joined++
		stops[stop[cookie]]++
		split_up += parts[cookie] > 1
		if (nr[cookie] > deepest)
			deepest = nr[cookie]
		n = split(ids[cookie], list, " ")
		for (j = 1; j <= n; j++)
			used[list[j]] = 1
	}
	for (id in strange)
		nr_strange++
	print "events", events + 0
	print "joined", joined + 0
	print "missed", missed + 0
	print "deepest", deepest + 0
	print "split", split_up + 0
	for (i in stops)
		print "stop", i, stops[i]
	print "lost", lost + 0
	print "strange", nr_strange + 0
	for (id in used)
		print "file", id, verified[id], build[id], path[id]
	print "bytes", bytes + 0
	print "inline", inline + 0
}
