# SPDX-License-Identifier: MIT
#
# Counts the user stacks in what "perf script -F comm,tid,time,ip,sym,dso"
# prints.  A stack is complete if it ends at an outermost frame; one without a
# frame is not.
#
# usage: awk [-v want=REGEX] [-v folded=FILE] [-v unnamed=1] -f stacks.awk
#
# want: symbols of the functions where the time goes, each to be reported with
# the share of its samples that reach main and _start, or a thread's start.  So
# is code that was compiled at run time, which perf knows by its map, and what
# is called from there.
# folded: where to write each stack as one line, from the outermost frame, and
# its count.
# unnamed: the map's names are not to be believed.
#
# Prints one fact a line: a key, then its value.

function finish(	last, i, main, complete, compiled, stack, line)
{
	if (!sample)
		return
	sample = 0
	facts["samples"]++
	facts["user-mode"] += !kernel
	# Without a frame of the kernel either, it was taken in user mode.
	if (!nr) {
		facts["no-user-stack"]++
		if (!kernel)
			ends["(no user stack)"]++
		return
	}
	last = syms[nr]
	complete = last in outermost
	facts["user-stacks"]++
	# The events of a task are closed before the last walk, at its exit, and
	# a sample within a walk belongs to a chain that is written by then: no
	# chain follows, and perf prints the cookie as if it were an address.
	if (kernel && nr == 1 && last == "[unknown]")
		ends["no-chain (at-exit-or-in-a-walk)"]++
	facts["user-stacks-complete"] += complete
	if (!kernel) {
		facts["user-mode-complete"] += complete
		if (!complete)
			ends[last " (" dsos[nr] ")"]++
	}
	main = compiled = 0
	stack = line = ""
	for (i = 1; i <= nr; i++) {
		if (syms[i] == "main")
			main = 1
		if (is_compiled(i)) {
			compiled = 1
			if (unnamed)
				syms[i] = "(compiled)"
		}
		stack = stack "stack " syms[i] " (" dsos[i] ")\n"
		line = syms[i] (i > 1 ? ";" : "") line
	}
	stacks[stack]++
	lines[line]++
	if (kernel)
		return
	if (last == "_start")
		complete = main
	if (want && syms[1] ~ want) {
		count_inside(syms[1], complete)
		wanted[stack] = 1
	}
	if (is_compiled(1))
		count_inside("compiled-code", complete)
	else if (compiled)
		count_inside("C-below-compiled-code", complete)
}

function is_compiled(i)
{
	return dsos[i] ~ /^perf-[0-9]+\.map$/
}

function count_inside(sym, complete)
{
	inside[sym]++
	whole[sym] += complete
}

BEGIN {
	# the program's and ld.so's first function; the first ones of a thread
	outermost["_start"] = 1
	# ... which perf names after the label behind its only call
	outermost["_dl_start_user"] = 1
	outermost["clone"] = outermost["__clone"] = 1
	outermost["clone3"] = outermost["__clone3"] = 1
	outermost["__GI___clone3"] = 1
	split("samples no-user-stack user-stacks user-stacks-complete user-mode user-mode-complete", keys)
	for (i in keys)
		facts[keys[i]] = 0
}

/^[ \t]*$/ { next }

# A frame: address, symbol, (object)
/^[ \t]+[0-9a-f]+ .*\(.*\)$/ {
	if ($1 ~ /^ffff[0-9a-f]+$/ && length($1) == 16) {
		kernel = 1
		next
	}
	dso = $NF
	gsub(/^\(|\)$/, "", dso)
	sub(/.*\//, "", dso)
	nr++
	syms[nr] = $2
	dsos[nr] = dso
	next
}

# The head line of a sample
{
	finish()
	sample = 1
	kernel = 0
	nr = 0
}

END {
	finish()
	for (k in facts)
		print k, facts[k]
	for (k in inside)
		print "inside", k, inside[k], whole[k]
	for (k in ends)
		print "ends", ends[k], k
	if (folded)
		for (k in lines)
			print k, lines[k] > folded
	# the most frequent stack, of those in the wanted functions if any
	for (k in stacks) {
		if (want && !(k in wanted))
			continue
		if (stacks[k] > most) {
			most = stacks[k]
			example = k
		}
	}
	printf "%s", example
}
