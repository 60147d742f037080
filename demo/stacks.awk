# SPDX-License-Identifier: MIT
#
# Counts the user stacks in the output of "perf script -F comm,tid,time,ip,sym,dso".
# A stack is complete if it ends at an outermost frame; a stack without frames is not.
#
# usage: awk [-v want=REGEX] [-v folded=FILE] [-v unnamed=1] -f stacks.awk
#
# want: symbols of the functions in which the time is spent.  Each is reported with the
# number of its samples, and of those that reach main and _start, or the start of a thread.
# The same is done for code compiled at run time, which has its names from a perf map, and
# for code called from there.
# folded: a file to which each stack is written as one line, outermost frame first, with its
# count.
# unnamed: the names in the perf map are not reliable.
#
# Prints one fact per line: a key, then its value.

function finish(	last, i, main, complete, compiled, stack, line)
{
	if (!sample)
		return
	sample = 0
	facts["samples"]++
	facts["user-mode"] += !kernel
	# Without kernel frames either, the sample was taken in user mode.
	if (!nr) {
		facts["no-user-stack"]++
		if (!kernel)
			ends["(no user stack)"]++
		return
	}
	last = syms[nr]
	complete = last in outermost
	facts["user-stacks"]++
	# Two kinds of samples never get a chain, and perf prints their cookie as if it
	# were an address: the events of a task are closed before the walk at its exit,
	# and the chain for a sample within a walk has been written already.
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
	# the first function of the program and of ld.so; those of a thread
	outermost["_start"] = 1
	# perf's name for ld.so's _start: that of the label after its only call
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
