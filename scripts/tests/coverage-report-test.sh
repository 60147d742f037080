#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that coverage-report.py finds the code that was not reached, and nothing else.
# Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

mkdir -p "$work"/{libcodectl/src,tools,kernel/unwind,patches}
cat > "$work/tools/a.c" <<'EOF'
static int
first(int x)
{
	if (x)
		return 1;
	return 0;
}

int second(int x)
{
	return first(x);
}
EOF
cp "$work/tools/a.c" "$work/libcodectl/src/a.c"
cp "$work/tools/a.c" "$work/kernel/unwind/user.c"
cat > "$work/patches/1.patch" <<'EOF'
--- a/kernel/unwind/user.c
+++ b/kernel/unwind/user.c
@@ -3,2 +3,4 @@
 {
+	if (x)
+		return 0;
 	return 0;
EOF
# A patch that moves the lines of the previous one, and changes one of them.
cat > "$work/patches/2.patch" <<'EOF'
--- a/kernel/unwind/user.c
+++ b/kernel/unwind/user.c
@@ -1,5 +1,6 @@
-static int first(int x)
+static int
+first(int x)
 {
 	if (x)
-		return 0;
+		return 1;
 	return 0;
EOF
printf '# in this order\n1.patch\n2.patch\n' > "$work/patches/series"

# lines NUMBER:COUNT[:BRANCH,BRANCH...]... - prints them in gcovr's format
lines()
{
	local line number times branches

	for line; do
		IFS=: read -r number times branches <<< "$line"
		printf '{"line_number": %s, "count": %s, "branches": [%s]}, ' "$number" \
			"$times" "$(sed -E 's/[0-9]+/{"count": &}/g' <<< "$branches")"
	done | sed 's/, $//'
}

# file NAME FUNCTIONS LINE... - a source, with the functions that are not only inlined
file()
{
	local name=$1 functions=$2

	shift 2
	printf '{"file": "%s", "functions": [%s], "lines": [%s]}' "$name" \
		"$(sed -E 's/ /,/g; s/\w+/{"name": "&", "lineno": 1}/g' <<< "$functions")" \
		"$(lines "$@")"
}

whole=('4:2:1,1' 5:1 6:1)

# expect NAME STATUS OUTPUT - runs it on the tracefiles $work/*.json, with entries of the list on
# standard input
expect()
{
	local output status reports=()

	cat > "$work/list"
	for json in "$work"/*.json; do
		reports+=("$work:$json")
	done
	output=$("$here/../check/coverage-report.py" "$work/list" "$work/patches" "${reports[@]}" 2>&1)
	status=$?
	echo "# status $status: $(tail -n 3 <<< "$output" | tr '\n' ';')"
	[ $status = "$2" ] && { [ -z "$3" ] || grep -q -F -e "$3" <<< "$output"; }
	result $? "$1"
}

# tools FUNCTIONS LINE... - a tracefile with these for tools; everything else was reached
tools()
{
	rm -f "$work"/*.json
	printf '{"files": [%s, %s, %s]}' "$(file libcodectl/src/a.c "first second" "${whole[@]}")" \
		"$(file kernel/unwind/user.c "first second" "${whole[@]}" 11:0)" \
		"$(file tools/a.c "$@")" > "$work/1.json"
}

tools 'first second' "${whole[@]}"
expect "all is reached" 0 "" < /dev/null
expect "of others' files count two lines of the series" 0 \
	"kernel/unwind/user.c                       2 of     2" < /dev/null
expect "listed, but reached" 1 "listed, but reached: tools/a.c first" \
	<<< $'For no reason.\n\ttools/a.c first: if (x)'
expect "listed, and may be reached" 0 "" <<< $'For no reason.\n\t?tools/a.c first: if (x)'
expect "listed, but of another function" 1 "listed, but not there: tools/a.c second" \
	<<< $'For no reason.\n\ttools/a.c second: if (x)'
expect "a list that cannot be read" 1 "not FILE FUNCTION: TEXT" \
	<<< $'For no reason.\n\ttools/a.c first'

tools 'first second' 4:2:1,0 5:1 6:0
expect "a line and a branch are not" 1 "tools: less than" < /dev/null
expect "they are named" 1 "tools/a.c:6: 0 of 0 branches: first: return 0;" < /dev/null
expect "they are listed" 0 "" \
	<<< $'For a reason.\n\ttools/a.c first: if (x)\n\ttools/a.c first: return 0;'
expect "the function is listed" 0 "" <<< $'For a reason.\n\ttools/a.c first: *'

printf '{"files": [%s]}' "$(file tools/a.c first "${whole[@]}")" > "$work/2.json"
expect "another build has reached them" 0 "" < /dev/null

tools second 4:2:1,0,0,1 5:1 6:1
expect "each copy of an inlined function has reached one branch" 0 "" < /dev/null
tools second 4:2:1,0,1,0 5:1 6:1
expect "no copy has reached the other" 1 "1 of 2 branches: first: if (x)" < /dev/null
tools 'first second' 4:2:1,0,0,1 5:1 6:1
expect "branches of what was not inlined" 1 "2 of 4 branches: first: if (x)" < /dev/null

rm "$work"/*.json
echo '{"files": []}' > "$work/1.json"
expect "nothing was counted" 1 "kernel: less than" < /dev/null

finish
