# SPDX-License-Identifier: MIT
#
# usage: objdump -dr --no-show-raw-insn FILE | awk -v callee=NAME -f hook-cost.awk
#
# Checks that each call of NAME is off the path, after one load of a pointer, its test, and a
# branch. Prints these instructions; the exit status is 0 if the check passes.

/^ *[0-9a-f]+:\t[a-z]/ {
	n++
	split($0, part, "\t")
	addr[n] = part[1]
	gsub(/[ :]/, "", addr[n])
	insn[n] = part[2]
	sub(/ *#.*/, "", insn[n])
	next
}

# A relocation belongs to the instruction above it.
$0 ~ "R_X86_64_PLT32\t" callee "-" { calls[++nr_calls] = n }

function is_pointer_test(i)
{
	return insn[i] ~ /^cmpq +\$0x0,0x[0-9a-f]+\(%/ ||
	       (insn[i] ~ /^test +%/ && insn[i - 1] ~ /^mov +0x[0-9a-f]+\(%/)
}

# The branch to the block that contains the call.
function is_cheap(call,    block, i)
{
	for (block = call; block > 1; block--)
		if (insn[block - 1] ~ /^(jmp|ret)/)
			break
	for (i = 1; i <= n; i++)
		if (insn[i] ~ "^j[a-z]+ +" addr[block] " ") {
			print "# " callee ": " insn[i - 2] "; " insn[i - 1] "; " insn[i]
			return is_pointer_test(i - 1)
		}
	return 0
}

END {
	cheap = nr_calls > 0
	for (c = 1; c <= nr_calls; c++)
		cheap = is_cheap(calls[c]) && cheap
	exit !cheap
}
