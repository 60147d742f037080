# SPDX-License-Identifier: MIT
#
# usage: awk -f bench-changes.awk BEFORE/results.tsv AFTER/results.tsv
#
# Prints a table of the figures that differ by 1 % or more.

BEGIN {
	FS = "\t"
	print "| | | before | after | unit | change |\n|---|--:|--:|--:|---|--:|"
}
FNR == NR {
	before[$2, $3, $4] = $5
	next
}
($2, $3, $4) in before {
	was = before[$2, $3, $4]
	change = was ? ($5 / was - 1) * 100 : $5 ? 100 : 0
	if (change >= 1 || change <= -1)
		printf "| %s, %s | %s | %.6g | %.6g | %s | %+.1f %% |\n", $2, $3, $4, was, $5,
		       $6, change
}
