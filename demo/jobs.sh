# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154
#
# The programs of the main job, each given to job() with a name; here is the
# directory they are in.  Some seconds each in an emulated guest.

job chain "$here/chain" 1200
job plugin-host "$here/plugin-host" "$here/plugin.so" 350
job sqlite3 "$here/sqlite3" -batch :memory: ".read $here/workload.sql"
job lua5.4 "$here/lua5.4" "$here/workload.lua" 14
