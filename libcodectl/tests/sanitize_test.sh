#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The tests once more, with library and test under the compiler's sanitizers.

# shellcheck disable=SC2317
here=$(cd "$(dirname "$0")" && pwd)
library=$(dirname "$here")
uapi=$(dirname "$library")/kernel/src/include/uapi
# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# build DIR FLAGS...: the library, as objects
build()
{
	dir=$1
	shift
	mkdir -p "$dir"
	for file in "$library"/src/*.c "$here/stand_in.c" "$here/test.c"; do
		$CC "$@" -g -O1 -std=gnu11 -Wall -D_GNU_SOURCE \
			-I"$library/src/shim" -I"$library/include" -I"$uapi" \
			-I"$uapi/../../kernel/unwind" -c \
			-o "$dir/$(basename "$file" .c).o" "$file" || return 1
	done
}

# check DIR TEST FLAGS...
check()
{
	dir=$1 name=$2 more=
	shift 2
	case $name in
	name_*) more=$here/tracer.c ;;
	esac
	$CC "$@" -g -O1 -std=gnu11 -D_GNU_SOURCE -I"$library/include" -I"$uapi" \
		-o "$dir/$name" "$here/$name.c" ${more:+"$more"} \
		"$dir"/*.o -lpthread &&
		"$dir/$name"
}

# The library itself orders by fences, which this sanitizer does not know.
thread='-fsanitize=thread -Wno-tsan'
address='-fsanitize=address,undefined -fno-sanitize-recover=all'

# shellcheck disable=SC2086
{
	run "built for addresses" build "$work/address" $address
	for test in builder_test eh_frame_test elf_test fork_test granule_map_test model_test \
			name_event_test name_tracer_test names_test perf_map_test region_rows_test \
			region_test signal_test thread_test; do
		run "addresses, $test" check "$work/address" $test $address
	done
	run "built for threads" build "$work/thread" $thread
	for test in name_tracer_test names_test perf_map_test signal_test thread_test; do
		run "threads, $test" check "$work/thread" $test $thread
	done
}
finish
