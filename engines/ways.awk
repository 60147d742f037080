# SPDX-License-Identifier: MIT
#
# usage: awk [-v facts=DIR] -f ways.awk WAYS
#
# Reads lines of "ENGINE, WAY|FACTS", thousands of instructions, system calls and KiB, separated
# by tabs. Prints a table that compares each way with the first one of its engine, with the
# shares of complete stacks in FACTS.facts. Fails if the preload, the patches or an agent alone
# cost more than 1 % of the instructions.

# shares FILE - of complete stacks: of all, and of those in C that compiled code has called
function shares(name,	line, part, n, text)
{
	text = "| | |"
	if (!facts || name == "-")
		return text
	while ((getline line < (facts "/" name ".facts")) > 0) {
		split(line, part, " ")
		n[part[1]] = part[2]
	}
	if (n["samples"])
		text = sprintf("| %.2f %% | %s |", 100 * n["complete"] / n["samples"],
			n["called"] ? sprintf("%.2f %%", 100 * n["called-complete"] / n["called"]) : "")
	return text
}

BEGIN {
	FS = "\t"
	print "| | thousand instructions | | system calls | memory, KiB | complete | complete, C called by compiled code |"
	print "|---|--:|--:|--:|--:|--:|--:|"
}

{
	split($1, is, "|")
	engine = way = is[1]
	sub(/, .*/, "", engine)
	sub(/.*, /, "", way)
	if (!(engine in base))
		base[engine] = $2
	ratio = $2 / base[engine]
	if (way ~ /^(preload|patch|patches|agent)$/ && ratio > 1.01)
		failed = failed "; " is[1]
	printf "| %s | %d | %.4f | %d | %d %s\n", is[1], $2, ratio, $3, $4, shares(is[2])
}

END {
	if (failed)
		print "FAILED: more than 1 %" failed
	exit !NR || failed != ""
}
