# SPDX-License-Identifier: MIT
#
# usage: awk -f names.awk FOLDED
#
# Whether methods of tests/Churn.java are called by those that call them, or are called by what
# these are inlined into, in stacks that codectl record --names has folded. Fails if one
# is called by another, or fewer than 10,000 are.

BEGIN {
	FS = ";"
	all = "Churn.work Churn.lambda$main$0 Churn.main"
	callers["Churn.work"] = all
	callers["Churn.streams"] = callers["Churn.shapes"] = callers["Churn.maps"] = all
	callers["Churn.throwing"] = all
	callers["Churn.fall"] = "Churn.fall Churn.throwing " all
	callers["Churn.ackermann"] = "Churn.ackermann Churn.throwing " all
	for (callee in callers) {
		n = split(callers[callee], list, " ")
		for (i = 1; i <= n; i++)
			may[callee, list[i]] = 1
	}
}

function name(frame) {
	sub(/\+0x[0-9a-f]+$/, "", frame)
	sub(/^jit:/, "", frame)
	return frame
}

{
	match($NF, / [0-9]+$/)
	weight = substr($NF, RSTART + 1)
	$NF = substr($NF, 1, RSTART - 1)
	for (i = 2; i <= NF; i++) {
		callee = name($i)
		caller = name($(i - 1))
		if (!(callee in callers))
			continue
		if ((callee, caller) in may) {
			right += weight
		} else if (caller == "Interpreter" || caller ~ /^\[/) {
			# Which of its methods it is in cannot be told.
			other += weight
		} else if (callee == "Churn.ackermann" && caller ~ /^(java\.lang\.invoke|jdk\.internal\.reflect)\./) {
			other += weight
		} else {
			wrong += weight
			print "wrong: " caller " calls " callee
		}
	}
}

END {
	printf "%d calls have the names of caller and callee, %d have not, %d are from the interpreter or reflection\n",
		right, wrong, other
	exit wrong || right < 10000
}
