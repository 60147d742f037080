# SPDX-License-Identifier: MIT
#
# Counts the results in TAP streams: usage awk -f tap-summary.awk FILE...
#
# Prints each failing test by name and at last "N passed, N failed". A test that
# was skipped, was planned and gave no result, or whose program ended badly
# without naming a failing test, has failed; so has a file without a result.

function failure(name)
{
	failed++
	bad++
	print "FAILED: " name
}

function end_program(why)
{
	if (planned >= 0 && planned != seen)
		failure(program ": " seen " results of " planned " planned")
	else if (seen == 0)
		failure(program ": no result")
	else if (why != "" && !bad)
		failure(program ": " why)
	delete waiting[program]
	program = ""
}

function begin_program(name)
{
	program = name
	planned = -1
	seen = bad = 0
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
}

END {
	if (NR > 0)
		end_file()
	if (files != ARGC - 1)
		failure(ARGC - 1 - files " result files were empty")
	printf "%d passed, %d failed\n", passed, failed
	exit failed > 0 || passed == 0
}
