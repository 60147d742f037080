#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: CODECTL=PROGRAM CFI=OBJECT sframe_command_test.sh
#
# Tests the command on files, trees and stores.  OBJECT has a build-id.
#
# The functions are called by run().
# shellcheck disable=SC2317

here=$(cd "$(dirname "$0")" && pwd)
command=sframe
# shellcheck source=command.sh
. "$here/command.sh"

# Not in /tmp, where codectl does not trust root's files.
dir=$(mktemp -d "$CFI-XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
umask 022
store=$dir/store

sframe()
{
	"$CODECTL" sframe "$@"
}

tables()
{
	find "$store" -name '*.sframe' | wc -l
}

one_file_to_out()
{
	cp "$CFI" "$dir/object" &&
		sframe -o "$dir/out" "$dir/object" &&
		readelf -S -W "$dir/out" | grep -q ' \.sframe ' &&
		readelf -n -W "$dir/out" > "$dir/notes" &&
		grep -q 'codectl .*0x00000020' "$dir/notes" &&
		grep -q "Build ID: $(readelf -n "$CFI" | sed -n 's/.*Build ID: //p')" "$dir/notes" &&
		! find "$dir" -name '.*.new' | grep .
}

# Started by a process whose children the kernel reaps.
without_their_ends()
{
	env --ignore-signal=CHLD "$CODECTL" sframe -o "$dir/ignored" "$dir/object" &&
		cmp "$dir/out" "$dir/ignored"
}

by_build_id()
{
	id=$(readelf -n "$CFI" | sed -n 's/.*Build ID: //p')
	rest=${id#??}

	sframe --store "$store" "$dir/object" &&
		cmp "$dir/out" "$store/${id%"$rest"}/$rest.sframe"
}

by_content()
{
	sum=$(sha256sum < "$dir/object")
	sum=${sum%% *}
	rest=${sum#??}

	sframe --by-content --store "$store" "$dir/object" &&
		[ -e "$store/sha256/${sum%"$rest"}/$rest.sframe" ] || return
	rm -r "$store/sha256"
	chmod 666 "$dir/object"
	sframe --store "$store" "$dir/object" &&
		[ -e "$store/sha256/${sum%"$rest"}/$rest.sframe" ] || return
	chmod 644 "$dir/object"
}

# Functions and stack frames of a file that others cannot read.
only_who_may_read_it()
{
	id=$(readelf -n "$CFI" | sed -n 's/.*Build ID: //p')
	rest=${id#??}
	table=$store/${id%"$rest"}/$rest.sframe

	[ "$(stat -c %a "$store/sha256")" = 700 ] && [ "$(stat -c %a "$table")" = 644 ] &&
		chmod 750 "$dir/object" &&
		sframe --force --store "$store" "$dir/object" &&
		[ "$(stat -c %a "$table")" = 600 ] &&
		chmod 644 "$dir/object" &&
		sframe --force --store "$store" "$dir/object" &&
		[ "$(stat -c %a "$table")" = 644 ]
}

what_is_there_stays()
{
	expect 0 '1 files whose table was there' -v --store "$store" "$dir/object" &&
		expect 0 '1 files converted' -v --force --store "$store" "$dir/object"
}

a_tree()
{
	mkdir -p "$dir/tree/sub" && cp "$CFI" "$dir/tree/sub/a" &&
		ln "$dir/tree/sub/a" "$dir/tree/b" && ln -s sub/a "$dir/tree/c" &&
		echo text > "$dir/tree/text" && mkfifo "$dir/tree/fifo" &&
		objcopy --only-keep-debug "$CFI" "$dir/tree/debug" || return
	expect 0 '1 files converted' -v --force --jobs 3 --store "$store" --all "$dir/tree" &&
		echo "$said" | grep -q '2 files that are not ELF .* or have no CFI'
}

pruning()
{
	[ "$(tables)" = 2 ] && sframe --prune --max-size 100 --store "$store" && [ "$(tables)" = 2 ] &&
		touch -d '91 days ago' "$store"/??/*.sframe &&
		expect 0 '1 tables removed' -v --prune --store "$store" && [ "$(tables)" = 1 ] &&
		touch -d '49 hours ago' "$store"/sha256/??/*.sframe &&
		sframe --prune --max-age 2 --store "$store" && [ "$(tables)" = 0 ]
}

a_store_that_others_write_to()
{
	mkdir -m 777 "$dir/open"
	expect 1 'others can write to the store' --store "$dir/open" "$dir/object"
}

# As root it would take the place of a device.
out_is_no_file()
{
	mkfifo "$dir/pipe" && ln -s pipe "$dir/link" &&
		expect 1 "cannot write $dir/pipe: it is not a regular file" -o "$dir/pipe" "$dir/object" &&
		expect 1 "cannot write $dir/link: " -o "$dir/link" "$dir/object" &&
		[ -p "$dir/pipe" ] && [ -L "$dir/link" ]
}

damage()
{
	head -c 300 "$CFI" > "$dir/short"
	expect 1 "$dir/short: " -o "$dir/none" "$dir/short" && [ ! -e "$dir/none" ]
}

run "one file, to OUT" one_file_to_out
run "one file, where SIGCHLD is ignored" without_their_ends
run "a file by its build-id" by_build_id
run "a file by its contents, also if others can write to it" by_content
run "a table is for who may read the file" only_who_may_read_it
run "what is there stays, but by force" what_is_there_stays
run "a tree, each inode once" a_tree
run "pruning" pruning
run "a store that others can write to" a_store_that_others_write_to
run "a file that is cut short" damage
run "no ELF file" expect 1 'not an ELF program' -o "$dir/none" "$0"
run "no file" expect 1 'No such file' -o "$dir/none" "$dir/missing"
run "OUT cannot be written" expect 1 'No such file' -o "$dir/no/out" "$dir/object"
run "OUT is a pipe, or leads to one" out_is_no_file
run "nothing to do" expect 2 'needs files' --store "$store"
run "files and a tree" expect 2 'needs files' --all "$dir" "$dir/object"
run "pruning and files" expect 2 'needs files' --prune "$dir/object"
run "OUT and two files" expect 2 'one file' -o "$dir/none" "$CFI" "$CFI"
run "an unknown option" expect 2 'no such option' --colour "$CFI"
run "no number" expect 2 'not a number' --jobs 0 --all "$dir"
run "more bytes than a number has" expect 2 'not a number' --prune --max-size 17592186044416
finish
