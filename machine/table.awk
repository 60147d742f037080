# SPDX-License-Identifier: MIT
#
# usage: awk -v expected=FILE -f table.awk FACTS
#
# Prints for each program and tool the share of complete stacks, without tables and with them,
# where the incomplete ones end, and how many have no frame in user space or were lost.  Each
# line of FACTS is a phase (without, with), a program, a tool, and a line of stacks.py, or
# "failed" and the reason if the tool did not run.
#
# Fails if there are no stacks, or too few, of a program or a tool that every release has; with
# tables, also if more than 1 % of the stacks by a tool that is not a peer are incomplete, or
# without a frame, unless FILE expects it.

BEGIN {
	title["defer"] = "perf fp,defer"
	title["fp"] = "perf -g"
	title["bpftrace"] = "bpftrace profile"
	title["offcpu"] = "bpftrace offcpu"
	title["bcc"] = "bcc profile"
	title["dwarf"] = "perf dwarf"
	title["bpfdwarf"] = "bpftrace dwarf"
	nr_columns = split("defer fp bpftrace offcpu bcc dwarf bpfdwarf", columns)
	read_expected()
}

function read_expected(	line, part)
{
	if (!expected)
		return
	while ((getline line < expected) > 0) {
		if (line ~ /^#/ || split(line, part, /[ \t]+/) < 4)
			continue
		nr_expected++
		programs[nr_expected] = "^(" part[1] ")$"
		tools[nr_expected] = "^(" part[2] ")$"
		reason[nr_expected] = part[3]
		sub(/^[^ \t]+[ \t]+[^ \t]+[ \t]+[^ \t]+[ \t]+/, "", line)
		where[nr_expected] = "^(" line ")$"
	}
	close(expected)
	if (!nr_expected) {
		print "table.awk: no expectations in " expected > "/dev/stderr"
		exit stop = 1
	}
}

# Return: the reason if it is expected, or "".
function reason_of(program, tool, what,	i)
{
	for (i = 1; i <= nr_expected; i++)
		if (program ~ programs[i] && tool ~ tools[i] && what ~ where[i])
			return reason[i]
	return ""
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

# A share of few samples means nothing.
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
	# Tables change nothing for peers that unwind by themselves.
	if (tool ~ /dwarf/ || !("with" in phases))
		return share(key "without")
	return share(key "without") " > " share(key "with")
}

# Samples of exiting processes, and those that a tool could not take, have no frames.
function without_user(program, tool, phase,	key, none, all)
{
	key = program SUBSEP tool SUBSEP phase
	none = facts[key, "none"] + facts[key, "gone"]
	all = facts[key, "samples"] + none
	if (none > 0.01 * all)
		printf "  %s, %s: %d of %d, of these %d amid exec or exit\n", program,
			title[tool], none, all, facts[key, "gone"]
	if (facts[key, "lost"] > 0.01 * all)
		printf "  %s: %d of all programs were lost\n", title[tool], facts[key, "lost"]
}

function fail(program, tool, phase, what)
{
	printf "FAILED: %s, %s, %s: %s\n", program, title[tool], phase, what
	bad = 1
}

function check(program, tool,	key)
{
	key = program SUBSEP tool SUBSEP last
	if (tool ~ /dwarf/)
		return
	# Not every release has deferred stacks.
	if (key in failed && tool != "defer")
		fail(program, tool, last, "the tool did not run")
	else if (!(key in failed) && facts[key, "samples"] < 20)
		fail(program, tool, last, "fewer than 20 samples")
	else if (!(key in failed) && last == "with")
		check_shares(program, tool, key)
}

# Unexpected ends are added up, however rare each is.
function check_shares(program, tool, key,	i, why, all, none, rest)
{
	all = facts[key, "samples"]
	none = facts[key, "none"]
	if (none > 0.01 * (all + none) && !reason_of(program, tool, "none"))
		fail(program, tool, last, sprintf("%d of %d samples without a frame", none, all + none))
	rest = all - facts[key, "complete"]
	for (i = 1; i <= nr_ends[key]; i++) {
		why = reason_of(program, tool, ends[key, i])
		if (why)
			rest -= of[key, i]
	}
	if (rest > 0.01 * all)
		fail(program, tool, last, sprintf("%.1f %% incomplete for no known reason, most of it %s",
			100 * rest / all, most_of(program, tool, key)))
}

# Sorted by count.
function most_of(program, tool, key,	i)
{
	for (i = 1; i <= nr_ends[key]; i++)
		if (!reason_of(program, tool, ends[key, i]))
			return sprintf("in %s (%.1f %%)", ends[key, i], 100 * of[key, i] / facts[key, "samples"])
	return "nowhere"
}

function incomplete(program, tool, phase,	key, i, all, why, share_of)
{
	key = program SUBSEP tool SUBSEP phase
	all = facts[key, "samples"]
	if (all < 20 || facts[key, "complete"] >= 0.99 * all)
		return
	printf "%s, %s, %s:\n", program, title[tool], phase
	for (i = 1; i <= nr_ends[key] && i <= 5; i++)
		printf "  %5.1f %%  %s\n", 100 * of[key, i] / all, ends[key, i]
	if (phase != "with")
		return
	for (i = 1; i <= nr_ends[key]; i++) {
		why = reason_of(program, tool, ends[key, i])
		if (why)
			share_of[why] += of[key, i]
	}
	for (i = 1; i <= nr_expected; i++) {
		why = reason[i]
		if (!(why in share_of))
			continue
		printf "  %5.1f %%  expected: %s\n", 100 * share_of[why] / all, why
		delete share_of[why]
	}
}

END {
	if (stop)
		exit 1
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
