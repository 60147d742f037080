#!/bin/bash
# SPDX-License-Identifier: MIT
#
# usage: build-packages.sh BUILDDIR SFRAME OUT JOBS
#
# Builds the .deb files of codectl(1) and libcodectl from the result of "make distdir" in
# BUILDDIR, with the libsframe below SFRAME. In OUT, they replace earlier ones. The kernel's
# package comes from build-kernel-package.sh.

set -eu -o pipefail

die()
{
	echo "build-packages: $*" >&2
	exit 1
}

[ $# -eq 4 ] || die "usage: build-packages.sh BUILDDIR SFRAME OUT JOBS"
build=$(realpath "$1") sframe=$(realpath "$2") out=$(realpath -m "$3") jobs=$4
work=$build/obj/packages

[ -e "$sframe/lib/libsframe.a" ] || die "there is no libsframe.a in $sframe/lib: 'make binutils' makes it"

# A changelog for dpkg-parsechangelog(1), with the version and the date of the source's own.
write_changelog()
{
	local date name=${DEBFULLNAME:-codectl maintainers} mail=${DEBEMAIL:-codectl@example.org}

	date=$(sed -n "1s/ .*//p" "$1/ChangeLog")
	cat <<-END
	codectl ($version) unstable; urgency=medium

	  * Packages of this version: its ChangeLog is beside this one.

	 -- $name <$mail>  $(date -R -u -d "$date")
	END
}

rm -rf "$work"
mkdir -p "$work" "$out"
make -s -C "$build" distdir
version=$(sed -n 's/^AC_INIT(\[codectl\], \[\(.*\)\])$/\1/p' "$build"/codectl-*/configure.ac)
[ -n "$version" ] || die "configure.ac names no version"
tree=$work/codectl-$version
mv "$build/codectl-$version" "$tree"
cp -R "$tree/packaging/debian" "$tree/debian"
write_changelog "$tree" > "$tree/debian/changelog"
(cd "$tree" && SFRAME=$sframe DEB_BUILD_OPTIONS="noautodbgsym parallel=$jobs" \
	dpkg-buildpackage -b -us -uc)
rm -f "$out"/codectl_*.deb "$out"/libcodectl*.deb
mv "$work"/*.deb "$out"
