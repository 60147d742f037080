# SPDX-License-Identifier: MIT
#
# Counts the results in TAP streams: usage awk -f tap-summary.awk FILE...
#
# Prints each failing test by name, with the preceding output of its program, and at the end
# "N passed, N failed". A test counts as failed if it was skipped, if it was planned and gave
# no result, or if its program failed without naming a failing test; so does a file without a
# result, or with neither plan nor frame.

function failure(name,	i, first)
{
	failed++
	bad++
	names[failed] = name
	first = nr_said > MAX_SAID ? nr_said - MAX_SAID + 1 : 1
	for (i = first; i <= nr_said; i++)
		said_before[failed, ++nr_before[failed]] = said[i % MAX_SAID]
	nr_said = 0
}

# Prints all names, but only the last lines of the output of each, the same number for all, so
# that the summary of a run stays readable.
function print_failures(	i, j, each)
{
	for (i = 1; i <= failed; i++)
		each += nr_before[i] > 0
	each = each ? int(MAX_SAID / each) : 0
	for (i = 1; i <= failed && i <= MAX_NAMES; i++) {
		print "FAILED: " names[i]
		j = nr_before[i] > each ? nr_before[i] - each + 1 : 1
		for (; j <= nr_before[i]; j++)
			print "    | " said_before[i, j]
	}
	if (failed > MAX_NAMES)
		print "FAILED: " failed - MAX_NAMES " more"
}

function end_program(why)
{
	if (planned >= 0 && planned != seen)
		failure(program ": " seen " results of " planned " planned")
	else if (seen == 0)
		failure(program ": no result")
	else if (planned < 0 && !framed && !bad)
		failure(program ": no plan")
	else if (why != "" && !bad)
		failure(program ": " why)
	delete waiting[program]
	program = ""
}

function begin_program(name)
{
	program = name
	planned = -1
	seen = bad = nr_said = 0
}

function end_file(    name)
{
	if (program != "")
		end_program(framed ? "did not end" : "")
	for (name in waiting) {
		failure(name ": was not run")
		delete waiting[name]
	}
	delete waiting
}

BEGIN {
	MAX_SAID = 50
	MAX_NAMES = 100
}

FNR == 1 {
	if (NR > 1)
		end_file()
	files++
	framed = 0
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.(tap|log)$/, "", name)
	begin_program(name)
}

{ sub(/\r$/, "") }

/^# plan( |$)/ {
	framed = 1
	program = ""
	for (i = 3; i <= NF; i++)
		waiting[$i] = 1
	if (NF == 2)
		failure(name ": no test")
	next
}

framed && /^# begin / {
	begin_program($3)
	next
}

framed && /^# end / {
	end_program($4 == 0 ? "" : "exit status " $4)
	next
}

program == "" { next }

/^1\.\.[0-9]+/ {
	planned = substr($1, 4) + 0
	next
}

/^(not )?ok [0-9]+/ {
	seen++
	title = $0
	sub(/^(not )?ok [0-9]+ *(- )?/, "", title)
	if (/^not ok/)
		failure(program ": " title)
	else if (toupper($0) ~ /# *SKIP/)
		failure(program ": " title " (skipped)")
	else
		passed++
	nr_said = 0
	next
}

# A subtest, of KUnit for example: its suite reports all results except skips.
/^[ \t]+(not )?ok [0-9]+.*# *[Ss][Kk][Ii][Pp]/ {
	title = $0
	sub(/^[ \t]+(not )?ok [0-9]+ *(- )?/, "", title)
	failure(program ": " title " (skipped)")
	next
}

{ said[++nr_said % MAX_SAID] = substr($0, 1, 500) }

END {
	if (NR > 0)
		end_file()
	if (files != ARGC - 1)
		failure(ARGC - 1 - files " result files were empty")
	print_failures()
	printf "%d passed, %d failed\n", passed, failed
	exit failed > 0 || passed == 0
}
