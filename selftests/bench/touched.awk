# SPDX-License-Identifier: GPL-2.0
#
# usage: awk -f touched.awk TOUCHED.TSV OUTPUT
#
# Says what the walks of a program touched: its lines "WALK name frames from to"
# are of those lines of what the plugin wrote. An interrupt may be in some, and is
# not in the one of the fewest instructions.

function touched(kind, value)
{
	printf "RESULT\t%s\t%s\t%d\t%d\t%s\n", kind, $2, $3, value, unit[kind]
	if ($3 == 8)
		first[kind] = value
	if ($3 == 256 && kind != "code-lines")
		printf "RESULT\tframe-%s\t%s\t0\t%.3f\t%s\n", kind, $2,
		       (value - first[kind]) / ($3 - 8), unit[kind]
}

BEGIN {
	FS = "\t"
	split("windows user-lines kernel-lines code-lines", kinds, " ")
	unit["windows"] = "windows"
	unit["user-lines"] = unit["kernel-lines"] = unit["code-lines"] = "lines"
}
FNR == NR {
	walk[FNR] = $0
	next
}
$1 == "WALK" {
	least = ""
	for (w = $4; w <= $5; w++) {
		split(walk[w], is, "\t")
		if (is[1] && (least == "" || is[1] < least)) {
			least = is[1]
			best = w
		}
	}
	if (least == "")
		exit 1
	split(walk[best], is, "\t")
	for (k = 1; k <= 4; k++)
		touched(kinds[k], is[k + 1])
}
