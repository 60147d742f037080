# SPDX-License-Identifier: MIT
#
# usage: awk -v strict=REGEX -v of=NAME -v least=N [-v titles='RECORDING=TITLE;...'] \
#            -f shares.awk RECORDING.facts...
#
# Prints a table of the complete shares of each recording's stacks, as machine/stacks.py counts
# them: of all, of those through compiled code, and of those in C that compiled code has called.
# In recordings whose name matches "strict", 99 % of all stacks have to be complete, and 99.9 %
# of those that "of" names ("compiled" or "called"), of which there must be at least "least".

function share(part, all)
{
	return all ? 100 * part / all : 0
}

function name_of(file)
{
	sub(/.*\//, "", file)
	sub(/\.facts$/, "", file)
	return file
}

function complete(file, what)
{
	return share(n[file, what "-complete"], n[file, what])
}

function read_titles(	i, nr, part, at)
{
	nr = split(titles, part, /;/)
	for (i = 1; i <= nr; i++) {
		at = index(part[i], "=")
		title[substr(part[i], 1, at - 1)] = substr(part[i], at + 1)
	}
}

{ n[FILENAME, $1] = $2 }

END {
	read_titles()
	print "| | samples | complete | through compiled code | of these complete " \
	      "| in C called by it | of these complete |\n|---|--:|--:|--:|--:|--:|--:|"
	for (i = 1; i < ARGC; i++) {
		file = ARGV[i]
		whole = share(n[file, "complete"], n[file, "samples"])
		name = name_of(file)
		printf "| %s | %d | %.2f %% | %d | %.2f %% | %d | %.2f %% |\n",
			name in title ? title[name] : name, n[file, "samples"], whole,
			n[file, "compiled"], complete(file, "compiled"), n[file, "called"],
			complete(file, "called")
		if (name ~ "^(" strict ")$" && (whole < 99 || n[file, of] < least ||
		    complete(file, of) < 99.9))
			failed = 1
	}
	exit failed
}
