# SPDX-License-Identifier: MIT
#
# usage: awk -f names.awk FOLDED
#
# Checks, in stacks that codectl record --names has folded, that methods of tests/Churn.java are
# called by their callers in the source, or by methods that these are inlined into. Fails if a
# method has another caller, or if there are fewer than 10,000 such calls.

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
			# It is unknown which of its methods this is.
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
