# SPDX-License-Identifier: MIT
#
# usage: awk -v strict=REGEX -v of=NAME -v least=N -f shares.awk RECORDING.facts...
#
# Prints for each recording which share of its stacks is complete: of all, of those through
# compiled code, and of those in C that this has called, as machine/stacks.py counts them.
# Fails if, where the name of the recording is as strict says, less than 99 % are, or less
# than 99.9 % of those that "of" names, compiled or called, of which there are to be "least".

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

{ n[FILENAME, $1] = $2 }

END {
	printf "%-10s %8s %10s %10s %10s %10s %10s\n", "", "samples", "complete", "compiled",
		"complete", "called", "complete"
	for (i = 1; i < ARGC; i++) {
		file = ARGV[i]
		whole = share(n[file, "complete"], n[file, "samples"])
		printf "%-10s %8d %8.2f %% %10d %8.2f %% %10d %8.2f %%\n", name_of(file),
			n[file, "samples"], whole, n[file, "compiled"],
			complete(file, "compiled"), n[file, "called"], complete(file, "called")
		if (name_of(file) ~ "^(" strict ")$" && (whole < 99 || n[file, of] < least ||
		    complete(file, of) < 99.9))
			failed = 1
	}
	exit failed
}
