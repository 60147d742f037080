# SPDX-License-Identifier: MIT
#
# usage: awk -v suite=NAME -v table=FILE -f compare-suites.awk RUN...
#        awk -v suite=NAME -v list=doubtful|unsettled -f compare-suites.awk RUN...
#
# Compares, by name, the results from suite-results.awk for a suite's runs before and
# after our patches. RUN is a file *.before.N or *.after.N; all but the first two are
# of tests that had to be repeated. Adds a row to the table, lists failures, and fails
# if any result of a test after is worse than all its results before, or if a run did
# not complete.
#
# Or lists the tests that have to be repeated: "doubtful" ones fail or differ, "unsettled" ones do
# not always have the same result or are worse after.

BEGIN {
	rank["fail"] = 2
	rank["skip"] = rank["none"] = 1
	rank["pass"] = 0
	split("pass fail skip none", words)
}

# The unit to repeat: a test of the kernel is a program with parts.
function unit(name)
{
	return suite ~ /^kselftest/ ? substr(name, 1, index(name "/", "/") - 1) : name
}

# Sets, for the runs of the test on one side, the worst result, the count of each result, and
# whether all were the same.
function judge(side, name,	run, said, times, i)
{
	worst[side] = all[side] = ""
	same[side] = 1
	for (run = 1; run <= runs; run++) {
		if (!((run, unit(name)) in ran))
			continue
		said = (side, run, name) in results ? results[side, run, name] : "none"
		times[said]++
		if (worst[side] == "")
			worst[side] = said
		same[side] = same[side] && said == worst[side]
		if (rank[said] > rank[worst[side]])
			worst[side] = said
	}
	for (i = 1; i in words; i++)
		if (times[words[i]])
			all[side] = all[side] " " times[words[i]] " " words[i]
}

function is_new()
{
	return rank[worst["after"]] > rank[worst["before"]]
}

function is_unstable()
{
	return !same["before"] || !same["after"]
}

function is_doubtful()
{
	return worst["before"] != worst["after"] || worst["after"] == "fail"
}

function print_names(title, names)
{
	if (names != "")
		printf "# %s: %s\n", title, substr(names, 3)
}

function both(name)
{
	return ", " name " (" substr(all["before"], 2) "; " substr(all["after"], 2) ")"
}

function classify(name)
{
	if (is_new()) {
		new = new both(name)
		nr_new++
	} else if (is_unstable()) {
		unstable = unstable both(name)
		nr_unstable++
	} else if (worst["after"] == "fail") {
		alike = alike ", " name
		nr_alike++
	} else if (worst["before"] == "fail") {
		mended = mended ", " name
	}
}

function row(side)
{
	return sprintf("%d / %d / %d", count[side, "pass"], count[side, "fail"], \
		count[side, "skip"])
}

FNR == 1 {
	nr_parts = split(FILENAME, part, ".")
	side = part[nr_parts - 1]
	run = part[nr_parts] + 0
	if (run > runs)
		runs = run
}

$2 == "the-run" {
	if ($1 != "pass")
		died = died ", " side " " run
	next
}

{
	status = $1
	sub(/^[a-z]+ /, "")
	results[side, run, $0] = status
	if (!($0 in known)) {
		known[$0]
		order[++nr_names] = $0
	}
	ran[run, unit($0)]
}

$0 == "the-kernel-log" { next }

run == 1 { count[side, status]++ }

function wanted(name)
{
	return name != "the-kernel-log" && \
		(list == "doubtful" ? is_doubtful() : is_unstable() || is_new())
}

END {
	for (i = 1; i <= nr_names; i++) {
		# Also tests without a result in the first run.
		ran[1, unit(order[i])]
		judge("before", order[i])
		judge("after", order[i])
		if (list == "")
			classify(order[i])
		else if (wanted(order[i]) && !listed[unit(order[i])]++)
			print unit(order[i])
	}
	if (list != "")
		exit
	print_names("newly failing (before; after)", new)
	print_names("unstable (before; after)", unstable)
	print_names("fails before and after", alike)
	print_names("fails only before", mended)
	print_names("did not come to an end", died)
	printf "| %s | %s | %s | %d | %d | %d |\n", suite, row("before"), row("after"), \
		nr_alike, nr_unstable, nr_new >> table
	if (!count["before", "pass"] || !count["after", "pass"])
		print "# nothing passed"
	exit nr_new > 0 || died != "" || !count["before", "pass"] || !count["after", "pass"]
}
