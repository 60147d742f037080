# SPDX-License-Identifier: MIT
#
# usage: awk -v fill=1 -f figures.awk REPORT.MD PAGE.MD
#        awk -f figures.awk PAGE.MD...
#
# Prints the page with the tables of the report. Without fill, lists the tables of pages, with
# tabs between the fields: page, line, names, command, commits, sum, and the sum of the present
# figures. A table of figures without a marker, and a marker of another form, are listed as
# "!" and what is wrong. Rows that begin with "promise" are left to test-docs.awk: each names
# its own command.
#
# A table is between
#
#   <!-- figures: NAME...; by COMMAND; of COMMIT...; sum N -->
#   <!-- end -->
#
# and in a report after "## NAME" and "`COMMAND` at COMMIT...", as rows or within ``` lines.
# Several names in one column become one table. A table stays as it is if the report lacks one
# of its names, rows or runs of the benchmark. Editing figures by hand changes the sum.

# The sum of the figures alone: words may change.
function sum_of(text,	i, c, sum)
{
	for (i = 1; i <= length(text); i++) {
		c = index("0123456789.%|", substr(text, i, 1))
		if (c)
			sum = (sum * 31 + c) % 1000003
	}
	return sum + 0
}

# The parts of a marker.
function read_marker(line,	i, n, part)
{
	names = command = commits = sum = ""
	sub(/^<!-- figures: */, "", line)
	sub(/ *-->$/, "", line)
	n = split(line, part, /; /)
	names = part[1]
	for (i = 2; i <= n; i++)
		if (sub(/^by /, "", part[i]))
			command = part[i]
		else if (sub(/^of /, "", part[i]))
			commits = part[i]
		else if (sub(/^sum /, "", part[i]))
			sum = part[i]
}

# A column's head is the part of its name after the first "-", or else the unit.

# The unit says it if the name does not.
function joined(name, n,	i, c, g, heads, text)
{
	text = "| |"
	for (i = 1; i <= n; i++) {
		g = name[i]
		text = text " " (sub(/^[^-]*-/, "", g) ? g : unit[g]) " |"
		heads = heads "--:|"
	}
	text = text "\n|---|" heads "\n"
	for (c = 1; c <= cases[name[1]]; c++) {
		g = row[name[1], c]
		text = text "| " g " |"
		for (i = 1; i <= n; i++)
			text = text " " value[name[i], g] " |"
		text = text "\n"
	}
	return text
}

# Adds what text lacks of list.
function union(text, list, between,	i, n, part)
{
	n = split(list, part, between)
	for (i = 1; i <= n; i++)
		if (index(between text between, between part[i] between) == 0)
			text = text (text == "" ? "" : between) part[i]
	return text
}

function runs_of(command,	runs)
{
	while (match(command, /RUNS='[^']*'/)) {
		runs = runs " " substr(command, RSTART + 6, RLENGTH - 7)
		command = substr(command, RSTART + RLENGTH)
	}
	return runs " "
}

# Return: why a table cannot be filled, or "".
function lacks(name, n,	i, have, part, missing)
{
	for (i = 1; i <= n; i++) {
		if (!(name[i] in tables))
			return "the report has no figures of " name[i]
		if (tables[name[i]] ~ /NOT MEASURED/)
			return "not all is measured"
		have = have runs_of(made_by[name[i]])
	}
	n = split(runs_of(command), part, " ")
	for (i = 1; i <= n; i++)
		if (index(have, " " part[i] " ") == 0)
			missing = missing (missing == "" ? "" : " ") part[i]
	return missing == "" ? "" : "run make bench RUNS='" missing "' first"
}

# A row of the page that the report lacks; the runs of the benchmark are known to be complete.
function lost_row(name, n,	c, i, nr, part, cell)
{
	if (n > 1 || command == "" || command ~ /^make bench/)
		return ""
	nr = split(old, part, "\n")
	for (i = 1; i <= nr; i++) {
		split(part[i], cell, / *\| */)
		# The head of the table does not count.
		if (part[i + 1] ~ /^\|--/)
			continue
		for (c = 1; c <= cases[names] && row[names, c] != cell[2]; c++)
			;
		if (cell[2] != "" && cell[2] !~ /^--/ && c > cases[names])
			return "the report has no row " cell[2] " (if it has gone, delete it here)"
	}
	return ""
}

function write_table(	i, n, name, why, text)
{
	n = split(names, name, " ")
	why = lacks(name, n)
	if (why == "")
		why = lost_row(name, n)
	if (why != "") {
		if (name[1] in tables)
			print "figures: " names " stays as it is: " why > "/dev/stderr"
		else
			others = others " " name[1]
		printf "%s\n%s", marker, old
		return
	}
	text = n > 1 ? joined(name, n) : tables[names]
	command = commits = ""
	for (i = 1; i <= n; i++) {
		command = union(command, made_by[name[i]], " && ")
		commits = union(commits, made_of[name[i]], " ")
	}
	printf "<!-- figures: %s; by %s; of %s; sum %d -->\n%s", names, command, commits,
	       sum_of(text), text
	filled = filled " " name[1]
}

function read_report(	cell)
{
	if (/^## /) {
		group = substr($0, 4)
	} else if (/^`.*` at [^ ]/) {
		made_by[group] = made_of[group] = $0
		sub(/^`/, "", made_by[group])
		sub(/` at [^`]*$/, "", made_by[group])
		sub(/^.*` at /, "", made_of[group])
	} else if (/^\|/ || /^```/ || fence) {
		tables[group] = tables[group] $0 "\n"
		split($0, cell, / *\| */)
		if (cell[2] != "" && cell[2] !~ /^--/) {
			row[group, ++cases[group]] = cell[2]
			value[group, cell[2]] = cell[3]
			unit[group] = cell[4]
		}
	}
	if (/^```/)
		fence = !fence
}

fill && FNR == NR { read_report(); next }
fill && /^<!-- figures: / { read_marker($0); marker = $0; old = ""; inside = 1; next }
fill && /^<!-- end -->/ && inside { write_table(); inside = 0 }
fill && inside { old = old $0 "\n" }
fill && !inside
fill { next }

# --- listing

function list(what)
{
	printf "%s\t%d\t%s\n", FILENAME, line, what
}

# Each marker needs an end, before the next marker.
function end_marker()
{
	if (marked)
		list("!\tmarker without an end: " names)
	marked = 0
}

# Does a cell other than the first have figures?
function has_figures(line)
{
	sub(/^\|[^|]*/, "", line)
	return line ~ /\| *[-+]?[0-9][0-9.,]*( ?(%|x|ns|kB|KiB|MB|bytes|lines|tests|cases))?( \([^|)]*\))? *\|/
}

FNR == 1 { end_marker(); table = 0 }
/^<!-- figures: / {
	end_marker()
	read_marker($0)
	line = FNR
	text = ""
	marked = 1
	next
}
/^<!-- end -->/ && marked {
	marked = 0
	if (names == "" || command == "" || commits == "" || sum !~ /^[0-9]+$/)
		list("!\tmarker without names, by, of or sum: " names)
	else
		list(names "\t" command "\t" commits "\t" sum "\t" sum_of(text))
	next
}
marked { text = text $0 "\n"; next }
/^\|/ && !table { line = FNR; known = /^\| *promise *\|/ }
{ table = /^\|/ }
table && !known && has_figures($0) {
	list("!\ttable of figures without a marker")
	known = 1
}
END {
	if (!fill)
		end_marker()
	else if (inside)
		print "figures: no end of " names > "/dev/stderr"
	else
		print "figures: filled in:" (filled ? filled : " none") \
		      (others ? "; not in the report:" others : "") > "/dev/stderr"
	exit fill && (inside || !filled)
}
