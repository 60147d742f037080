# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154,SC2034
#
# Sourced by make-root.sh of an engine; these are its arguments:

if [ $# -lt 2 ]; then
	echo "usage: make-root.sh DIR MIRROR PACKAGES" >&2
	exit 1
fi
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
dir=$(realpath "$1") mirror=$2 packages=$(realpath "${3:-.}")

# make_tree NAME SUITES PACKAGES [OPTION]... - makes DIR/NAME, unless it exists: Debian of the
# first of the suites, with packages from all. A frozen mirror has expired Release files.
make_tree()
{
	local name=$1 include=${3// /,} suite
	local -a suites

	read -r -a suites <<< "$2"
	shift 3
	[ ! -e "$dir/$name" ] || return 0
	rm -rf "${dir:?}/$name.new"
	for suite in "${suites[@]}"; do
		printf '%s\n' "deb $mirror $suite main" "deb-src $mirror $suite main"
	done | mmdebstrap --mode=root --variant=minbase --include="$include" \
		--aptopt='Acquire::Check-Valid-Until "false"' \
		--aptopt='APT::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
		"$@" "${suites[0]}" "$dir/$name.new" -
	mv "$dir/$name.new" "$dir/$name"
}

# make_build SOURCE PACKAGES - makes DIR/build with these packages, with the tarball of SOURCE
# in /sources, unless SOURCE is empty, and with the libcodectl of this tree's packages
make_build()
{
	local source=$1 deb
	local -a options=()

	# shellcheck disable=SC2016
	[ -z "$source" ] || options=(--customize-hook='mkdir "$1/sources" && cd "$1/sources" &&
		APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -q source --download-only --tar-only '"$source")
	make_tree build trixie "$2" "${options[@]}"
	for deb in "$packages"/libcodectl{0,-dev}_*.deb; do
		dpkg-deb -x "$deb" "$dir/build"
	done
}

# in_build COMMAND... - runs it in DIR/build
in_build()
{
	# shellcheck disable=SC2016
	unshare --mount --pid --fork --kill-child chroot "$dir/build" env -i \
		PATH=/usr/bin:/usr/sbin HOME=/root LC_ALL=C.UTF-8 ${PATCHES+PATCHES="$PATCHES"} sh -euc '
		mount -t proc proc /proc
		exec "$@"
		' sh "$@"
}
