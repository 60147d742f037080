#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Puts the kernel side into a Linux source tree: src/ at its in-tree paths,
# patches/series on top of the files it touches, and the selftests, with what
# rig/ has that is mailed with them.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$here")

usage()
{
	cat <<-END
	usage: prepare-kernel.sh --linux=DIR [--reverse | --outpatch=FILE | --check]
	END
	exit 2
}

linux='' action=()
for arg; do
	case $arg in
	--linux=*) linux=${arg#*=} ;;
	--reverse | --check) action=("$arg") ;;
	--outpatch=*) action=(--outpatch "${arg#*=}") ;;
	*) usage ;;
	esac
done
[ -n "$linux" ] || usage

"$top/scripts/build/source-version.sh" linux "$linux" > /dev/null

selftests=tools/testing/selftests/codectl
"$top/scripts/build/patch-tree.sh" --tree "$linux" --series "$here/patches/series" \
	--new "$here/src:." --new "$top/selftests:$selftests" \
	--new "$top/rig/host:$selftests/host" --new "$top/rig/bench:$selftests/bench" \
	"${action[@]}"
