# SPDX-License-Identifier: MIT
#
# usage: awk -f decoder-report.awk decoder.tap decoder-all.tap
#        awk -f decoder-report.awk decoder-damage.tap
#
# Prints a table: of what sframe_diff has found in the files of check and in those of the soak, or
# of what sframe_damage has found. Fails if there is something that no row is for.

function add(row)
{
	rows[++nr_rows] = row
}

# What belongs to the last row; COLUMN is 0 if each file has its own.
function has(what, column)
{
	row_of[what] = nr_rows
	column_of[what] = column
}

function count(what, nr,	row, column)
{
	if (!(what in row_of)) {
		print "decoder-report.awk: no row is for: " what > "/dev/stderr"
		failed = 1
		return
	}
	row = row_of[what]
	column = column_of[what] ? column_of[what] : file
	figure[row, column] += nr
	used[row] = 1
	return row
}

function grouped(number,	text)
{
	text = sprintf("%d", number)
	while (match(text, /[0-9][0-9][0-9][0-9]+/))
		text = substr(text, 1, RSTART + RLENGTH - 4) "," substr(text, RSTART + RLENGTH - 3)
	return text
}

function define_differences()
{
	add("files")
	has("files")
	add("addresses")
	has("addresses")
	add("decoder and libsframe differ")
	has("differ")
	add("SFrame and DWARF say the same")
	has("of which they say the same, of them")
	add("neither knows the address")
	has("of which SFrame and DWARF know nothing")
	add("*gcc*: the compiler's libgcc.a, libgcc_eh.a, libgcov.a and libstdc++.a have no SFrame; " \
	    "a function with the name and size of one of theirs")
	has("by the compiler: its libraries have no SFrame")
	add("*gas*: a function is left out because of an expression about rbx or r12 to r15, which " \
	    "SFrame does not track; its CFI has such a row (libmvec)")
	has("by gas: left out for an expression of a register that is not tracked")
	add("*gas*: `.cfi_restore` of the return address is ignored on x86-64; our rule has it where " \
	    "it was in the row before (kinds.S only)")
	has("by gas: return address not where .cfi_restore has it")
	add("*glibc*: `__restore_rt` has hand-written .eh_frame, which gas cannot see; its " \
	    "instructions are found")
	has("by glibc: CFI of the return from signals, written out past the assembler")
	add("*ld*: .plt.got with CFA = SP + 16, where a lone jump leaves SP + 8")
	has("by ld: .plt.got as if a word had been pushed")
	add("*SFrame* cannot express it: a CFA or return address by an expression, another SP, a " \
	    "frame pointer that is undefined or an address (kinds.S only)")
	has("by SFrame: no words for a row of the function")
}

function define_damage()
{
	add("both refuse or take it; both say the same")
	has("same: section refused", 1)
	has("same: section taken", 1)
	has("same: no rule", 2)
	has("same: a rule", 2)
	add("*refused by the kernel*: another version, another ABI, FDEs that are not sorted; FDEs of " \
	    "no known kind, mangled return addresses, words that do not fit the row")
	has("refused: another version", 1)
	has("refused: another ABI", 1)
	has("refused: FDEs that are not sorted", 1)
	has("an FDE of no known kind", 2)
	has("a mangled return address", 2)
	has("words that do not fit the row", 2)
	add("*libsframe dies* (a read out of bounds, an assertion, a division by 0): parts or index " \
	    "outside the section, rows outside their part, block size 0")
	has("libsframe: dies of parts outside of the section", 1)
	has("libsframe: dies while it reads the index", 1)
	has("libsframe: dies of a lookup", 2)
	has("libsframe: dies of rows that it did not look at", 2)
	add("*libsframe* refuses an index after the rows; takes distances modulo 4 GiB")
	has("libsframe: refuses an index behind the rows", 1)
	has("libsframe: takes distances modulo 4 GiB", 2)
	add("*libsframe* refuses rows of so many data words")
	has("a row of no known kind", 2)
	add("*no order*: rows that do not ascend: each reader finds another one")
	has("rows out of order", 2)
	add("taken by both, but not compared: *libsframe* ignores the flag that starts are relative to " \
	    "their field, and fdeoff")
	has("libsframe: takes starts for relative to their field", 1)
	has("libsframe: takes the index for the first part", 1)
	add("taken by both, but not compared: functions that overlap, are not sorted, or lie outside " \
	    "the address space")
	has("functions that overlap or are not sorted", 1)
	has("a function outside of the address space", 1)
}

BEGIN {
	if (ARGC > 2)
		define_differences()
	else
		define_damage()
	add("unexplained")
	has("unexplained", ARGC > 2 ? 0 : 2)
}

FNR == 1 { file++ }

ARGC > 2 && /^(not )?ok / { count("files", 1) }

/^# \// { count("differ", $(NF - 1)) }

/^# +[0-9]+ / {
	nr = $2
	functions = ""
	sub(/^# +[0-9]+ /, "")
	# Parts of those that are the same.
	if (/^(outermost|in signal frames|without a row|that need a flexible FDE)/)
		next
	if (/^in [0-9]+ functions, /) {
		functions = $2
		sub(/^in [0-9]+ functions, /, "")
	}
	row = count($0, nr)
	if (functions != "")
		note[row, file] = " (" grouped(functions) " functions)"
}

END {
	print (ARGC > 2 ? "| | check | soak |" : "| | sections | addresses |")
	print "|---|---|---|"
	for (i = 1; i <= nr_rows; i++)
		if (used[i])
			printf "| %s | %s%s | %s%s |\n", rows[i], grouped(figure[i, 1]), note[i, 1],
			       grouped(figure[i, 2]), note[i, 2]
	exit failed
}
