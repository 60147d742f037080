# SPDX-License-Identifier: MIT
#
# usage: awk -f table.awk FACTS
#
# Prints the share of complete stacks, without tables and with them, of each program
# by each tool, what the incomplete ones end in, and how many have no frame in user space
# or were lost.  Each line of FACTS is a phase (without, with), a program, a tool, and
# what stacks.py prints; "failed" and the reason where the tool has not run.  Fails
# if there is nothing, or too little of a program or a tool that every release has.

BEGIN {
	title["defer"] = "perf fp,defer"
	title["fp"] = "perf -g"
	title["bpftrace"] = "bpftrace profile"
	title["offcpu"] = "bpftrace offcpu"
	title["bcc"] = "bcc profile"
	title["dwarf"] = "perf dwarf"
	title["bpfdwarf"] = "bpftrace dwarf"
	nr_columns = split("defer fp bpftrace offcpu bcc dwarf bpfdwarf", columns)
}

/^#/ || NF < 4 { next }

{
	key = $2 SUBSEP $3 SUBSEP $1
	if (!($2 in row))
		rows[++nr_rows] = $2
	row[$2] = 1
	seen[$3] = 1
	phases[$1] = 1
}

$4 == "failed" { failed[key] = 1; next }
$4 == "ends" {
	count = $5
	$1 = $2 = $3 = $4 = $5 = ""
	sub(/^ +/, "")
	ends[key, ++nr_ends[key]] = $0
	of[key, nr_ends[key]] = count
	next
}

{ facts[key, $4] = $5 }

# Of few samples a share says nothing.
function share(key)
{
	if (key in failed)
		return "-"
	if (facts[key, "samples"] < 20)
		return "few"
	return sprintf("%.1f", 100 * facts[key, "complete"] / facts[key, "samples"])
}

function cell(program, tool,	key)
{
	key = program SUBSEP tool SUBSEP
	# A peer that unwinds by itself has the same without and with.
	if (tool ~ /dwarf/ || !("with" in phases))
		return share(key "without")
	return share(key "without") " > " share(key "with")
}

# Processes that exit have none; so have samples that a tool could not take.
function without_user(program, tool, phase,	key, none)
{
	key = program SUBSEP tool SUBSEP phase
	none = facts[key, "none"]
	if (none > 0.01 * (facts[key, "samples"] + none))
		printf "  %s, %s: %d of %d\n", program, title[tool], none,
			facts[key, "samples"] + none
	if (facts[key, "lost"] > 0.01 * (facts[key, "samples"] + none))
		printf "  %s, %s: %d were lost\n", program, title[tool], facts[key, "lost"]
}

function check(program, tool,	key)
{
	key = program SUBSEP tool SUBSEP last
	if (tool !~ /dwarf|defer/ && (key in failed || facts[key, "samples"] < 20)) {
		printf "FAILED: %s, %s, %s: %s\n", program, title[tool], last,
			(key in failed) ? "the tool did not run" : "fewer than 20 samples"
		bad = 1
	}
}

function incomplete(program, tool, phase,	key, i, all)
{
	key = program SUBSEP tool SUBSEP phase
	all = facts[key, "samples"]
	if (all < 20 || facts[key, "complete"] >= 0.99 * all)
		return
	printf "%s, %s, %s:\n", program, title[tool], phase
	for (i = 1; i <= nr_ends[key] && i <= 5; i++)
		printf "  %5.1f %%  %s\n", 100 * of[key, i] / all, ends[key, i]
}

END {
	printf "%% of stacks that are complete%s\n\n", ("with" in phases) ? ", without > with tables" : ""
	printf "%-10s", "program"
	for (c = 1; c <= nr_columns; c++)
		if (columns[c] in seen)
			printf "  %-16s", title[columns[c]]
	print ""
	for (r = 1; r <= nr_rows; r++) {
		printf "%-10s", rows[r]
		for (c = 1; c <= nr_columns; c++)
			if (columns[c] in seen)
				printf "  %-16s", cell(rows[r], columns[c])
		print ""
	}
	last = ("with" in phases) ? "with" : "without"
	printf "\nIncomplete, by where they end, %s tables:\n", last
	for (r = 1; r <= nr_rows; r++)
		for (c = 1; c <= nr_columns; c++)
			if (columns[c] in seen)
				incomplete(rows[r], columns[c], last)
	printf "\nWithout any frame in user space, or lost, above 1 %%, %s tables:\n", last
	for (r = 1; r <= nr_rows; r++)
		for (c = 1; c <= nr_columns; c++)
			if (columns[c] in seen)
				without_user(rows[r], columns[c], last)
	for (r = 1; r <= nr_rows; r++)
		for (c = 1; c <= nr_columns; c++)
			if (columns[c] in seen)
				check(rows[r], columns[c])
	exit bad || !nr_rows
}
