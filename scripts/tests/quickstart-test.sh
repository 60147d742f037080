#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tests which build directories quickstart accepts, what it removes, that two of them do not run
# at the same time in one directory, and what it says without root. Its configure, its Makefile
# and the package tools are stand-ins. Prints TAP.

# Stand-ins expand their own variables.
# shellcheck disable=SC2016

set -u

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap 'rm -rf "$work"' EXIT
# shellcheck source=../check/tap.sh
. "$here/../check/tap.sh"

mark=.codectl-quickstart
top=$work/top

make_top()
{
	mkdir -p "$top/m4" "$top/libcodectl" "$work/bin"
	cp "$here/../../quickstart" "$top"
	(cd "$top" && touch configure.ac Makefile.{am,in} libcodectl/Makefile.{am,in} m4/codectl.m4)
	cat > "$work/Makefile" <<-'END'
		sources guest demo-programs jit-demo-programs packages:
		debian-machine:
		check-debian:
			@echo machine of $(RELEASE)
		run-demo:
			@touch running
			@if [ -n "$$GATE" ]; then read go < "$$GATE"; fi
	END
	sed -i -E 's/^(@)/\t\1/' "$work/Makefile"
	mkdir "$top/machine"
	printf '%s\n' '#!/bin/sh' 'echo "${1##*/} $2"' > "$top/machine/boot.sh"
	chmod +x "$top/machine/boot.sh"
	cat > "$top/configure" <<-END
		#!/bin/sh
		echo 'S["PACKAGE_NAME"]="codectl"' > config.status
		cp '$work/Makefile' .
	END
	chmod +x "$top/configure"
}

# stub NAME - with its commands on standard input
stub()
{
	{ echo '#!/bin/sh'; cat; } > "$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# quickstart DIRECTORY VERB - its output is in $work/said
quickstart()
{
	CODECTL_BUILD=$1 "$top/quickstart" "${@:2}" > "$work/said" 2>&1
}

# expect NAME STATUS SAID DIRECTORY VERB
expect()
{
	quickstart "${@:4}"
	local status=$?

	sed 's/^/# /' "$work/said"
	[ "$status" = "$2" ] && { [ -z "$3" ] || grep -q -e "$3" "$work/said"; }
	result $? "$1"
}

# expect_all NAME STATUS SAID DIRECTORY VERB... - the status of verbs that run a guest is 125
expect_all()
{
	local verb

	for verb in "${@:5}"; do
		case $verb in
		guest | shell) expect "$1: $verb" 125 "$3" "$4" "$verb" ;;
		*) expect "$1: $verb" "$2" "$3" "$4" "$verb" ;;
		esac
	done
}

gone()
{
	[ ! -e "$1" ]
	result $? "... as a whole"
}

test_own_directories()
{
	expect "a directory that is new" 0 'each stage' "$work/new" demo
	expect "... again" 0 'each stage' "$work/new" demo
	expect "... is removed" 0 '' "$work/new" clean
	gone "$work/new"
	expect "... and once more" 0 '' "$work/new" clean
	mkdir "$work/empty"
	expect "a directory that is empty" 0 'each stage' "$work/empty" demo
	expect "... is removed" 0 '' "$work/empty" clean
	gone "$work/empty"
	expect "the default directory" 0 'each stage' '' demo
	expect "... is removed" 0 '' '' clean
	gone "$top/build"
	mkdir "$work/target"
	ln -s "$work/target" "$work/link"
	expect "a link to a directory" 0 'each stage' "$work/link" demo
	expect "... is emptied" 0 '' "$work/link" clean
	[ -z "$(ls -A "$work/target")" ]
	result $? "... and stays"
}

test_others_directories()
{
	mkdir -p "$work/clone" "$work/of-clone"
	echo "abs_top_srcdir = $work/clone" > "$work/of-clone/Makefile"
	echo made > "$work/of-clone/$mark"
	expect "a directory of another clone" 1 "builds the sources in $work/clone" "$work/of-clone" demo
	rmdir "$work/clone"
	expect "... which is no longer there" 0 'each stage' "$work/of-clone" demo
	mkdir -p "$work/theirs/logs"
	touch "$work/theirs/thesis"
	expect_all "a directory with a user's files" 1 'theirs is not empty, and quickstart did not make it' "$work/theirs" \
		demo check coverage soak bench packages debian install guest shell
	expect "... and clean" 1 'not made by quickstart' "$work/theirs" clean
	[ "$(cd "$work/theirs" && find . | sort | xargs)" = '. ./logs ./thesis' ]
	result $? "nothing was made or removed there"
	expect "the directory of the sources" 1 'holds the sources' "$top" demo
	(cd "$top" && ./configure)
	expect "... where the library was built" 1 'holds the sources' "$top" demo
	expect "... and clean" 1 'not made by quickstart' "$top" clean
	expect "a directory above the sources" 1 'holds the sources' "$work" demo
	[ -e "$top/quickstart" ] && [ ! -e "$top/$mark" ] && [ ! -e "$work/$mark" ]
	result $? "nothing was made or removed there either"
	expect "no directory" 1 'cannot make .*bin/df' "$work/bin/df" demo
}

# A directory in which configure was run by hand, and one from an earlier quickstart.
test_unmarked_directories()
{
	mkdir "$work/hand"
	(cd "$work/hand" && "$top/configure" && touch notes)
	expect "a directory that was configured by hand" 0 'each stage' "$work/hand" demo
	expect "... is not removed" 1 'held files before' "$work/hand" clean
	[ -e "$work/hand/notes" ]
	result $? "... nor what is in it"
	mkdir -p "$top/build/logs"
	touch "$top/build/logs/packages.log"
	expect "the default directory, without a mark" 0 'each stage' '' demo
	expect "... is not removed" 1 'held files before' '' clean
	rm -rf "$top/build"
}

test_interrupted()
{
	mkdir "$work/cut"
	: > "$work/cut/$mark"
	expect "a first run that ended with an empty mark" 0 'each stage' "$work/cut" demo
	stub rm <<< 'exit 1'
	expect "files that cannot be removed" 1 'cannot remove' "$work/cut" clean
	command -p rm "$work/bin/rm"
	expect "... can be the next time" 0 '' "$work/cut" clean
	gone "$work/cut"
}

# hold DIRECTORY - starts a quickstart that stays in the middle of the demo
hold()
{
	rm -f "$1/running"
	GATE=$work/gate CODECTL_BUILD=$1 "$top/quickstart" demo > "$work/first" 2>&1 &
	first=$!
	until [ -e "$1/running" ]; do
		sleep 0.1
		kill -0 $first || exit 1
	done
}

# Waits until the other one does.
await_waiting()
{
	until grep -s -q waiting "$work/said"; do
		sleep 0.1
		kill -0 "$1" || return
	done
}

test_two()
{
	mkfifo "$work/gate"
	hold "$work/busy"
	expect_all "one of two" 1 "process $first (.*quickstart demo) still uses $work/busy" \
		"$work/busy" demo check coverage soak bench packages debian install clean guest shell
	[ ! -e "$work/busy/results" ]
	result $? "nothing was made meanwhile"
	expect "another directory is free" 0 'each stage' "$work/free" demo
	CODECTL_WAIT=60 quickstart "$work/busy" demo &
	await_waiting $!
	echo go > "$work/gate"
	wait $first
	result $? "the first one goes on to its end"
	wait $!
	result $? "then comes one that has waited"

	# The make of a killed quickstart still runs, and uses the directory.
	hold "$work/busy"
	kill -KILL $first
	wait $first 2> /dev/null
	expect "a quickstart that was killed" 1 'process [0-9]* (make .*uses' "$work/busy" demo
	echo go > "$work/gate"
	CODECTL_WAIT=60 expect "... whose make has ended" 0 'each stage' "$work/busy" demo
}

# With the lock held by this shell.
test_holder()
{
	exec 200>> "$work/busy/$mark"
	flock 200
	quickstart "$work/busy" demo
	result $? "one that is started by the holder of the lock goes on"
	rm "$work/said"
	CODECTL_WAIT=60 quickstart "$work/busy" demo 200>&- &
	await_waiting $!
	rm -rf "$work/busy"
	exec 200>&-
	wait $! && [ "$(cat "$work/busy/$mark")" = made ]
	result $? "a directory that is removed meanwhile is made again"
}

# as_user NAME STATUS SAID - with no sudo but the one in bin/
as_user()
{
	CODECTL_BUILD=$work/packages PATH=$work/bin:$work/without "$BASH" "$top/quickstart" demo \
		> "$work/said" 2>&1
	local status=$?

	sed 's/^/# /' "$work/said"
	[ "$status" = "$2" ] && tail -n 1 "$work/said" | grep -q -e "$3"
	result $? "$1"
}

test_packages()
{
	local tool

	stub dpkg-query <<< '[ "$4" = bc ] || echo "install ok installed"'
	stub id <<< 'echo 1000'
	stub apt-get <<< 'echo "$@" >> "$APT"; [ -z "$FAIL" ] || { echo "E: $FAIL"; exit 100; }'
	export APT=$work/apt FAIL=''
	mkdir "$work/without"
	for tool in awk cat cp cut dirname env find flock grep head make mkdir realpath sed sh \
		sort tail touch tr uname; do
		ln -s "$(command -v $tool)" "$work/without"
	done
	as_user "neither root nor sudo" 1 \
		"^quickstart: .*no sudo: as root, run 'apt-get install --no-install-recommends bc'$"
	[ ! -e "$APT" ]
	result $? "... and nothing was installed"
	stub sudo <<< 'echo sudo >> "$APT"; exec "$@"'
	as_user "with sudo" 0 'how long it took'
	grep -q 'install -y .*bc' "$APT" && [ "$(grep -c sudo "$APT")" = 2 ]
	result $? "... the package is installed by it"
	expect "nothing but packages" 0 'installing bc$' "$work/installed" install
	[ "$(find "$work/installed" -type f -printf '%f ' | xargs -n 1 | sort | xargs)" = "$mark packages.log" ]
	result $? "... nothing else is made"
	FAIL='Unable to locate package bc' as_user "a package that is nowhere" 1 \
		'cannot install bc: E: Unable to locate'
	stub sudo <<< 'echo "sudo: a terminal is required"; exit 1'
	as_user "a sudo that refuses" 1 'cannot install bc: sudo: a terminal is required'
}

# Help is no error, and makes nothing.
test_help()
{
	expect "help" 0 'usage: ./quickstart' "$work/helped" --help
	[ ! -e "$work/helped" ]
	result $? "... and nothing was made"
	expect "a verb that is not there" 2 'usage' "$work/helped" nohelp
}

# The machine is made by root alone, of a release that there is.
test_debian()
{
	stub id <<< 'echo 1000'
	expect "a machine, but not root" 1 'debian makes the machine as root' "$work/machine" debian
	[ ! -e "$work/machine" ]
	result $? "... and nothing was made"
	command -p rm "$work/bin/id"
	stub id <<< 'echo 0'
	expect "a release that is not there" 1 'no such release: sarge' "$work/machine" \
		debian --release sarge
	expect "an option that is not there" 2 'usage' "$work/machine" debian --relase trixie
	expect "a release" 0 'machine of bookworm' "$work/machine" debian --release bookworm
	grep -q 'bookworm --shell' < <(quickstart "$work/machine" debian --release bookworm --shell
		cat "$work/said")
	result $? "a console of it"
	command -p rm "$work/bin/id"
}

make_top
stub df <<< 'printf "Filesystem\nfs 1 1 99999 1 /\n"'
stub dpkg-query <<< 'echo "install ok installed"'
PATH=$work/bin:$PATH
unset CODECTL_BUILD CODECTL_CONFIGURE JOBS
export CODECTL_WAIT=0
test_own_directories
test_others_directories
test_unmarked_directories
test_interrupted
test_two
test_holder
test_help
test_debian
test_packages
finish
