# SPDX-License-Identifier: MIT
#
# usage: awk -f test-docs.awk RESULT.tap... PAGE.md
#
# Prints the page with the tests counted by the results.  A row of a table has them
# first in its last cell, "N tests" or "N cases", and names the programs in the cell
# before, up to a semicolon: `NAME`, `make check-NAME` or `T=NAME`.  One of which a
# program has no result stays as it is.

# The most of several runs: some tests are left out on the debug kernel.
function end_program()
{
	if (program != "" && seen > nr[program])
		nr[program] = seen
	program = ""
}

function begin_program(name)
{
	end_program()
	program = name
	seen = 0
	# KUnit's suites are one result each, with a line for each case within.
	result = name ~ /^kunit-/ ? "^    (not )?ok [0-9]" : "^(not )?ok [0-9]"
}

# How many results it has, linked in @ways ways; 0 if there are none of one.
function results_of(name, ways,	sum, i, linked)
{
	if (!(name in nr) && ("libcodectl-" name) in nr)
		name = "libcodectl-" name
	for (i = 1; i <= ways; i++) {
		linked = name
		if (i > 1)
			sub(/_test$/, i == 2 ? "_static_test" : "_static_pie_test", linked)
		if (!nr[linked])
			return 0
		sum += nr[linked]
	}
	return sum
}

# How many the programs of the cell have; 0 if there are none of one.
function count(cell,	ways, sum, n, name)
{
	ways = cell ~ /also static and static-pie/ ? 3 : 1
	sub(/;.*/, "", cell)
	while (match(cell, /`[^`]+`/)) {
		name = substr(cell, RSTART + 1, RLENGTH - 2)
		cell = substr(cell, RSTART + RLENGTH)
		sub(/^(make .*)?T=/, "", name)
		sub(/^make check-/, "", name)
		# Of a command that runs more than the row is about.
		if (name ~ / /)
			continue
		n = results_of(name, ways)
		if (!n)
			return 0
		sum += n
	}
	return sum
}

function file_name(	name)
{
	name = FILENAME
	sub(/.*\//, "", name)
	sub(/\.tap$/, "", name)
	return name
}

FNR == 1 {
	begin_program(file_name())
	page = FILENAME !~ /\.tap$/
}

!page && /^# begin / { begin_program($3) }
!page && /^# end / { end_program() }
!page {
	seen += $0 ~ result
	next
}

/^\|.*\| [0-9,]+ (tests|cases)[^|]*\|$/ {
	cells = split($0, cell, "|")
	n = count(cell[cells - 2])
	if (n)
		sub(/^ [0-9,]+/, " " n, cell[cells - 1])
	line = cell[1]
	for (i = 2; i <= cells; i++)
		line = line "|" cell[i]
	$0 = line
}
{ print }
