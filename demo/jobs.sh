# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2034
#
# Runs the programs of the main job, which are in the directory $here, by job(), each with
# a name.  has_few() says whether a program has too few samples.  In an emulated guest
# each takes some seconds; a faster machine samples more often instead.

now() { awk '{ print $1 * 100 }' /proc/uptime; }

before=$(now)
"$here/chain" 300 > /dev/null
took=$(($(now) - before))
hertz=$((base_hertz * 100 / (took < 25 ? 25 : took > 100 ? 100 : took)))

job chain "$here/chain" 1000
job plugin-host "$here/plugin-host" "$here/plugin.so" 600
job sqlite3 "$here/sqlite3" -batch :memory: ".read $here/workload.sql"
job lua5.4 "$here/lua5.4" "$here/workload.lua" 14

# Two threads compile and run code, sampled at 1 kHz and more.  In the first run, code
# stays until it is compiled again; in the second one, addresses are reused all the time,
# so that no perf map can have the right names.
jit=$here/../jit-demo
hertz=$jit_hertz
samples=7000

# jit_job NAME OPTION... - if a busy machine gives too few samples, runs again, and for longer
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
