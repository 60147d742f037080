# SPDX-License-Identifier: MIT
#
# usage: gawk -v out=DIR [-v some=1] -f bench-report.awk BOUNDS RESULTS.TSV
#
# Prints a table for each group of figures, with the runs and commits that they are from, and
# which bounds hold; writes DIR/results.json and DIR/plots/GROUP.dat. Fails if a bound does
# not hold; a bound that was not measured does not, except with some=1.

function number(value)
{
	return value == int(value) || value >= 1000 ? sprintf("%d", value + 0.5) :
	       sprintf("%.3g", value)
}

# Adds the run and the commit to those of the group, unless they are there.
function note_origin(group, run, commit)
{
	if (!noted[group, "run", run]++)
		runs[group] = runs[group] (runs[group] == "" ? "" : " ") run
	if (!noted[group, "commit", commit]++)
		commits[group] = commits[group] (commits[group] == "" ? "" : " ") commit
}

function heading(group,    i)
{
	printf "\n## %s\n\n`make bench RUNS='%s'` at %s\n\n| |", group, runs[group],
	       commits[group]
	for (i = 1; i <= nx; i++)
		printf " %s |", xs[i] == 0 && nx == 1 ? "" : xs[i]
	printf " unit |\n|---|"
	for (i = 1; i <= nx; i++)
		printf "--:|"
	printf "---|\n"
}

# The values of x in the group, ascending.
function sort_x(group,    x, list)
{
	for (x in group_x[group])
		list[x] = x + 0
	nx = asort(list, xs)
}

function table(group,    c, i, name)
{
	sort_x(group)
	heading(group)
	for (c = 1; c <= cases[group]; c++) {
		name = case_name[group, c]
		printf "| %s |", name
		for (i = 1; i <= nx; i++)
			printf " %s |", (group, name, xs[i]) in figure ?
			       number(figure[group, name, xs[i]]) : ""
		printf " %s |\n", unit[group, name]
	}
}

# One block per case that has several points.
function plot(group,    c, i, name, file)
{
	file = out "/plots/" group ".dat"
	for (c = 1; c <= cases[group]; c++) {
		name = case_name[group, c]
		if (points[group, name] < 2)
			continue
		printf "\"%s (%s)\"\n", name, unit[group, name] > file
		for (i = 1; i <= nx; i++)
			if ((group, name, xs[i]) in figure)
				print xs[i], figure[group, name, xs[i]] > file
		printf "\n\n" > file
	}
}

function compare(b,    a, other)
{
	split(bound_of[b], a, "/")
	split(bound_with[b], other, "/")
	if (!((a[1], a[2], a[3]) in figure))
		return "none"
	a[0] = figure[a[1], a[2], a[3]]
	if (bound_how[b] == "most")
		return a[0]
	if (!((other[1], other[2], other[3]) in figure))
		return "none"
	other[0] = figure[other[1], other[2], other[3]]
	if (bound_how[b] == "ratio")
		return a[0] / other[0]
	return bound_how[b] == "percent" ? (a[0] / other[0] - 1) * 100 : "none"
}

# For a bound that does not hold.
function miss(b, is,    unit)
{
	unit = bound_how[b] == "percent" ? " %" : bound_how[b] == "ratio" ? " x" : ""
	missed = missed (missed == "" ? "" : ", ") bound_name[b] \
		 (is == "none" ? " was not measured" :
		  sprintf(" is %.4g%s of at most %s%s%s", is, unit, bound_limit[b], unit,
			  bound_why[b] == "" ? "" : " (" bound_why[b] ")"))
}

function judge(    b, is, met, says)
{
	printf "\n## Bounds\n\n`make bench` at %s\n\n", commits["Bounds"]
	print "| | figure | with | is | limit | |\n|---|---|---|--:|--:|---|"
	for (b = 1; b <= bounds; b++) {
		is = compare(b)
		met = is != "none" && is <= bound_limit[b]
		says = is == "none" ? "NOT MEASURED" : met ? "met" : "MISSED"
		printf "| %s | %s | %s | %s | %s %s | %s |\n", bound_name[b], bound_of[b],
		       bound_how[b] == "most" ? "" : bound_with[b],
		       is == "none" ? "" : sprintf("%.4g", is), bound_limit[b],
		       bound_how[b] == "percent" ? "%" : bound_how[b] == "ratio" ? "x" : "",
		       says
		json_bounds = json_bounds (b > 1 ? ",\n" : "") \
			sprintf("  {\"name\": \"%s\", \"is\": %s, \"limit\": %s, \"met\": %s}",
				bound_name[b], is == "none" ? "null" : is, bound_limit[b],
				met ? "true" : "false")
		held += met
		if (is == "none" && some)
			unmeasured++
		else if (!met)
			miss(b, is)
	}
	printf "\n%d of %d bounds hold%s%s\n", held, bounds - unmeasured,
	       unmeasured ? "; " unmeasured " were not measured" : "",
	       missed == "" ? "" : "; " missed
}

BEGIN { FS = "\t+" }
/^#/ { next }
FILENAME == ARGV[1] {
	bounds++
	bound_name[bounds] = $1
	bound_of[bounds] = $2
	bound_how[bounds] = $3
	bound_with[bounds] = $4
	bound_limit[bounds] = $5
	bound_why[bounds] = $6
	next
}
{
	if (!($2 in cases))
		group_name[++groups] = $2
	if (!(($2, $3) in unit)) {
		case_name[$2, ++cases[$2]] = $3
		unit[$2, $3] = $6
	}
	group_x[$2][$4]
	points[$2, $3]++
	figure[$2, $3, $4] = $5
	commit = $7 == "" ? "unknown" : $7
	note_origin($2, $1, commit)
	note_origin("Bounds", $1, commit)
	json = json (json == "" ? "" : ",\n") \
		sprintf("  {\"run\": \"%s\", \"group\": \"%s\", \"case\": \"%s\", \"x\": %s, " \
			"\"value\": %s, \"unit\": \"%s\", \"commit\": \"%s\"}", $1, $2, $3, $4, $5, \
			$6, commit)
}
END {
	for (g = 1; g <= groups; g++) {
		table(group_name[g])
		plot(group_name[g])
	}
	judge()
	printf "{\"figures\": [\n%s\n],\n\"bounds\": [\n%s\n]}\n", json, json_bounds > \
	       (out "/results.json")
	exit held != bounds - unmeasured
}
