# SPDX-License-Identifier: MIT
#
# usage: perf script | awk -f fold.awk
#
# Prints each stack in the format for flame graphs: the command and its functions, outermost
# first, and the count. Functions without a name get the name of their file.

function finish(	i, line)
{
	if (command == "")
		return
	line = command
	for (i = depth; i > 0; i--)
		line = line ";" frame[i]
	nr[line]++
	command = ""
}

/^$/ { finish(); next }

/^\t/ {
	sub(/ \(deleted\)\)$/, ")")
	file = $0
	sub(/^.*\(/, "", file)
	sub(/\)$/, "", file)
	sub(/^.*\//, "", file)
	sub(/^[ \t]*[0-9a-f]+ /, "")
	sub(/ \([^()]*\)$/, "")
	sub(/\+0x[0-9a-f]+$/, "")
	gsub(/;/, ":")
	frame[++depth] = ($0 == "[unknown]" && file != $0) ? "[" file "]" : $0
	next
}

# A command may contain spaces, and is right-aligned.
match($0, / +-?[0-9]+ +\[[0-9]+\] /) {
	finish()
	command = substr($0, 1, RSTART - 1)
	gsub(/^ +|;/, "", command)
	depth = 0
}

END {
	finish()
	for (line in nr)
		print line, nr[line]
}
