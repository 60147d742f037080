# SPDX-License-Identifier: MIT
#
# Counts the user stacks in what "perf script -F comm,tid,time,ip,sym,dso"
# prints.  A stack is complete if it ends at an outermost frame.
#
# usage: awk -v want=REGEX -f stacks.awk
#
# want: symbols of the functions where the time goes, each to be reported with
# the share of its samples that reach main and _start.
#
# Prints one fact a line: a key, then its value.

function finish(	last, i, sym, main, complete, stack)
{
	if (!sample)
		return
	sample = 0
	facts["samples"]++
	if (!nr) {
		facts["no-user-stack"]++
		return
	}
	last = syms[nr]
	complete = last in outermost
	facts["user-stacks"]++
	# The events of a task are closed before the last walk, at its exit: no
	# chain follows, and perf prints the cookie as if it were an address.
	if (kernel && nr == 1 && last == "[unknown]")
		ends["no-chain (at-exit)"]++
	facts["user-stacks-complete"] += complete
	if (!kernel) {
		facts["user-mode"]++
		facts["user-mode-complete"] += complete
		if (!complete)
			ends[last " (" dsos[nr] ")"]++
	}
	main = 0
	stack = ""
	for (i = 1; i <= nr; i++) {
		if (syms[i] == "main")
			main = 1
		stack = stack "stack " syms[i] " (" dsos[i] ")\n"
	}
	stacks[stack]++
	sym = syms[1]
	if (!kernel && want && sym ~ want) {
		inside[sym]++
		whole[sym] += main && last == "_start"
		wanted[stack] = 1
	}
}

BEGIN {
	# the program's and ld.so's first function; the first ones of a thread
	outermost["_start"] = 1
	# ... which perf names after the label behind its only call
	outermost["_dl_start_user"] = 1
	outermost["clone"] = outermost["__clone"] = 1
	outermost["clone3"] = outermost["__clone3"] = 1
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
