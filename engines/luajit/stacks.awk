#!/usr/bin/awk -f
# SPDX-License-Identifier: MIT
#
# Counts the user stacks of one program in the output of "perf script -F comm,tid,ip,sym,dso".
# Complete stacks end in its _start, or in that of the dynamic linker; compiled ones go through
# code of no file, which perf attributes to its map; called ones are compiled ones that begin
# in a file. Two kinds of samples have no stack: those during execve(), and those that
# interrupt the walk for an earlier sample, which show the cookie of that one.

function compiled_code(text)
{
	return text ~ /\(\/tmp\/perf-[0-9]+\.map\)$|\(\/\/anon\)$/
}

function stack_ends(  last, whole, through, i)
{
	last = line[frames]
	whole = last ~ / _start \(| _dl_start_user \(/
	for (i = 1; i <= frames; i++)
		through = through || compiled_code(line[i])
	if (frames && !none) {
		samples++
		complete += whole
		compiled += through
		compiled_complete += through && whole
		called += through && !compiled_code(line[1])
		called_complete += through && !compiled_code(line[1]) && whole
		if (!whole)
			ends[last]++
	}
	frames = none = 0
}

/^[^ \t]/ { stack_ends(); next }
$2 ~ /^(bprm_execve|begin_new_exec|process_unwind_deferred)$/ { none = 1 }
# Addresses above that are in the kernel.
NF > 1 && $1 ~ /^[0-9a-f]+$/ && $1 !~ /^ffff/ {
	sub(/^[ \t]*[0-9a-f]+/, "")
	line[++frames] = $0
}

END {
	stack_ends()
	print "samples", samples + 0
	print "complete", complete + 0
	print "compiled", compiled + 0
	print "compiled-complete", compiled_complete + 0
	print "called", called + 0
	print "called-complete", called_complete + 0
	for (last in ends)
		print "ends", ends[last], last
}
