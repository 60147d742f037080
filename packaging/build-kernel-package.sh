#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-kernel-package.sh LINUX OBJDIR BINUTILS JOBS CONFIG VERSION OUT
#
# Builds linux-image-*.deb by the kernel's own "make bindeb-pkg", from x86_64_defconfig with the
# fragment CONFIG on top, every line of which must have taken effect, and puts it into OUT.
# The revision of the package is VERSION.

set -eu -o pipefail

die()
{
	echo "build-kernel-package: $*" >&2
	exit 1
}

[ $# -eq 7 ] || die "usage: build-kernel-package.sh LINUX OBJDIR BINUTILS JOBS CONFIG VERSION OUT"
linux=$1 obj=$2 tools=$3 jobs=$4 config=$5 version=$6 out=$7
here=$(cd "$(dirname "$0")" && pwd)

mkdir -p "$obj/build" "$out"
rm -f "$obj"/*.deb
# Without header packages, which would replace Debian's linux-libc-dev, and without debugging
# information, which is larger than everything else.
env BASE_CONFIG=x86_64_defconfig \
	KDEB_PKGVERSION="$(make -s -C "$linux" kernelversion)-$version" \
	KDEB_CHANGELOG_DIST=unstable DEBFULLNAME="${DEBFULLNAME:-codectl maintainers}" \
	DEBEMAIL="${DEBEMAIL:-codectl@example.org}" \
	DEB_BUILD_PROFILES='pkg.linux-upstream.nokerneldbg pkg.linux-upstream.nokernelheaders' \
	"$here/../scripts/build/build-kernel.sh" "$linux" "$obj/build" "$tools" "$jobs" "$config" \
	-- bindeb-pkg
[ -n "$(find "$obj" -maxdepth 1 -name 'linux-image-*.deb')" ] ||
	die "make bindeb-pkg has left no package in $obj"
rm -f "$out"/linux-image-*.deb
mv "$obj"/linux-image-*.deb "$out"
rm -f "$obj"/*.deb
