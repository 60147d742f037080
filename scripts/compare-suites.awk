# SPDX-License-Identifier: MIT
#
# usage: awk -v suite=NAME -v table=FILE -f compare-suites.awk \
#	BEFORE BEFORE-AGAIN AFTER AFTER-AGAIN
#
# Compares, by name, what suite-results.awk made of a suite's runs before and
# after our patches; the second runs are of those tests that did not pass. Adds
# a row to the table, names what fails, and fails if something fails only after.
# A test with another result the second time is unstable.

# What is repeated: one of the kernel's tests is a program with parts.
function unit(name)
{
	return suite ~ /^kselftest/ ? substr(name, 1, index(name "/", "/") - 1) : name
}

function said(run, name)
{
	return (run, name) in results ? results[run, name] : "none"
}

function is_unstable(name)
{
	return repeated[unit(name)] && \
		(said(1, name) != said(2, name) || said(3, name) != said(4, name))
}

function is_new(before, after)
{
	return before == "pass" && after != "pass" || before != "fail" && after == "fail"
}

function list(title, names)
{
	if (names != "")
		printf "# %s: %s\n", title, substr(names, 3)
}

function classify(name,	before, after)
{
	before = said(1, name)
	after = said(3, name)
	if (is_unstable(name)) {
		unstable = unstable ", " name
		nr_unstable++
	} else if (is_new(before, after)) {
		new = new ", " name " (" before ", " after ")"
		nr_new++
	} else if (after == "fail") {
		alike = alike ", " name
		nr_alike++
	} else if (before == "fail") {
		mended = mended ", " name
	}
}

function row(run)
{
	return sprintf("%d / %d / %d", count[run, "pass"], count[run, "fail"], count[run, "skip"])
}

FILENAME != file {
	file = FILENAME
	for (run = 1; ARGV[run] != file; run++)
		;
}

{
	status = $1
	sub(/^[a-z]+ /, "")
	results[run, $0] = status
	count[run, status]++
	if (!($0 in known)) {
		known[$0]
		order[++nr_names] = $0
	}
	if (run == 2 || run == 4)
		repeated[unit($0)] = 1
}

END {
	for (i = 1; i <= nr_names; i++)
		classify(order[i])
	list("newly failing (before, after)", new)
	list("unstable", unstable)
	list("fails before and after", alike)
	list("fails only before", mended)
	printf "| %s | %s | %s | %d | %d | %d |\n", suite, row(1), row(3), nr_alike, \
		nr_unstable, nr_new >> table
	if (!count[1, "pass"] || !count[3, "pass"])
		print "# nothing passed"
	exit nr_new > 0 || !count[1, "pass"] || !count[3, "pass"]
}
