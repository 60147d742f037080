# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2034
#
# The programs of the main job, each given to job() with a name; here is the
# directory they are in.  has_few() says whether there are too few samples of one.
# Some seconds each in an emulated guest; on a machine that needs less, more samples
# a second make up for it.

now() { awk '{ print $1 * 100 }' /proc/uptime; }

before=$(now)
"$here/chain" 300 > /dev/null
took=$(($(now) - before))
hertz=$((base_hertz * 100 / (took < 25 ? 25 : took > 100 ? 100 : took)))

job chain "$here/chain" 2000
job plugin-host "$here/plugin-host" "$here/plugin.so" 1200
job sqlite3 "$here/sqlite3" -batch :memory: ".read $here/workload.sql"
job lua5.4 "$here/lua5.4" "$here/workload.lua" 14

# Samples at 1 kHz and more, of two threads that compile and run code.  First
# what is compiled stays, but for what is compiled again; then addresses are used
# again and again, and a perf map has no names that are right all the time.
jit=$here/../jit-demo
hertz=$jit_hertz
samples=7000

# jit_job NAME OPTION... - once more, and for longer, where a busy machine gives few
jit_job() {
	program=$1
	shift
	for time in ${seconds:-8 16 32 64}; do
		job "$program" "$jit/jit-demo" "$@" -t 2 -w "$time" -m \
			-l "$out/$program.codes" "$jit"/programs/*.jd
		has_few "$program" || break
	done
}

jit_job jit-demo -k
jit_job jit-churn
