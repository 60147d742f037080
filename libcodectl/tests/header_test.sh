#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The header by itself, in the languages that it is for.

# shellcheck disable=SC2317
here=$(cd "$(dirname "$0")" && pwd)
library=$(dirname "$here")
uapi=$(dirname "$library")/kernel/src/include/uapi
# shellcheck source=../../scripts/check/tap.sh
. "$here/../../scripts/check/tap.sh"
CXX=${CXX:-g++}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

cat > "$work/use.c" <<-END
	#include <codectl.h>
	int main(void)
	{
		struct codectl_builder b;
		struct code_jit_unwind_fre rows[4];

		codectl_build_start(&b, rows, 4);
		return codectl_build_end(&b, 1) != 1 || codectl_probe() > 0;
	}
END
cp "$work/use.c" "$work/use.cc"
includes="-I$library/include -isystem $uapi"

# shellcheck disable=SC2086
for std in gnu99 gnu11 gnu2x; do
	run "C, $std" $CC -std=$std -Wall -Wextra -Wstrict-prototypes -Werror \
		$includes -c -o "$work/use.o" "$work/use.c"
done
# shellcheck disable=SC2086
for std in c++11 c++20; do
	run "C++, $std" $CXX -std=$std -Wall -Wextra -Werror $includes \
		-c -o "$work/use.o" "$work/use.cc"
done
# As installed, if the kernel headers are older.
mkdir -p "$work/include/codectl"
cp "$library/include/codectl.h" "$work/include"
cp -r "$uapi/linux" "$work/include/codectl"
# shellcheck disable=SC2086
run "with the library's copy of the kernel's header" $CC -Wall -Wextra -Werror \
	-I"$work/include" -c -o "$work/use.o" "$work/use.c"
# shellcheck disable=SC2086
run "linked with the static library" $CC $includes -o "$work/use" \
	"$work/use.c" .libs/libcodectl.a -lpthread
run "and run" "$work/use"
# shellcheck disable=SC2086
run "C++, linked with the shared library" $CXX $includes -o "$work/use" \
	"$work/use.cc" -L.libs -lcodectl
run "and run" env LD_LIBRARY_PATH=.libs "$work/use"
finish
