#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Puts the kernel side into a Linux source tree: the files of src/ at their in-tree paths, the
# patches of patches/series, and the selftests, including the parts of rig/ that are mailed
# with them.

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
