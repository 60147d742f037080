#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: walk_test.sh JAVA_HOME [SAMPLES [SECONDS]]
#
# Compares stacks walked by the tables with those of AsyncGetCallTrace(), for a program in a
# small code cache, and for javac if there is the source of a package to compile.  Runs in
# the directory of libcodectl-jvm.so and libwalk.so.  Fails if a stack is wrong, or if too
# few agree.

set -eu -o pipefail

here=$(cd "$(dirname "$0")" && pwd)
java=$1/bin samples=${2:-10000} seconds=${3:-100}
failed=0
mkdir -p classes

agents()
{
	local agent

	for agent in "libcodectl-jvm.so=statistics" "libwalk.so=$samples"; do
		echo "$1-agentpath:$PWD/$agent"
	done
}

# judge NAME LEAST COMMAND... - at least LEAST stacks have to be compared
judge()
{
	local name=$1 least=$2 compared wrong

	shift 2
	"$@" > "classes/$name.log" 2>&1 || true
	compared=$(sed -n 's/^walk: \([0-9]*\) compared.*/\1/p' "classes/$name.log")
	wrong=$(sed -n 's/^walk: \([0-9]*\) wrong$/\1/p' "classes/$name.log")
	echo "$name: ${compared:-0} compared, ${wrong:-unknown} wrong"
	if [ "${compared:-0}" -lt "$least" ] || [ "$wrong" != 0 ]; then
		echo "FAILED: see $PWD/classes/$name.log"
		failed=1
	fi
}

"$java/javac" -d classes "$here/Churn.java"
mapfile -t here_agents < <(agents '')
mapfile -t there_agents < <(agents -J)
run=("$java/java" "${here_agents[@]}" -cp classes)
judge small $((samples / 10)) "${run[@]}" -XX:ReservedCodeCacheSize=8m Churn "$seconds"
judge interpreter 100 "${run[@]}" -Xint Churn 20
judge c1 100 "${run[@]}" -XX:TieredStopAtLevel=1 Churn 20
judge c2 100 "${run[@]}" -XX:-TieredCompilation Churn 20
judge frame-pointer 100 "${run[@]}" -XX:+PreserveFramePointer Churn 20
source=$1/lib/src.zip
if [ -e "$source" ]; then
	unzip -q -o -d classes/source "$source" 'java.base/java/util/*'
	find classes/source -name '*.java' > classes/files
	judge javac $((samples / 10)) "$java/javac" "${there_agents[@]}" -nowarn -d classes/out \
		--patch-module java.base=classes/source/java.base @classes/files
fi
exit $failed
