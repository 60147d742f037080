# SPDX-License-Identifier: MIT
#
# usage: awk -f bench-docs.awk REPORT.MD PAGE.MD
#
# Prints the page with the tables of the report: that of a group stands between
# "<!-- figures: GROUP -->" and "<!-- end -->".

FNR == NR {
	if (/^## /)
		group = substr($0, 4)
	else if (/^\|/)
		tables[group] = tables[group] $0 "\n"
	next
}
/^<!-- end -->/ { inside = 0 }
!inside
/^<!-- figures: / {
	inside = 1
	if (!($3 in tables)) {
		print "bench-docs: no figures: " $3 > "/dev/stderr"
		status = 1
	}
	printf "%s", tables[$3]
}
END { exit status }
