# SPDX-License-Identifier: MIT
#
# usage: awk -f test-docs.awk RESULT.tap... PAGE.md
#
# Prints the page with the numbers of tests updated from the results.  The last cell of a table
# row begins with "N tests" or "N cases"; the cell before names the programs, up to a
# semicolon: `NAME`, `make check-NAME` or `T=NAME`.  A row with a program that has no result is
# not changed.

# Use the maximum of several runs, since some tests are left out on the debug kernel.
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
	# A KUnit suite is one result, with a nested line for each case.
	result = name ~ /^kunit-/ ? "^    (not )?ok [0-9]" : "^(not )?ok [0-9]"
}

# Return: the number of results of a program, linked in @ways ways; 0 if one way has none.
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

# Return: the number of results of the programs in the cell; 0 if one of these has none.
function count(cell,	ways, sum, n, name)
{
	ways = cell ~ /also static and static-pie/ ? 3 : 1
	sub(/;.*/, "", cell)
	while (match(cell, /`[^`]+`/)) {
		name = substr(cell, RSTART + 1, RLENGTH - 2)
		cell = substr(cell, RSTART + RLENGTH)
		sub(/^(make .*)?T=/, "", name)
		sub(/^make check-/, "", name)
		# A command that runs more than this row describes.
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
