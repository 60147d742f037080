# SPDX-License-Identifier: GPL-2.0
#
# usage: awk -f touched.awk SYMBOLS TOUCHED.TSV OUTPUT TOUCHED.TSV.insns
#
# Reports what the walks of a program touched. Its lines "WALK name frames from to" refer to
# lines of the plugin's output. Some walks may include an interrupt; the one with the fewest
# instructions does not. For a stack of 64 frames it also reports the functions; SYMBOLS are
# those of the kernel, sorted.

function touched(kind, value)
{
	printf "RESULT\t%s\t%s\t%d\t%d\t%s\n", kind, $2, $3, value, unit[kind]
	if ($3 == 8)
		first[kind] = value
	if ($3 == 256 && kind != "code-lines")
		printf "RESULT\tframe-%s\t%s\t0\t%.3f\t%s\n", kind, $2,
		       (value - first[kind]) / ($3 - 8), unit[kind]
}

function least_of(from, to,    w, is, least, best)
{
	for (w = from; w <= to; w++) {
		split(walk[w], is, "\t")
		if (is[1] && (!best || is[1] + 0 < least)) {
			least = is[1] + 0
			best = w
		}
	}
	return best
}

# Addresses of one length sort as text.
function function_of(addr,    low, high, middle)
{
	low = 1
	high = symbols
	while (low < high) {
		middle = int((low + high + 1) / 2)
		if (start[middle] "" <= addr "")
			low = middle
		else
			high = middle - 1
	}
	return symbol[low]
}

function place(addr)
{
	if (!(addr in place_of))
		place_of[addr] = length(addr) < length(start[1]) ? "user space" : function_of(addr)
	return place_of[addr]
}

# The figure is that of one of the many calls of a round, whose number is given.
function rounds(name, figure,    least, w)
{
	split(walk[least_of(from, to)], least, "\t")
	for (w = from + 1; w <= to; w++) {
		name_of[w] = name
		share[w] = figure / least[1]
	}
	nr[name] += to - from
}

function row(what, value)
{
	printf "RESULT\tprofile-%s\t%s\t0\t%.0f\tinsns\n", group, what, value
}

function difference(    f, more, sum, others)
{
	for (f in insns["on"])
		more[f] = insns["on"][f] / nr["on"]
	for (f in insns["off"])
		more[f] -= insns["off"][f] / nr["off"]
	for (f in more)
		sum += more[f]
	others = sum
	for (f in more)
		if (more[f] * 100 >= sum || more[f] * 100 <= -sum) {
			row(f, more[f])
			others -= more[f]
		}
	row("others", others)
	row("total", sum)
}

function profile(    n, f)
{
	for (n = 1; n <= named; n++)
		for (f in insns[name[n]])
			if (insns[name[n]][f] * 100 >= total[name[n]])
				printf "RESULT\tprofile-%s\t%s\t64\t%d\tinsns\n",
				       name[n], f, insns[name[n]][f]
}

BEGIN {
	split("windows user-lines kernel-lines code-lines", kinds, " ")
	unit["windows"] = "windows"
	unit["user-lines"] = unit["kernel-lines"] = unit["code-lines"] = "lines"
	PROCINFO["sorted_in"] = "@val_num_desc"
}
FNR == 1 { file++ }
file == 1 && tolower($2) == "t" && $1 != start[symbols] {
	start[++symbols] = $1
	symbol[symbols] = $3
}
file == 2 { walk[FNR] = $0 }
file == 3 && $1 == "WALK" {
	best = least_of($4, $5)
	if (!best)
		exit 1
	split(walk[best], is, "\t")
	for (k = 1; k <= 4; k++)
		touched(kinds[k], is[k + 1])
	if ($3 == 64) {
		name[++named] = $2
		name_of[best] = $2
	}
}
file == 3 && $1 == "ROUNDS" {
	from = to + 1
	to += $2
}
file == 3 && $1 == "RESULT" && match($3, /(on|off)$/, is) {
	group = $2
	rounds(is[1], $5)
}
file == 4 && $1 in name_of {
	part = $3 * ($1 in share ? share[$1] : 1)
	insns[name_of[$1]][place($2)] += part
	total[name_of[$1]] += part
}
END {
	profile()
	if (group)
		difference()
}
