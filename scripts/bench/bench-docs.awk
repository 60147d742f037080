# SPDX-License-Identifier: MIT
#
# usage: awk -f bench-docs.awk REPORT.MD PAGE.MD
#
# Prints the page with the tables of the report: that of a group is between
# "<!-- figures: GROUP -->" and "<!-- end -->". Several groups of one column
# become one table.

# The unit says it if the name does not.
function joined(    i, c, g, heads)
{
	printf "| |"
	for (i = 3; i < NF; i++) {
		g = $i
		printf " %s |", sub(/^[^-]*-/, "", g) ? g : unit[g]
		heads = heads "--:|"
	}
	print "\n|---|" heads
	for (c = 1; c <= cases[$3]; c++) {
		g = name[$3, c]
		printf "| %s |", g
		for (i = 3; i < NF; i++)
			printf " %s |", value[$i, g]
		printf "\n"
	}
}

FNR == NR {
	if (/^## /) {
		group = substr($0, 4)
	} else if (/^\|/) {
		tables[group] = tables[group] $0 "\n"
		split($0, cell, / *\| */)
		if (cell[2] != "" && cell[2] !~ /^--/) {
			name[group, ++cases[group]] = cell[2]
			value[group, cell[2]] = cell[3]
			unit[group] = cell[4]
		}
	}
	next
}
/^<!-- end -->/ { inside = 0 }
!inside
/^<!-- figures: / {
	inside = 1
	for (i = 3; i < NF; i++)
		if (!($i in tables)) {
			print "bench-docs: no figures: " $i > "/dev/stderr"
			status = 1
		}
	if (NF > 4)
		joined()
	else
		printf "%s", tables[$3]
}
END { exit status }
