#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: check-commands.sh TOP [BUILDDIR]
#
# Runs the commands of README and of the guide exactly as written, in a directory that has all of
# TOP, and programs with the names that they use. Commands to build by hand, from ./bootstrap
# on, run in a clone. All commands take hours: COMMANDS is a pattern of those to run; the others,
# and all of them without BUILDDIR, are only checked to exist. Prints TAP, with the output of
# commands as comments.

# Functions are called by name.
# shellcheck disable=SC2317

set -u

top=$(realpath "$1") build=${2:+$(realpath "$2")}
pages="README.md docs/adding-codectl-to-your-jit.md"
# shellcheck source=tap.sh
. "$top/scripts/check/tap.sh"
work=$(mktemp -d) && [ -n "$work" ] || exit 1
trap 'rm -rf "$work"' EXIT

make_directory()
{
	local entry

	for entry in "$top"/*; do
		[ "$entry" = "$top/build" ] || ln -s "$entry" "$work"
	done
	[ -z "$build" ] || ln -s "$build" "$work/build"
	# Threads that wait for one another, and CPU time for sampling.
	cat > "$work/prog.c" <<-'END'
		#include <pthread.h>
		#include <time.h>

		static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
		static volatile unsigned long count;

		static void *worker(void *arg)
		{
			time_t end = time(NULL) + 2;

			while (time(NULL) < end) {
				pthread_mutex_lock(&lock);
				for (int i = 0; i < 10000; i++)
					count++;
				pthread_mutex_unlock(&lock);
			}
			return arg;
		}

		int main(void)
		{
			pthread_t other;

			return pthread_create(&other, NULL, worker, NULL) || worker(NULL) ||
			       pthread_join(other, NULL);
		}
	END
}

# commands PAGE - prints its indented lines except C code, without comments
commands()
{
	awk '/^```/ { code = !code }
		!code && sub(/^    /, "") {
			sub(/^ +/, "")
			line = line $0
			if (sub(/\\$/, "", line))
				next
			sub(/ +#.*/, "", line)
			print line
			line = ""
		}' "$1"
}

# targets ARG... - does the Makefile have them?
targets()
{
	local makefiles=(Makefile.am stages.am) target

	if [ "$1" = -C ]; then
		[ "$2" = build ] || makefiles=("$2/Makefile.am")
		[ -e "${makefiles[0]}" ] || makefiles=("$2/Makefile")
		shift 2
	fi
	for target; do
		case $target in
		*=*) continue ;;
		check | install | distcheck) [ "${makefiles[0]##*.}" != am ] || continue ;;
		esac
		grep -q -E "^([a-z-]+ )*$target( [a-z-]+)*:" "${makefiles[@]}" ||
			{ echo "${makefiles[0]} has no $target"; return 1; }
	done
}

# is_there COMMAND - do the programs and targets exist that it names?
is_there()
{
	local part words

	while read -r part; do
		read -r -a words <<< "$part"
		case $part in
		"make "*) targets "${words[@]:1}" || return ;;
		make | "mkdir build" | "cd build" | ../configure) ;;
		./*) [ -x "${words[0]}" ] || [ "${words[0]}" = ./configure ] || return ;;
		*) echo "nothing here runs this: $part"; return 1 ;;
		esac
	done < <(sed -e "s/'[^']*'//g" -e 's/ && /\n/g' <<< "$1")
}

# A clone, because it has only what is committed.
enter_clone()
{
	here=$(mktemp -d "$work/clone.XXXXXX") && git clone -q "$top" "$here"
}

# Runs a command in the directory in which the previous one ended.
in_directory()
{
	# shellcheck disable=SC2016
	DESTDIR=$work/installed bash -c 'cd "$1" && eval "$2" && pwd > "$3"' \
		bash "$here" "$1" "$work/directory" > "$work/said" 2>&1 < /dev/null &&
		here=$(cat "$work/directory")
}

# Runs a command that starts a shell, and leaves the shell at its prompt.
in_shell()
{
	local status shell

	mkfifo "$work/input"
	(cd "$here" && timeout 900 bash -c "$1") < "$work/input" > "$work/said" 2>&1 &
	shell=$!
	exec 8> "$work/input"
	until grep -q '# ' <(tail -n 1 "$work/said") || ! kill -0 $shell 2> /dev/null; do
		sleep 1
	done
	echo 'test -r /proc/self/codectl; exit' >&8
	wait $shell
	status=$?
	exec 8>&-
	return $status
}

# look_for COMMAND
look_for()
{
	local words

	read -r -a words <<< "$1"
	case $1 in
	"./quickstart "*) run "there is: $1" grep -q "^${words[1]})\|^${words[1]} |\|| ${words[1]}[ )]" quickstart ;;
	build/*) ;;
	*) run "there is: $1" is_there "$1" ;;
	esac
}

# try COMMAND
try()
{
	local status

	# shellcheck disable=SC2053
	if [ -z "$build" ] || [[ $1 != ${COMMANDS:-*} ]]; then
		look_for "$1"
		return
	fi
	case $1 in
	./bootstrap*) enter_clone || { result 1 "$1: no clone"; return; } ;;
	make | "make "[!-]* | mkdir*)
		# Nothing is built in the source tree.
		[ "$here" != "$work" ] || { look_for "$1"; return; } ;;
	esac
	case $1 in
	*" shell") in_shell "$1" ;;
	*) in_directory "$1" ;;
	esac
	status=$?
	tail -n 12 "$work/said" | tr -c -d '[:print:]\t\n' | sed 's/^/# /'
	result $status "$1"
}

# Earlier arguments of the build.
unset CODECTL_BUILD MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
CODECTL_CONFIGURE=$(cat "$build/logs/configure.options" 2> /dev/null)
export CODECTL_CONFIGURE
make_directory
cd "$work" || exit 1
for page in $pages; do
	count_before=$count here=$work
	while read -r command <&7; do
		try "$command"
		# The guide uses another program.
		[ -e yourjit ] || [ ! -e prog ] || cp prog yourjit
	done 7< <(commands "$page")
	[ "$count" -gt "$count_before" ]
	result $? "$page has commands"
done
# Those for the host of a container.
while read -r command; do
	look_for "${command#packaging/container/run.sh }"
done < <(commands docs/other-distributions.md)
while read -r command; do
	run "there is: $command" is_there "$command"
done < <(grep -h -o "\`make [^\`]*\`" README.md docs/*.md | tr -d "\`" | sort -u)
for clone in "$work"/clone.*/; do
	[ -d "$clone" ] || break
	[ -z "$(git -C "$clone" status --porcelain)" ]
	result $? "what is built in a clone leaves nothing that git does not ignore"
done
if [ -n "$build" ] && [ -z "${COMMANDS:-}" ]; then
	[ -s out/perf.data ]
	result $? "what the guide records is brought back"
fi
finish
