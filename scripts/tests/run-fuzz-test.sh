#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests that run-fuzz.sh uses the same seed in the check and a random one in the soak,
# and keeps what was found. Its fuzzer is a stand-in: it notes its arguments and how
# many inputs it starts from, and adds one. Prints TAP.

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

mkdir -p "$work/obj/corpus/a"
touch "$work/obj/corpus/a/seed"
cat > "$work/obj/a_fuzz" <<'END'
#!/bin/bash
found=${*: -2:1}
for arg; do
	case $arg in
	-seed=*) echo "seed ${arg#*=}" ;;
	-artifact_prefix=*) artifacts=${arg#*=} ;;
	-runs=*) echo "runs ${arg#*=}" ;;
	esac
done > "$SAID"
find "$found" "${*: -1}" -type f | wc -l | sed 's/^/inputs /' >> "$SAID"
mktemp "$found/XXXXXX" > /dev/null
[ -z "$CRASH" ] || { echo input > "${artifacts}crash-1"; exit 77; }
[ ! -e "$found/crash-1" ] || exit 77
END
chmod +x "$work/obj/a_fuzz"
export SAID=$work/said CRASH=''
unset FUZZ_SEED

# expect NAME STATUS SAID [OPTION]... - all that the fuzzer said
expect()
{
	local output status said

	rm -f "$SAID"
	output=$("$here/../../rig/host/run-fuzz.sh" "${@:4}" "$work/obj" a:-runs=5)
	status=$?
	said=$(xargs < "$SAID")
	printf '%s\n' "$output" "said: $said" | sed 's/^/# /'
	# shellcheck disable=SC2053
	[ $status = "$2" ] && [[ $said = $3 ]] &&
		grep -q -x "# FUZZ_SEED=$(sed -n 's/^seed //p' "$SAID")" <<< "$output"
	result $? "$1"
}

expect "the check has the same numbers each time" 0 'seed 1 runs 5 inputs 1'
expect "... and starts from the same inputs" 0 'seed 1 runs 5 inputs 1'
FUZZ_SEED=7 expect "a seed of one's own" 0 'seed 7 runs 5 inputs 1'
FUZZ_SEED=random expect "a random one" 0 'seed [1-9]* runs 5 inputs 1' -k "$work/kept"
first=$(grep seed "$SAID")
FUZZ_SEED=random expect "... starts from what was found" 0 'seed [1-9]* runs 5 inputs 2' \
	-k "$work/kept"
[ "$first" != "$(grep seed "$SAID")" ]
result $? "... and is another each time"
expect "what is found is not the check's" 0 'seed 1 runs 5 inputs 1'
CRASH=yes expect "a crash" 1 'seed 1 runs 5 inputs 3' -k "$work/kept"
[ -e "$work/kept/a/crash-1" ]
result $? "... is kept"
expect "... and fails the next run" 1 'seed 1 runs 5 inputs 5' -k "$work/kept"
CRASH=yes expect "a crash of the check" 1 'seed 1 runs 5 inputs 1'
[ -e "$work/obj/crash-1" ]
result $? "... is kept beside the fuzzer"
rm "$work/obj/corpus/a/seed"
: > "$SAID"
! "$here/../../rig/host/run-fuzz.sh" "$work/obj" a:-runs=5 > /dev/null && [ ! -s "$SAID" ]
result $? "without seeds nothing is fuzzed"
finish
